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
from athenan_spiel.search.tree import Tree
from athenan_spiel.web import sessions as sessions_module
from athenan_spiel.web.opponents import YOU, Opponents
from athenan_spiel.web.search_limits import SearchSlots, TreeMemory, tree_memory
from athenan_spiel.web.sessions import GameSession, GameSessions, TooManySessionsError

PATIENCE = 60.0
WHOLE = (0, 3, 1, 4, 2)
"""A match of Tic-Tac-Toe that player 0 wins."""


@pytest.fixture
def visits() -> Iterator[GameSessions]:
    found = GameSessions()
    yield found
    found.close()


def opened(visits: GameSessions, game: str = "tic_tac_toe") -> str:
    opponents = Opponents([parse_spec("random")])
    return visits.open(ath.load_game(game).new_initial_state(), opponents, (YOU, YOU), 0.1)


def visit_of(visits: GameSessions, game: str = "tic_tac_toe") -> GameSession:
    visit = visits.find(opened(visits, game))
    assert visit is not None
    visit.come()
    return visit


def played(visits: GameSessions, actions: tuple[int, ...] = WHOLE) -> GameSession:
    visit = visit_of(visits)
    for action in actions:
        visit.match.play(action)
    visits.tick()
    return visit


def lines(visit: GameSession) -> bytes:
    return "".join(json.dumps(saved.to_json()) + "\n" for saved in visit.saved).encode()


def test_each_visitor_has_a_match_of_his_own(visits: GameSessions) -> None:
    one, other = visit_of(visits), visit_of(visits)
    one.match.play(4)
    assert one.match.line == (4,)
    assert other.match.line == ()


def test_who_comes_back_finds_the_match_as_it_was(visits: GameSessions) -> None:
    name = opened(visits)
    visit = visits.find(name)
    assert visit is not None
    visit.come()
    visit.match.play(4)
    visit.leave()
    assert not visit.is_watched
    assert visits.find(name) is visit
    assert visit.match.line == (4,)


def test_a_name_cannot_be_guessed(visits: GameSessions) -> None:
    names = {opened(visits) for _ in range(20)}
    assert len(names) == 20
    assert min(map(len, names)) >= 20
    assert visits.find("") is None


def test_a_finished_match_is_kept_once_and_looked_through(visits: GameSessions) -> None:
    visit = played(visits)
    visits.tick()
    assert [saved.result.history for saved in visit.saved] == [WHOLE]
    assert visit.saved[0].result.returns == (1.0, -1.0)
    visit.match.restart()
    visit.show(0)
    assert visit.match.board.ahead == WHOLE
    with pytest.raises(ArenaError, match="expected a game from 1 to 1, got 2"):
        visit.show(1)


def test_what_was_exported_can_be_brought(visits: GameSessions) -> None:
    content = lines(played(visits))
    other = visit_of(visits)
    assert other.bring(b"\n" + content) == 1
    other.show(0)
    other.match.show(len(WHOLE))
    visits.tick()
    assert len(other.saved) == 1, "a match that was brought is not kept a second time"


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
def test_what_is_no_file_of_matches_is_refused(visits: GameSessions, content: bytes, message: str) -> None:
    visit = visit_of(visits)
    with pytest.raises(ArenaError, match=message) as error:
        visit.bring(content)
    assert "\n" not in str(error.value)
    assert visit.saved == []


def test_a_match_that_the_rules_do_not_give_is_refused(visits: GameSessions) -> None:
    damaged = json.loads(lines(played(visits)))
    visit = visit_of(visits)
    for change in ({"actions": [0, 0]}, {"returns": [-1.0, 1.0]}, {"game": "connect_four()"}, {"actions": "all"}):
        with pytest.raises(AthenanError):
            visit.bring(json.dumps({**damaged, **change}).encode())
    assert visit.saved == []


def test_one_bad_line_brings_none(visits: GameSessions) -> None:
    content = lines(played(visits))
    visit = visit_of(visits)
    with pytest.raises(ArenaError, match="line 2"):
        visit.bring(content + b"{}\n")
    assert visit.saved == []


def test_the_match_that_was_left_longest_ago_makes_room(visits: GameSessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions_module, "MAX_SESSIONS", 2)
    watched, left = opened(visits), opened(visits)
    found = visits.find(watched)
    assert found is not None
    found.come()
    another = opened(visits)
    assert visits.find(left) is None
    assert visits.find(watched) is found
    last = visits.find(another)
    assert last is not None
    last.come()
    with pytest.raises(TooManySessionsError, match="try again later"):
        opened(visits)


def test_a_match_that_makes_room_gives_its_place_back(visits: GameSessions, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else one core after the other would be taken for good, and nobody could think any more."""
    monkeypatch.setattr(sessions_module, "MAX_SESSIONS", 1)
    visit = analysed(visits)
    visit.match.restart()
    visit.match.set_seats(("alphabeta@2i", YOU))
    assert visits._slots.acquire(visit.match)
    visit.leave()
    opened(visits)
    assert not visits._slots._taken


def analysed(visits: GameSessions, game: str = "breakthrough") -> GameSession:
    """A visit whose visitor has had the first position analysed, and is there."""
    opponents = Opponents([parse_spec("alphabeta@2i")])
    name = visits.open(ath.load_game(game).new_initial_state(), opponents, (YOU, "alphabeta@2i"), 0.1)
    visit = visits.find(name)
    assert visit is not None
    visit.come()
    visit.match.analyse(True)
    until(visits, lambda: visit.match.analysis is not None and not visit.match.is_thinking and not visit.match._ending)
    return visit


def until(visits: GameSessions, true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        visits.tick()
        time.sleep(0.005)


def trees_of(visit: GameSession) -> list[weakref.ref[Tree]]:
    return [weakref.ref(tree) for tree in visit.match.idle_trees]


def alive(trees: list[weakref.ref[Tree]]) -> int:
    gc.collect()
    return sum(tree() is not None for tree in trees)


def test_trees_are_freed_a_while_after_the_last_visitor_has_left(
    visits: GameSessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions_module, "MEMORY_CHECK_SECONDS", 0.0)
    visit = analysed(visits)
    action = visit.match.board.state.legal_actions()[0]
    visit.match.play(action)
    until(visits, lambda: visit.match.is_yours)
    until(visits, lambda: not visit.match.is_thinking and not visit.match._ending)
    trees, line = trees_of(visit), visit.match.line
    assert trees
    visit.come()
    visit.leave()
    visits.tick()
    assert alive(trees) == len(trees), "somebody is still there"
    visit.leave()
    visits.tick()
    assert alive(trees) == len(trees), "who comes back within a minute finds them"
    visit.left_at -= sessions_module.RELEASE_SECONDS
    visits.tick()
    assert alive(trees) == 0
    assert visit.match.line == line
    assert visit.match.values()[0] is not None, "values stay"
    visit.come()
    until(visits, lambda: visit.match.analysis is not None)
    assert visit.match.line == line


def test_a_tree_that_is_pondered_in_is_freed_too(visits: GameSessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions_module, "MEMORY_CHECK_SECONDS", 0.0)
    visit = analysed(visits)
    visit.match.ponder(True)
    visit.match.play(visit.match.board.state.legal_actions()[0])
    until(visits, lambda: visit.match.is_pondering)
    trees = trees_of(visit)
    visit.leave()
    until(visits, lambda: not visit.match._ending)
    visit.left_at -= sessions_module.RELEASE_SECONDS
    visits.tick()
    assert alive(trees) == 0
    assert visit.match.idle_trees == []


def test_agents_without_a_tree_of_ours_are_freed_too(visits: GameSessions, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine is a program with a tree of its own, and ends with its bot."""
    monkeypatch.setattr(sessions_module, "MEMORY_CHECK_SECONDS", 0.0)
    opponents = Opponents([parse_spec("random")])
    name = visits.open(ath.load_game("tic_tac_toe").new_initial_state(), opponents, ("random", YOU), 0.1)
    visit = visits.find(name)
    assert visit is not None
    visit.come()
    until(visits, lambda: visit.match.is_yours)
    bots = [weakref.ref(made.result()) for made in visit.match._bots._made.values()]
    visit.leave()
    until(visits, lambda: not visit.match._ending)
    assert bots[0]() is not None
    visit.left_at -= sessions_module.RELEASE_SECONDS
    visits.tick()
    gc.collect()
    assert [bot() for bot in bots] == [None]


def test_all_trees_together_stay_within_one_limit(visits: GameSessions, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ones unused longest are freed first, of visitors who have left before others."""
    monkeypatch.setattr(sessions_module, "MEMORY_CHECK_SECONDS", 0.0)
    monkeypatch.setattr(SearchSlots, "acquire", lambda self, who: True)
    memory = visits._memory = TreeMemory(40_000_000, 2)
    watched, *left = [analysed(visits) for _ in range(4)]
    for visit in left:
        visit.leave()
    sizes = [memory.size(visit.match.idle_trees) for visit in (watched, *left)]
    assert all(0 < size <= memory.share for size in sizes)
    assert not memory.is_exceeded([tree for visit in (watched, *left) for tree in visit.match.idle_trees])
    visits._memory = TreeMemory(int(2.2 * max(sizes)), 2)
    visits._memory.share = memory.share
    visits.tick()
    assert [bool(visit.match.idle_trees) for visit in (watched, *left)] == [True, False, False, False]


def test_a_tree_takes_no_more_than_its_share(visits: GameSessions) -> None:
    visits._memory = memory = TreeMemory(4_000_000, 1)
    visit = analysed(visits)
    (tree, *_) = visit.match.idle_trees
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


def test_openspiels_searches_have_their_share_too() -> None:
    game, memory = ath.load_game("tic_tac_toe"), TreeMemory(80_000_000, 2)
    bot = Opponents().find("mcts").make(game, 0, 0.05, 1, memory)
    assert bot._made_of[0].memory_mb == 20
    assert bot.step(game.new_initial_state()) in range(9)
