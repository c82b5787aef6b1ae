"""GNU Go, where it is installed: its boards are ours, and it plays whole matches."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator

import pytest

import agents
from athenan_spiel.errors import AgentError, ProgramError
from athenan_spiel.games import load_game, score
from athenan_spiel.games.boards import numbered_rows
from athenan_spiel.play.series import Series, play_series
from athenan_spiel.protocols import gtp_engine
from athenan_spiel.protocols.gtp import Gtp
from athenan_spiel.protocols.vertices import LETTERS, vertices_of

GNUGO = shutil.which("gnugo") or "/usr/games/gnugo"
RULES = "--mode gtp --chinese-rules --capture-all-dead"
SECONDS = 30.0
pytestmark = pytest.mark.skipif(
    not os.path.exists(GNUGO), reason="GNU Go is not installed: `apt install gnugo`, or its page at gnu.org"
)


@pytest.fixture(scope="module")
def gnugo() -> Iterator[Gtp]:
    engine = Gtp([GNUGO, "--mode", "gtp"], SECONDS)
    yield engine
    engine.close()


def stones(engine: Gtp, colour: str) -> set[str]:
    return {*engine.ask(f"list_stones {colour}", SECONDS).split()}


def drawn(text: str, mark: str) -> set[str]:
    """The vertices on which OpenSpiel's board shows a mark."""
    rows = [row.strip() for row in numbered_rows(text)]
    return {
        f"{LETTERS[x]}{len(rows) - y}" for y, row in enumerate(rows) for x, point in enumerate(row) if point == mark
    }


@pytest.mark.parametrize("spec", ["go(board_size=9)", "go(board_size=5,komi=0.5)", "go(board_size=19,handicap=4)"])
def test_boards_are_the_same_after_random_play(gnugo: Gtp, spec: str) -> None:
    game = load_game(spec)
    vertices = vertices_of(game)
    for seed in range(4):
        rng = random.Random(seed)
        state = game.new_initial_state()
        for command in (f"boardsize {vertices.size[0]}", "clear_board", *vertices.setup):
            gnugo.ask(command, SECONDS)
        while not state.is_terminal() and state.move_number() < 120:
            action, mover = rng.choice(state.legal_actions()), state.current_player()
            vertex = vertices.vertex(state, action)
            state.apply_action(action)
            if state.is_terminal():
                break  # a position may recur, which ends OpenSpiel's match and is forbidden in others
            try:
                gnugo.ask(f"play {vertices.colour(mover)} {vertex}", SECONDS)
            except ProgramError:
                pytest.fail(f"GNU Go refuses {vertex} after\n{state}")
            if state.move_number() % 10 == 0:
                assert drawn(str(state), "X") == stones(gnugo, "black")
                assert drawn(str(state), "O") == stones(gnugo, "white")
        assert drawn(str(state), "X") == stones(gnugo, "black") or state.is_terminal()
        assert gnugo.ask("get_komi", SECONDS) == f"{game.get_parameters()['komi']:.1f}"


def series(word: str, opponent: str, matches: int, spec: str = "go(board_size=9)") -> Series:
    game = load_game(spec)
    return play_series(
        game, lambda i: agents.make_bot(word, game, i), lambda i: agents.make_bot(opponent, game, i, 1), matches
    )


def by_area(result_history: tuple[int, ...], spec: str) -> float:
    state = load_game(spec).new_initial_state()
    for action in result_history:
        state.apply_action(action)
    black, white = score(state)
    return black - white


def test_it_plays_matches_and_its_dead_stones_are_gone() -> None:
    spec = "go(board_size=5)"
    played = series(f"gtp:{GNUGO} {RULES} --level 1@5s", "random", 2, spec)
    assert played.wins == 2
    for result in played.results:
        margin = by_area(result.history, spec)
        assert result.forfeit is None
        assert (margin > 0) == (result.returns[0] > 0)


def test_a_board_that_it_has_not() -> None:
    with pytest.raises(AgentError, match=r"an error: 'invalid color or coordinate': does it play 'hex"):
        agents.make_bot(f"gtp:{GNUGO} --mode gtp", "hex(board_size=11)", 0)


def test_a_mode_that_is_not_gtp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gtp_engine, "START_SECONDS", 1.0)  # it never answers
    with pytest.raises(ProgramError, match="does it speak GTP, and in this mode"):
        agents.make_bot(f"gtp:{GNUGO} --mode ascii", "go(board_size=9)", 0)


@pytest.mark.slow("four matches of Go 9 x 9 against each, by GNU Go")
@pytest.mark.parametrize("opponent", ["random", "mcts:10"])
def test_a_series_on_nine_by_nine(opponent: str) -> None:
    played = series(f"gtp:{GNUGO} {RULES} --level 1@10s", opponent, 4)
    assert [result.forfeit for result in played.results] == [None] * 4
    assert played.wins == 4
    assert played.forfeits() == ([], [])
