"""UCI engines that behave, and engines that do not."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspiel
import pytest

from athenan_spiel.errors import AgentError, ProgramError, ProgramTimeoutError, ResignedError
from athenan_spiel.protocols import uci
from athenan_spiel.protocols.uci import UciEngine, UciLimit
from athenan_spiel.protocols.uci_moves.table import uci_game
from athenan_spiel.protocols.uci_options import UciOption, option_of

FAKE = (sys.executable, str(Path(__file__).with_name("fake_uci.py")))
TIC_TAC_TOE = pyspiel.load_game("tic_tac_toe")
NOW = UciLimit(seconds=0.01)
BUTTON = "setoption name Clear Hash"
VARIANT = "setoption name UCI_Variant value tictactoe"


@contextmanager
def engine(word: str, **settings: str) -> Iterator[UciEngine]:
    one = UciEngine((*FAKE, word), settings)
    try:
        yield one
    finally:
        one.close()


def choose(one: UciEngine) -> None:
    one.choose(uci_game(TIC_TAC_TOE), TIC_TAC_TOE)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uci, "GRACE_SECONDS", 0.3)
    monkeypatch.setattr(uci, "STOP_SECONDS", 0.3)


def test_an_engine_is_asked_for_moves() -> None:
    with engine("good") as one:
        choose(one)
        assert one.name.endswith(r"(Fake\x1b[2J 1.0)")
        one.begin()
        assert one.best_move([], NOW) == "P@a1"
        assert one.best_move(["P@a1", "P@b1"], UciLimit(nodes=10)) == "P@c1"
        assert one.legal_moves(["P@a1"]) == {f"P@{file}{rank}" for rank in "123" for file in "abc"} - {"P@a1"}


@pytest.mark.parametrize(
    ("limit", "words", "longest"),
    [
        (UciLimit(seconds=0.25), "movetime 250", 0.25),
        (UciLimit(seconds=1e-9), "movetime 1", 1e-9),
        (UciLimit(nodes=10_000), "nodes 10000", uci.LONGEST_MOVE),
        (UciLimit(clock=61.5), "wtime 61500 btime 61500 winc 0 binc 0", 61.5),
        (UciLimit(clock=61.5, increment=0.5), "wtime 61500 btime 61500 winc 500 binc 500", 61.5),
        (UciLimit(clock=-1.0), "wtime 1 btime 1 winc 0 binc 0", 0.0),
    ],
)
def test_limits(limit: UciLimit, words: str, longest: float) -> None:
    assert (limit.words, limit.longest) == (words, longest)


def said(one: UciEngine, last: str) -> list[str]:
    """What the engine was told by setoption, up to the line `last`; the fake repeats it as its last words."""
    until = time.monotonic() + 30
    while last not in one._program._errors and time.monotonic() < until:
        time.sleep(0.01)
    return list(one._program._errors)


def test_options_are_told_and_one_core_is_the_rule() -> None:
    with engine("good", **{"skill level": "3", "Clear Hash": ""}) as one:
        expected = ["setoption name Ponder value false", "setoption name Skill Level value 3"]
        assert said(one, BUTTON) == [*expected, BUTTON]
    with engine("good") as one:
        choose(one)
        expected = ["setoption name Threads value 1", "setoption name Ponder value false"]
        assert said(one, VARIANT) == [*expected, VARIANT]
    with engine("good", threads="2", ponder="true", hash="32") as one:
        last = "setoption name Hash value 32"
        assert {last, "setoption name Threads value 2"} <= set(said(one, last))


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("Skil Level", "3", r"expected an option of .*, got 'Skil Level': did you mean 'Skill Level'\?"),
        ("nothing alike", "3", "got 'nothing alike'; it has Hash, Threads"),
        ("Skill Level", "21", "must be a whole number from 0 to 20, got '21'"),
        ("Skill Level", "x", "must be a whole number from 0 to 20, got 'x'"),
        ("Style", "solide", r"must be one of Solid, Risky, got 'solide': did you mean 'Solid'\?"),
        ("Ponder", "yes", "must be true or false, got 'yes'"),
    ],
)
def test_options_that_are_none(name: str, value: str, problem: str) -> None:
    with pytest.raises(AgentError, match=problem):
        UciEngine(FAKE, {name: value})


def test_options_are_read() -> None:
    assert option_of("option name Hash type spin default 16 min 1 max 64") == UciOption("Hash", "spin", 1, 64)
    assert option_of("option name A B type combo default x y var x y var z") == UciOption(
        "A B", "combo", choices=("x y", "z")
    )
    assert option_of("option name Path type string default <empty>") == UciOption("Path", "string")
    assert option_of("option name Odd type spin default 0 min x") == UciOption("Odd", "spin")
    assert option_of("option  name\tA type of play type check default true") == UciOption("A type of play", "check")
    for line in ("option name X type list", "option name type spin", "option X", "optional", ""):
        assert option_of(line) is None


def test_an_option_of_many_choices_is_read_in_linear_time() -> None:
    line = "option name x type combo default a" + "".join(f" var v{i}" for i in range(40_000))
    start = time.process_time()
    option = option_of(line)
    assert time.process_time() - start < 5  # minutes where each word is compared with all before it
    assert option is not None
    assert len(option.choices) == 40_000


@pytest.mark.parametrize(
    ("values", "choices"),
    [
        ("default var Solid var Risky", ("Solid", "Risky")),
        ("default Solid var Solid var Very min risk var Max max", ("Solid", "Very min risk", "Max max")),
        ("default default var default var by default", ("default", "by default")),
        ("var Solid var Risky default Solid", ("Solid", "Risky")),
        ("var  default  var var", ("default", "var")),
        ("Solid", ()),
    ],
)
def test_choices_are_read_by_the_keywords_of_a_combo(values: str, choices: tuple[str, ...]) -> None:
    option = option_of(f"option name Style type combo {values}")
    assert option == UciOption("Style", "combo", choices=choices)
    assert all(option.problem(choice) == "" for choice in choices)


def test_bounds_are_read_behind_an_empty_default() -> None:
    assert option_of("option name N type spin default min 1 max 10") == UciOption("N", "spin", 1, 10)
    assert option_of("option name N type spin max 10 min -1 default 0") == UciOption("N", "spin", -1, 10)
    assert option_of("option name S type string default min 1 var a") == UciOption("S", "string")
    assert option_of("option name B type button min 1") == UciOption("B", "button")


def test_what_speaks_something_else() -> None:
    with pytest.raises(
        ProgramError, match=r"does not speak UCI: it answers `uci` by '\? unknown command'; is it for gtp: \?"
    ):
        UciEngine((*FAKE, "gtp"))


def test_what_does_not_speak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uci, "START_SECONDS", 0.3)
    with pytest.raises(ProgramTimeoutError, match=r"has not answered `uci` by `uciok` within 0\.3 s"):
        UciEngine((*FAKE, "silent"))


def test_what_ends() -> None:
    with pytest.raises(ProgramError, match=r"has ended \(exit code 3\)"):
        UciEngine((*FAKE, "unready"))
    with engine("crash") as one, pytest.raises(ProgramError, match=r"has ended \(exit code 1\); it last wrote: .*luck"):
        one.best_move([], NOW)


def test_a_hanging_one_is_given_up(impatient: None) -> None:
    with engine("hang") as one:
        start = time.monotonic()
        with pytest.raises(ProgramTimeoutError, match=r"has not moved within 0\.01 s and 0\.6 s more"):
            one.best_move([], NOW)
        assert time.monotonic() - start < 5


def test_a_talkative_one_is_given_up(impatient: None) -> None:
    with engine("talk") as one:
        start = time.monotonic()
        with pytest.raises(ProgramTimeoutError, match="has not moved within"):
            one.best_move([], NOW)
        assert time.monotonic() - start < 10


def test_a_slow_one_is_told_to_stop(impatient: None) -> None:
    with engine("slow") as one:
        assert one.best_move([], NOW) == "P@a1"


@pytest.mark.parametrize("word", ["none", "null", "mute"])
def test_one_that_has_no_move(word: str) -> None:
    with engine(word) as one, pytest.raises(ProgramError, match=r"returned no move: got 'bestmove"):
        one.best_move([], NOW)


def test_one_that_resigns() -> None:
    with engine("resign") as one, pytest.raises(ResignedError, match=r"python \(Fake.* resigned"):
        one.best_move([], NOW)


def test_the_variant_must_be_known() -> None:
    with engine("unknown") as one, pytest.raises(AgentError, match=r"expected an engine that knows the variant 'tict"):
        choose(one)
    with engine("plain") as one:
        with pytest.raises(
            AgentError, match=r"with an option UCI_Variant for 'tictactoe', got .*: it plays only chess"
        ):
            choose(one)
        chess = pyspiel.load_game("chess")
        one.choose(uci_game(chess), chess)


def test_one_that_lacks_the_variant_is_told_of_it() -> None:
    with engine("defined") as one:
        choose(one)
        path, definition, _ = said(one, VARIANT)
        assert definition == "[tictactoe]"
        assert not Path(path.split()[-1]).exists()
    with engine("defined", variantpath="/no/such.ini") as one:
        choose(one)
        assert said(one, VARIANT)[-1] == VARIANT
    with engine("defined") as one, pytest.raises(AgentError, match="expected an engine that knows the variant 'shogi'"):
        one.choose(uci_game(pyspiel.load_game("shogi")), pyspiel.load_game("shogi"))


def test_another_board_and_other_rules_are_refused() -> None:
    with engine("kin") as one:
        choose(one)
    with (
        engine("board") as one,
        pytest.raises(AgentError, match=r"another initial board .* expected 3/3/3, got '8/8/8'"),
    ):
        choose(one)
    with (
        engine("rules") as one,
        pytest.raises(AgentError, match=r"by other rules than 'tic_tac_toe.*: P@a3, P@b2, P@b3"),
    ):
        choose(one)
