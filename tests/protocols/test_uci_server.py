"""An agent of ours as a UCI engine: what it answers, when, and whether it can be stopped."""

from __future__ import annotations

import gc
import random
import time
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import pyspiel
import pytest
from uci_conversation import PATIENT, Conversation, zeros

from athenan_spiel.errors import AgentError
from athenan_spiel.protocols.uci_go import Go, end_words, score_words, wdl_words
from athenan_spiel.protocols.uci_options import UciOption, option_of
from athenan_spiel.search.drive import Budget


def test_it_introduces_itself() -> None:
    ours = Conversation("breakthrough")
    ours.tell("uci", "joho isready", "", "xyz", "quit", "isready")
    assert ours.take() == [
        "id name ours",
        "id author athenan_spiel",
        "option name UCI_Variant type combo default breakthrough var breakthrough",
        "option name MultiPV type spin default 1 min 1 max 256",
        "option name UCI_ShowWDL type check default false",
        "option name UCI_AnalyseMode type check default false",
        "uciok",
        "readyok",
    ]


class Cyclic:
    """An object that only the garbage collector frees."""

    def __init__(self) -> None:
        self.itself = self


def test_garbage_is_collected_between_matches_only() -> None:
    """A collection takes a quarter of a second, which would delay a move."""
    ours = Conversation("breakthrough")
    cyclic: list[weakref.ref[Cyclic]] = []

    def lines() -> Iterator[str]:
        assert not gc.isenabled()
        cyclic.append(weakref.ref(Cyclic()))
        yield "isready"
        assert cyclic[0]() is not None
        yield "ucinewgame"
        assert cyclic[0]() is None

    assert gc.isenabled()
    ours.server.run(lines())
    assert gc.isenabled()
    gc.collect()


def test_each_go_has_a_legal_answer() -> None:
    for name in ("breakthrough", "othello", "connect_four", "amazons", "chess"):
        ours = Conversation(name)
        game, uci = ours.agent.game, ours.server._uci
        state, moves = game.new_initial_state(), []
        for _ in range(4):
            *infos, best = ours.go("position startpos" + (f" moves {' '.join(moves)}" if moves else ""), "go nodes 50")
            turn = uci.read(state, best.removeprefix("bestmove "))
            for action in turn:
                state.apply_action(action)
            assert infos[-1].startswith("info depth ")
            moves.append(best.removeprefix("bestmove "))


def test_a_mate_is_found_and_told() -> None:
    ours = Conversation("chess")
    *infos, best = ours.go("position fen 6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", "go nodes 3000")
    assert best == "bestmove a1a8"
    assert " score mate 1 " in infos[-1]
    assert infos[-1].endswith(" pv a1a8")
    *infos, best = ours.go("position fen R5k1/8/5K2/8/8/8/8/8 b - - 0 1", "go movetime 50")
    assert best == "bestmove g8h7"


@pytest.mark.parametrize(
    ("name", "position", "score"),
    [
        ("tic_tac_toe", "startpos moves P@a1 P@a2 P@b1 P@b2 P@c1", "mate 0"),
        ("tic_tac_toe", "startpos moves P@a1 P@b1 P@c1 P@b2 P@a2 P@c2 P@b3 P@a3 P@c3", "cp 0"),
        ("chess", "startpos moves f2f3 e7e5 g2g4 d8h4", "mate 0"),
        ("chess", "fen R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1", "mate 0"),
        ("chess", "fen 6k1/8/8/8/8/8/5PPP/r5K1 w - - 0 1", "mate 0"),
        ("chess", "fen 7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "cp 0"),
    ],
)
def test_the_end_of_a_match_is_scored_for_the_side_to_move(name: str, position: str, score: str) -> None:
    lines = Conversation(name).go(f"position {position}", "go movetime 10")
    assert lines == [f"info depth 0 score {score}", "bestmove (none)"]


@pytest.mark.parametrize("name", ["antichess", "breakthrough", "clobber", "connect_four", "othello", "amazons"])
def test_so_it_is_in_every_game(name: str) -> None:
    """In Antichess the side to move wins as it has no pieces left; in Clobber it loses as it has no move."""
    ours, rng = Conversation(name), random.Random(0)
    for _ in range(3):
        state = ours.agent.game.new_initial_state()
        while not state.is_terminal():
            mover = state.current_player()
            state.apply_action(rng.choice(state.legal_actions()))
        gain = state.returns()[1 - mover]
        moves, _ = ours.server._uci.written(state)
        lines = ours.go(f"position startpos moves {' '.join(moves)}", "go movetime 10")
        assert lines == [f"info depth 0 {end_words(gain)}", "bestmove (none)"]
    assert name != "antichess" or gain > 0
    assert name != "clobber" or gain < 0


def test_the_end_in_words() -> None:
    assert [end_words(gain) for gain in (-1.0, 0.0, 1.0)] == ["score mate 0", "score cp 0", "score mate 1"]


@pytest.mark.parametrize("search", ["ubfm_s", "descent", "alphabeta", "mcts"])
def test_it_thinks_until_it_is_told_to_stop(search: str) -> None:
    ours = Conversation("breakthrough", search=search)
    for _ in range(3):  # the tree is there again, and alpha-beta's next iteration is a long one
        ours.server._answer(["go", "infinite"])
        time.sleep(0.4)
        ours.server._answer(["isready"])
        lines = ours.take()
        assert lines[-1] == "readyok"
        assert not any(line.startswith("bestmove") for line in lines)
        start = time.monotonic()
        ours.server._answer(["stop"])
        assert time.monotonic() - start < 5
        assert ours.take()[-1].startswith("bestmove ")


def test_an_iteration_that_is_long_is_given_up() -> None:
    def slow(states: Sequence[pyspiel.State]) -> Any:
        time.sleep(0.05)
        return zeros(states)

    ours = Conversation("breakthrough", slow, "alphabeta")
    for _ in range(2):  # the second search begins with an iteration of hundreds of questions
        ours.server._answer(["go", "infinite"])
        time.sleep(2)
        start = time.monotonic()
        ours.server._answer(["stop"])
        assert time.monotonic() - start < 3
        assert ours.take()[-1].startswith("bestmove ")


def test_what_is_proven_waits_for_stop_as_well() -> None:
    ours = Conversation("tic_tac_toe")
    ours.go("position startpos moves P@a1 P@a2 P@b1 P@b2", "go nodes 1000")
    ours.server._answer(["go", "infinite"])
    time.sleep(0.3)
    assert not any(line.startswith("bestmove") for line in ours.take())
    assert ours.go("stop")[-1] == "bestmove P@c1"


def test_the_end_of_the_input_ends_it() -> None:
    ours = Conversation("breakthrough")
    start = time.monotonic()
    ours.tell("go infinite")
    assert time.monotonic() - start < PATIENT
    assert ours.take()[-1].startswith("bestmove ")


def test_a_client_that_repeats_itself() -> None:
    """Each `go` has its move, also if the next one interrupts it; options count from the next `go` on."""
    ours = Conversation("breakthrough")
    start = time.monotonic()
    ours.tell("go infinite", "setoption name MultiPV value 2", *["go infinite"] * 20, "stop", "stop", "isready", "stop")
    assert time.monotonic() - start < PATIENT
    *lines, last = ours.take()
    assert sum(line.startswith("bestmove ") for line in lines) == 21
    assert "multipv" not in lines[0]
    assert sum(" multipv 2 " in line for line in lines) >= 20
    assert last == "readyok"


def test_moves_to_choose_from() -> None:
    ours = Conversation("breakthrough")
    assert ours.go("go nodes 500 searchmoves h2h3")[-1] == "bestmove h2h3"
    assert ours.go("go searchmoves a2a3 b2b3 nodes 500")[-1] in ("bestmove a2a3", "bestmove b2b3")
    ours = Conversation("amazons")
    assert ours.go("go nodes 300 searchmoves a4b4,b4c4 a4a5,a5a4")[-1] in ("bestmove a4b4,b4c4", "bestmove a4a5,a5a4")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("position startpos moves a2a3 a2a4", "expected a legal move in UCI's notation, got 'a2a4'"),
        ("position", "expected position startpos or fen, got ''"),
        ("position middle", "expected position startpos or fen, got 'middle'"),
        (
            "position fen 8/8/8/8/8/8/8/8 w - - 0 1",
            "expected position startpos, as breakthrough has no other start position",
        ),
    ],
)
def test_after_a_refused_position_there_is_no_move(line: str, problem: str) -> None:
    ours = Conversation("breakthrough")
    ours.tell("position startpos moves a2a3", line)
    (said,) = ours.take()
    assert said.startswith(f"info string {problem}")
    for go in ("go nodes 10", "go movetime 5", "go searchmoves a2a3"):
        reason, best = ours.go(go)
        assert reason.startswith("info string the last position was refused")
        assert best == "bestmove 0000"
    ours.tell("d")
    assert ours.take() == [reason]
    ours.server._answer(["go", "infinite"])
    assert ours.go("stop")[-1] == "bestmove 0000"
    for again in ("position startpos moves a2a3", "ucinewgame"):
        assert ours.go(line, again, "go nodes 10")[-1] not in ("bestmove 0000", "bestmove (none)")


UNCHANGED = ": the option is unchanged"
OPTIONS = "; it has UCI_Variant, MultiPV, UCI_ShowWDL, UCI_AnalyseMode"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("name UCI_Variant value chess", f"UCI_Variant must be one of breakthrough, got 'chess'{UNCHANGED}"),
        ("name UCI_Variant", f"UCI_Variant must be one of breakthrough, got ''{UNCHANGED}"),
        ("name uci_variant value Breakthrough", ""),
        ("name MultiPV value 0", f"MultiPV must be a whole number from 1 to 256, got '0'{UNCHANGED}"),
        ("name MultiPV value 257", f"MultiPV must be a whole number from 1 to 256, got '257'{UNCHANGED}"),
        ("name multipv value 2.5", f"MultiPV must be a whole number from 1 to 256, got '2.5'{UNCHANGED}"),
        ("name MultiPV", f"MultiPV must be a whole number from 1 to 256, got ''{UNCHANGED}"),
        ("name multipv value 256", ""),
        ("name UCI_ShowWDL value yes", f"UCI_ShowWDL must be true or false, got 'yes'{UNCHANGED}"),
        ("name UCI_AnalyseMode", f"UCI_AnalyseMode must be true or false, got ''{UNCHANGED}"),
        ("name UCI_AnalyseMode value true", ""),
        ("name Skill Level value 3", f"expected an option of this engine, got 'Skill Level'{OPTIONS}"),
        ("name Clear Hash", f"expected an option of this engine, got 'Clear Hash'{OPTIONS}"),
        ("name values value 3", f"expected an option of this engine, got 'values'{OPTIONS}"),
        ("name MultPV value 3", "expected an option of this engine, got 'MultPV': did you mean 'MultiPV'?"),
        ("UCI_Variant value chess", "expected setoption name NAME value VALUE, got 'UCI_Variant value chess'"),
        ("name", "expected setoption name NAME value VALUE, got 'name'"),
        ("", "expected setoption name NAME value VALUE, got ''"),
    ],
)
def test_options_that_there_are_not(line: str, problem: str) -> None:
    ours = Conversation("breakthrough")
    ours.tell("position startpos moves a2a3", f"setoption {line}")
    assert ours.take() == ([f"info string {problem}"] if problem else [])
    assert len(ours.server._state.history()) == 1


def test_a_line_of_unknown_words_takes_linear_time() -> None:
    ours = Conversation("breakthrough")
    words = "x " * 200_000
    start = time.monotonic()
    ours.tell(words, f"{words} isready", f"setoption {words}", f"go nodes 5 {words}", f"position fen {words}")
    assert time.monotonic() - start < 10
    assert "readyok" in ours.take()


@pytest.mark.parametrize(
    "fen",
    [
        "",
        "8/8/8/8/8/8/8/8 w - - 0 1",
        "6kk/8/8/8/8/8/8/K7 w - - 0 1",
        "k7/8/8/8/8/8/8/K8 w - - 0 1",
        "k7/8/8/8/8/8/8/K6P w - - 0 1",
        "k7/8/8/8/8/8/K7 w - - 0 1",
        "k7/8/8/8/8/8/8/K7 x - - 0 1",
        "k7/8/8/8/8/8/8/K7 w - - 0",
        "k7/8/8/8/8/8/8/K7 w KQ - 0 1",
        "r3k2r/8/8/8/8/8/8/1K6 w KQ -",
        "4k3/8/8/8/8/8/8/4R1K1 w - -",
        "4k3/8/8/8/8/8/8/4R1K1 w - - moves e1e8 g1g2",
        "QQQQkQQQ/8/8/8/8/8/8/4K3 w - - 0 1",
    ],
)
def test_what_is_no_position(fen: str) -> None:
    ours = Conversation("chess")
    ours.tell(f"position fen {fen}")
    (said,) = ours.take()
    assert said.startswith("info string expected a FEN of Chess, got ")


def test_a_fen_of_the_beginning_is_the_beginning() -> None:
    ours = Conversation("breakthrough")
    ours.tell("position fen pppppppp/pppppppp/8/8/8/8/PPPPPPPP/PPPPPPPP w - - 0 1 moves a2a3")
    assert ours.take() == []
    assert len(ours.server._state.history()) == 1
    for counters in (" 0 1", ""):
        ours = Conversation("chess")
        ours.tell(f"position fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -{counters} moves e2e4")
        assert ours.take() == []
        assert len(ours.server._state.history()) == 1


def test_a_fen_of_four_fields_has_the_usual_counters() -> None:
    ours = Conversation("chess")
    ours.tell("position fen 6k1/5ppp/8/8/8/8/8/R5K1 w - - moves a1a7")
    assert ours.take() == []
    assert str(ours.server._state).endswith(" b - - 1 1")


def test_an_agent_that_fails_says_so() -> None:
    def failing(states: Sequence[pyspiel.State]) -> Any:
        raise RuntimeError("no\nmore")

    ours = Conversation("breakthrough", failing)
    assert ours.go("go nodes 10") == ["info string RuntimeError: no more", "bestmove 0000"]
    assert ours.agent.budget == Budget(iterations=5)


def test_games_that_uci_does_not_have() -> None:
    with pytest.raises(AgentError, match="UCI engines play amazons"):
        Conversation("hex(board_size=3)")


def test_a_new_match_forgets_the_last() -> None:
    ours = Conversation("breakthrough")
    ours.go("position startpos moves a2a3", "go nodes 100")
    assert ours.agent.result is not None
    ours.tell("ucinewgame")
    assert ours.agent.result is None
    assert ours.server._state.history() == []


USUAL = Budget(iterations=7)


@pytest.mark.parametrize(
    ("words", "budget"),
    [
        ("movetime 1025", {"seconds": 1.0}),
        ("movetime 1", {"seconds": 0.005}),
        ("nodes 100", {"evaluations": 100}),
        ("nodes -3", {"evaluations": 1}),
        ("nodes 99999999999999", {"evaluations": 10**9}),
        ("wtime 30000 btime 60000", {"seconds": 1.0}),
        ("wtime 30000 btime 60000 winc 1000 movestogo 10", {"seconds": 3.8}),
        ("wtime 100 btime 5 movestogo 1", {"seconds": 0.05}),
        ("wtime -100 btime 5", {"seconds": 0.005}),
        ("infinite", {}),
        ("ponder wtime 5", {}),
        ("", {"iterations": 7}),
        ("depth 3 mate 2 movetime x 5 nodes", {"iterations": 7}),
    ],
)
def test_what_go_asks_for(words: str, budget: dict[str, float]) -> None:
    made = Go.read(words.split()).budget(USUAL, white=True)
    seconds = budget.pop("seconds", None)
    assert made.seconds == pytest.approx(seconds) if seconds else made.seconds is not None and made.seconds > 1e9
    assert {name: getattr(made, name) for name in budget} == budget
    assert made.iterations == budget.get("iterations")


def test_the_clock_is_that_of_the_side_and_dealt_out_to_a_turn() -> None:
    go = Go.read(["wtime", "30000", "btime", "60000"])
    assert go.budget(USUAL, white=False).seconds == pytest.approx(2.0)
    assert go.budget(USUAL, white=True, parts=2).seconds == pytest.approx(0.5)
    assert Go.read(["nodes", "90"]).budget(USUAL, white=True, parts=3).evaluations == 30
    assert Go.read(["searchmoves", "a", "b", "wtime", "3"]).only == ("a", "b")


@pytest.mark.parametrize(
    ("expected", "completion", "turns", "resolved", "words"),
    [
        (0.5, 0, 3, False, "score cp 0"),
        (0.75, 0, 3, False, "score cp 191"),
        (0.25, 0, 3, False, "score cp -191"),
        (0.999, 0, 3, False, "score cp 1200"),
        (0.5, 0, 3, True, "score cp 0"),
        (1.0, 1, 1, True, "score mate 1"),
        (1.0, 1, 3, True, "score mate 2"),
        (0.0, -1, 2, True, "score mate -1"),
        (0.0, -1, 4, True, "score mate -2"),
    ],
)
def test_scores(expected: float, completion: int, turns: int, resolved: bool, words: str) -> None:
    assert score_words(expected, completion, turns, resolved=resolved) == words


@pytest.mark.parametrize(
    ("expected", "draws", "words"),
    [
        (0.0, 0.0, "wdl 0 0 1000"),
        (1.0, 0.0, "wdl 1000 0 0"),
        (0.5, 0.0, "wdl 500 0 500"),
        (0.5, 1.0, "wdl 0 1000 0"),
        (0.6, 0.4, "wdl 400 400 200"),
        (0.9, 0.4, "wdl 800 200 0"),  # no more draws are possible
        (0.1, 0.4, "wdl 0 200 800"),
        (0.6234, 0.3333, "wdl 457 333 210"),
        (1.0, 1.0, "wdl 1000 0 0"),
    ],
)
def test_shares_of_wins_draws_and_losses(expected: float, draws: float, words: str) -> None:
    assert wdl_words(expected, draws) == words


def test_shares_add_up() -> None:
    rng = random.Random(0)
    for _ in range(2000):
        expected, draws = rng.random(), rng.random()
        won, drawn, lost = map(int, wdl_words(expected, draws).split()[1:])
        assert won + drawn + lost == 1000
        assert min(won, drawn, lost) >= 0
        assert (won + drawn / 2) / 1000 == pytest.approx(expected, abs=0.0011)
        assert drawn / 1000 <= draws + 0.0006


def test_a_declared_option_is_read_again() -> None:
    for option in (
        UciOption("MultiPV", "spin", least=1, most=256),
        UciOption("UCI_ShowWDL", "check"),
        UciOption("UCI_Variant", "combo", choices=("chess", "ataxx")),
    ):
        assert option_of(option.declaration("1")) == option
