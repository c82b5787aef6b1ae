"""Sessions: found by name, finished games, export and import, limits."""

from __future__ import annotations

import gc
import json
import time
import weakref
from collections.abc import Callable, Iterator

import pytest

import athenan_spiel as ath
from agents import parse_spec
from athenan_spiel.errors import ArenaError, AthenanError
from athenan_spiel.play.move_tree import MoveNotes
from athenan_spiel.search.tree import Tree
from athenan_spiel.web import sessions as sessions_module
from athenan_spiel.web.opponents import YOU, Opponents
from athenan_spiel.web.positions import GameLine
from athenan_spiel.web.search_limits import SearchSlots, TreeMemory, tree_memory
from athenan_spiel.web.sessions import GameSession, GameSessions, TooManySessionsError

PATIENCE = 60.0
WHOLE = (0, 3, 1, 4, 2)
"""Game of Tic-Tac-Toe that player 0 wins."""


@pytest.fixture
def sessions() -> Iterator[GameSessions]:
    found = GameSessions()
    yield found
    found.close()


def opened(sessions: GameSessions, game: str = "tic_tac_toe") -> str:
    opponents = Opponents([parse_spec("random")])
    return sessions.open(ath.load_game(game).new_initial_state(), opponents, (YOU, YOU), 0.1)


def session_of(sessions: GameSessions, game: str = "tic_tac_toe") -> GameSession:
    session = sessions.find(opened(sessions, game))
    assert session is not None
    session.come()
    return session


def played(sessions: GameSessions, actions: tuple[int, ...] = WHOLE) -> GameSession:
    session = session_of(sessions)
    for action in actions:
        session.match.play(action)
    sessions.tick()
    return session


def lines(session: GameSession) -> bytes:
    return "".join(json.dumps(saved.to_json()) + "\n" for saved in session.saved).encode()


def test_each_visitor_has_a_game(sessions: GameSessions) -> None:
    one, other = session_of(sessions), session_of(sessions)
    one.match.play(4)
    assert one.match.line == (4,)
    assert other.match.line == ()


def test_a_returning_visitor_finds_the_game(sessions: GameSessions) -> None:
    name = opened(sessions)
    session = sessions.find(name)
    assert session is not None
    session.come()
    session.match.play(4)
    session.leave()
    assert not session.is_watched
    assert sessions.find(name) is session
    assert session.match.line == (4,)


def test_a_name_cannot_be_guessed(sessions: GameSessions) -> None:
    names = {opened(sessions) for _ in range(20)}
    assert len(names) == 20
    assert min(map(len, names)) >= 20
    assert sessions.find("") is None


def test_a_finished_game_is_stored_once_and_can_be_shown(sessions: GameSessions) -> None:
    session = played(sessions)
    sessions.tick()
    assert [saved.result.history for saved in session.saved] == [WHOLE]
    assert session.saved[0].result.returns == (1.0, -1.0)
    session.match.restart()
    session.show(0)
    assert session.match.board.ahead == WHOLE
    with pytest.raises(ArenaError, match="expected a game from 1 to 1, got 2"):
        session.show(1)


def test_exported_games_can_be_imported(sessions: GameSessions) -> None:
    content = lines(played(sessions))
    other = session_of(sessions)
    assert other.add(other.read(b"\n" + content)) == 1
    other.show(0)
    other.match.show(len(WHOLE))
    sessions.tick()
    assert len(other.saved) == 1, "an imported game is not stored again"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file contains no games"),
        (b"\xff\xfe", "line 1"),
        (b"[]", "line 1"),
        (b"{", "line 1"),
        (b"[" * 100_000, "line 1"),
        (b"x" * (sessions_module.MAX_UPLOAD_BYTES + 1), "expected at most 4,194,304 bytes"),
    ],
)
def test_invalid_files_are_refused(sessions: GameSessions, content: bytes, message: str) -> None:
    session = session_of(sessions)
    with pytest.raises(ArenaError, match=message) as error:
        session.read(content)
    assert "\n" not in str(error.value)
    assert session.saved == []


def test_a_game_that_breaks_the_rules_is_refused(sessions: GameSessions) -> None:
    damaged = json.loads(lines(played(sessions)))
    session = session_of(sessions)
    for change in ({"actions": [0, 0]}, {"returns": [-1.0, 1.0]}, {"game": "connect_four()"}, {"actions": "all"}):
        with pytest.raises(AthenanError):
            session.read(json.dumps({**damaged, **change}).encode())
    assert session.saved == []


def test_one_bad_line_imports_nothing(sessions: GameSessions) -> None:
    content = lines(played(sessions))
    session = session_of(sessions)
    with pytest.raises(ArenaError, match="line 2"):
        session.read(content + b"{}\n")
    assert session.saved == []


def test_the_game_left_longest_ago_is_dropped(sessions: GameSessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions_module, "MAX_SESSIONS", 2)
    watched, left = opened(sessions), opened(sessions)
    found = sessions.find(watched)
    assert found is not None
    found.come()
    another = opened(sessions)
    assert sessions.find(left) is None
    assert sessions.find(watched) is found
    last = sessions.find(another)
    assert last is not None
    last.come()
    with pytest.raises(TooManySessionsError, match="try again later"):
        opened(sessions)


def test_a_dropped_game_frees_its_slot(sessions: GameSessions, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the slots would run out."""
    monkeypatch.setattr(sessions_module, "MAX_SESSIONS", 1)
    session = analysed(sessions)
    session.match.restart()
    session.match.set_seats(("alphabeta@2i", YOU))
    assert sessions._slots.acquire(session.match)
    session.leave()
    opened(sessions)
    assert not sessions._slots._owners


def analysed(sessions: GameSessions, game: str = "breakthrough") -> GameSession:
    """A session with a visitor and an analysis of its first position."""
    opponents = Opponents([parse_spec("alphabeta@2i")])
    name = sessions.open(ath.load_game(game).new_initial_state(), opponents, (YOU, "alphabeta@2i"), 0.1)
    session = sessions.find(name)
    assert session is not None
    session.come()
    session.match._analysis_agent = lambda: "alphabeta@2i"  # type: ignore[method-assign]
    session.match.analyse(True)
    until(
        sessions,
        lambda: session.match.analysis is not None and not session.match.is_thinking and not session.match._stopping,
    )
    return session


def until(sessions: GameSessions, true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        sessions.tick()
        time.sleep(0.005)


def trees_of(session: GameSession) -> list[weakref.ref[Tree]]:
    return [weakref.ref(tree) for tree in session.match.idle_trees]


def alive(trees: list[weakref.ref[Tree]]) -> int:
    gc.collect()
    return sum(tree() is not None for tree in trees)


def test_trees_are_freed_a_while_after_the_last_visitor_has_left(
    sessions: GameSessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions_module, "MEMORY_CHECK_SECONDS", 0.0)
    session = analysed(sessions)
    action = session.match.board.state.legal_actions()[0]
    session.match.play(action)
    until(sessions, lambda: session.match.is_yours)
    until(sessions, lambda: not session.match.is_thinking and not session.match._stopping)
    trees, line = trees_of(session), session.match.line
    assert trees
    session.come()
    session.leave()
    sessions.tick()
    assert alive(trees) == len(trees), "one visitor is left"
    session.leave()
    sessions.tick()
    assert alive(trees) == len(trees), "a visitor may return within a minute"
    session.left_at -= sessions_module.RELEASE_SECONDS
    sessions.tick()
    assert alive(trees) == 0
    assert session.match.line == line
    assert session.match.values()[0] is not None, "values stay"
    session.come()
    until(sessions, lambda: session.match.analysis is not None)
    assert session.match.line == line


def test_the_tree_of_a_pondering_agent_is_freed(sessions: GameSessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions_module, "MEMORY_CHECK_SECONDS", 0.0)
    session = analysed(sessions)
    session.match.ponder(True)
    session.match.play(session.match.board.state.legal_actions()[0])
    until(sessions, lambda: session.match.is_pondering)
    trees = trees_of(session)
    session.leave()
    until(sessions, lambda: not session.match._stopping)
    session.left_at -= sessions_module.RELEASE_SECONDS
    sessions.tick()
    assert alive(trees) == 0
    assert session.match.idle_trees == []


def test_agents_without_a_tree_are_freed(sessions: GameSessions, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine is a program, which ends with its bot."""
    monkeypatch.setattr(sessions_module, "MEMORY_CHECK_SECONDS", 0.0)
    opponents = Opponents([parse_spec("random")])
    name = sessions.open(ath.load_game("tic_tac_toe").new_initial_state(), opponents, ("random", YOU), 0.1)
    session = sessions.find(name)
    assert session is not None
    session.come()
    until(sessions, lambda: session.match.is_yours)
    bots = [weakref.ref(future.result()) for future in session.match._bots._bots.values()]
    session.leave()
    until(sessions, lambda: not session.match._stopping)
    assert bots[0]() is not None
    session.left_at -= sessions_module.RELEASE_SECONDS
    sessions.tick()
    gc.collect()
    assert [bot() for bot in bots] == [None]


def test_all_trees_share_one_limit(sessions: GameSessions, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trees of games without visitors are freed first, the ones unused longest before others."""
    monkeypatch.setattr(sessions_module, "MEMORY_CHECK_SECONDS", 0.0)
    monkeypatch.setattr(SearchSlots, "acquire", lambda self, who: True)
    memory = sessions._memory = TreeMemory(40_000_000, 2)
    watched, *left = [analysed(sessions) for _ in range(4)]
    for session in left:
        session.leave()
    sizes = [memory.size(session.match.idle_trees) for session in (watched, *left)]
    assert all(0 < size <= memory.share for size in sizes)
    assert not memory.is_exceeded([tree for session in (watched, *left) for tree in session.match.idle_trees])
    sessions._memory = TreeMemory(int(2.2 * max(sizes)), 2)
    sessions._memory.share = memory.share
    sessions.tick()
    assert [bool(session.match.idle_trees) for session in (watched, *left)] == [True, False, False, False]


def test_a_tree_is_bounded_by_its_share(sessions: GameSessions) -> None:
    sessions._memory = memory = TreeMemory(4_000_000, 1)
    session = analysed(sessions)
    (tree, *_) = session.match.idle_trees
    assert tree.most is not None
    assert 100 < tree.most < 2_000_000 / 300
    assert memory.size([tree]) <= memory.share == 2_000_000


def test_a_memory_limit_that_leaves_no_room_is_refused() -> None:
    with pytest.raises(
        ath.ConfigError, match=r"--memory must be at least \d+m for pages and 2 searches at once, got 1m"
    ):
        tree_memory(10**6, 2)
    assert tree_memory(None, 2).limit >= 4 * 10**6
    assert tree_memory(10**12, 2).limit < 10**12


def test_openspiels_mcts_has_the_same_share() -> None:
    game, memory = ath.load_game("tic_tac_toe"), TreeMemory(80_000_000, 2)
    bot = Opponents().find("mcts").make(game, 0, 0.05, 1, memory)
    assert bot._made_of[0].memory_mb == 20
    assert bot.step(game.new_initial_state()) in range(9)


def test_comments_and_variations_are_stored_with_the_game(sessions: GameSessions) -> None:
    session = played(sessions)
    match = session.match
    end = match.board.node
    match.comment(end.number, "a win")
    match.show(1)
    match.play(8)
    match.comment(match.board.node.number, "better")
    sessions.tick()
    (saved,) = session.saved
    assert saved.notes == MoveNotes(((1, 8),), ((5, "a win"), (6, "better")))
    other = session_of(sessions)
    other.add(other.read(lines(session)))
    other.show(0)
    tree = other.match.board.tree
    assert [(depth, node.action, node.comment) for depth, node in tree.listed() if depth or node.comment] == [
        (1, 8, "better"),
        (0, 2, "a win"),
    ]
    sessions.tick()
    assert other.saved[0].notes == saved.notes
    other.match.go_to(tree.root.children[0].number)
    other.match.comment(other.match.board.node.number, "also here")
    sessions.tick()
    assert (1, "also here") in other.saved[0].notes.comments
    assert session.saved[0].notes == saved.notes
    other.match.delete()
    sessions.tick()
    assert (1, "also here") in other.saved[0].notes.comments, "a deleted game stays as it was stored"


def test_a_game_from_another_first_position_is_not_saved(sessions: GameSessions) -> None:
    session = session_of(sessions, "chess")
    session.match.load(GameLine(start="7k/8/5KQ1/8/8/8/8/8 w - - 0 1").board(session.match.game))
    mate = next(option for option in session.match.board.options() if option.name == "Qg7#")
    session.match.play(mate.action)
    sessions.tick()
    assert session.match.is_over
    assert session.saved == []
