"""Custom outcomes: by path or by name, through a checkpoint, tested for Definition 21, and refused in one line."""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
import random
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import pyspiel
import pytest
from training_runs import TINY, state_of

import athenan_spiel as ath
from athenan_spiel.cli.main import main
from athenan_spiel.errors import ConfigError
from athenan_spiel.games import load_game
from athenan_spiel.games.playout import playout
from athenan_spiel.outcomes import (
    AdditiveDepth,
    Gain,
    Outcome,
    Sample,
    allowed_kind,
    gain,
    kind_called,
    make_outcome,
    outcome_from_parameters,
    outcome_to_play_by,
    register_outcome,
    registry,
    sample_matches,
)

TIC_TAC_TOE = pyspiel.load_game("tic_tac_toe")
BREAKTHROUGH = pyspiel.load_game("breakthrough(rows=4,columns=3)")

pytestmark = pytest.mark.usefixtures("forked_workers")
MODULE = '''
from dataclasses import dataclass
from athenan_spiel.outcomes import Outcome, gain

def crosses(state):
    """Ten, and two for each cell left empty."""
    return gain(state) * (10 + 2 * str(state).count("."))

@dataclass(frozen=True)
class Weighted(Outcome):
    weight: float = 2.0
    label: str = "x"

    def __call__(self, state):
        return self.weight * gain(state)

constant = 3
class NoOutcome: ...
class NotAllOfIt(Outcome): ...
'''


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a module `mine` that can be imported."""
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / "mine.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(folder))
    importlib.invalidate_caches()
    yield folder
    for name in ("mine", "broken"):
        sys.modules.pop(name, None)


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTERED", {})


def make(name: str, game: pyspiel.Game = TIC_TAC_TOE) -> Outcome:
    return make_outcome(name, game, random.Random(0))


def win() -> pyspiel.State:
    """Five actions; four cells are empty."""
    state = TIC_TAC_TOE.new_initial_state()
    for action in (0, 3, 1, 4, 2):
        state.apply_action(action)
    return state


# Found


def test_a_function_by_its_path(mine: Path) -> None:
    outcome = make("mine:crosses")
    assert outcome(win()) == 10 + 2 * 4
    assert outcome.scale == 18, "the shortest matches are among the sample's"
    assert outcome.parameters == {"scale": 18.0}
    kept = json.loads(json.dumps(outcome.parameters))
    assert outcome_from_parameters("mine:crosses", kept, kind_called("mine:crosses")) == outcome


def test_a_class_by_its_path(mine: Path) -> None:
    outcome = make("mine:Weighted")
    assert outcome(win()) == 2
    assert outcome.parameters == {"weight": 2.0, "label": "x", "scale": 2.0}
    parameters = {"weight": 3, "label": "y", "scale": 5.0}
    changed = outcome_from_parameters("mine:Weighted", parameters, kind_called("mine:Weighted"))
    assert (changed(win()), changed.scale, changed.parameters["label"]) == (3, 5, "y")


@dataclass(frozen=True)
class Lengths(Outcome):
    """Estimates a constant from the sample, and depends on the path."""

    path_dependent: ClassVar[bool] = True
    longest: int

    def __call__(self, state: pyspiel.State) -> float:
        return gain(state) * (self.longest + state.history()[0])

    @classmethod
    def for_game(cls, game: pyspiel.Game, sample: Sample) -> Self:
        return cls(longest=max(sample.lengths)).scaled(sample)


def test_a_registered_class_has_its_constants_from_the_sample() -> None:
    register_outcome("lengths", Lengths)
    outcome = make("lengths")
    assert isinstance(outcome, Lengths)
    assert outcome.longest == 9
    assert outcome_from_parameters("lengths", outcome.parameters) == outcome
    search = ath.UBFM(TIC_TAC_TOE, outcome=outcome)
    one, other = win(), win()
    assert search.key(one) == search.key(other) == one.serialize(), "its histories are kept apart"


def test_a_registered_function(mine: Path) -> None:
    register_outcome("twice", lambda state: 2.0 * gain(state))
    assert make("twice")(win()) == 2
    with pytest.raises(ConfigError, match=r"presence, twice, or .* got 'twcie': did you mean 'twice'\?$"):
        make("twcie")


def test_a_name_is_registered_for_one_outcome() -> None:
    register_outcome("lengths", Lengths)
    register_outcome("lengths", Lengths)
    for name in ("lengths", "additive_depth", "a:b"):
        with pytest.raises(ConfigError, match=f"a name without a colon that no other outcome has, got '{name}'"):
            register_outcome(name, gain)
    with pytest.raises(ConfigError, match="must be a function of a state or a subclass of Outcome, got 3"):
        register_outcome("three", 3)  # type: ignore[arg-type]


# Refused


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere_at_all:x", "cannot be imported, ModuleNotFoundError: No module named 'nowhere_at_all': run this whe"),
        ("mine:nothing", "cannot be imported: 'mine' has no 'nothing'"),
        ("mine:constant", r"must be a function of a state or a subclass of Outcome, got 3"),
        ("mine:NoOutcome", r"must be a function of a state or a subclass of Outcome, got <class 'mine.NoOutcome'>"),
        ("mine:NotAllOfIt", r"fails on a random game of 'tic_tac_toe\(\)', TypeError: Can't instantiate"),
        ("broken:x", r"cannot be imported, SyntaxError: "),
        (":x", r"cannot be imported, ValueError: Empty module name"),
    ],
)
def test_import_errors_have_one_line(mine: Path, path: str, message: str) -> None:
    (mine / "broken.py").write_text("def x(:\n")
    with pytest.raises(ConfigError, match=rf"^outcome '{path}' {message}") as error:
        make(path)
    assert "\n" not in str(error.value)


def fails(state: pyspiel.State) -> float:
    raise KeyError("knight")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda state: math.nan,
            r"outcome 'x': expected an outcome to return a finite number, got nan for \[\d, \d.*\]$",
        ),
        (lambda state: gain(state) * math.inf, r"a finite number, got -?(inf|nan) for "),
        (lambda state: None, "a finite number, got None for "),
        (lambda state: "many", "a finite number, got 'many' for "),
        (fails, r"outcome 'x' fails on a random game of 'tic_tac_toe\(\)', KeyError: 'knight'$"),
    ],
)
def test_values_must_be_finite_numbers(function: Callable[[pyspiel.State], float], message: str) -> None:
    register_outcome("x", function)
    with pytest.raises(ConfigError, match=message) as error:
        make("x")
    assert "\n" not in str(error.value)


def test_values_must_be_finite_after_the_test_games() -> None:
    register_outcome("x", lambda state: math.nan if state.history()[0] == 0 else float(gain(state)))
    outcome = outcome_from_parameters("x", {"scale": 1.0})
    with pytest.raises(ConfigError, match=re.escape("got nan for [0, 3, 1, 4, 2]")):
        outcome(win())


@pytest.mark.parametrize(
    ("game", "function", "less", "more"),
    [
        (BREAKTHROUGH, lambda state: -gain(state), "a win of player 1", "a win of player 0"),
        (BREAKTHROUGH, lambda state: 0.0, "a win of player 1", "a win of player 0"),
        (TIC_TAC_TOE, lambda state: abs(gain(state)), "a win of player 1", "a win of player 0"),
        (TIC_TAC_TOE, lambda state: max(0, gain(state)), "a win of player 1", "a draw"),
        (TIC_TAC_TOE, lambda state: min(0, gain(state)), "a draw", "a win of player 0"),
    ],
)
def test_violations_of_definition_21_are_refused_with_an_example(
    game: pyspiel.Game, function: Callable[[pyspiel.State], float], less: str, more: str
) -> None:
    register_outcome("x", function)
    with pytest.raises(ConfigError, match=r"^outcome 'x' breaks Definition 21") as error:
        make("x", game)
    found = re.fullmatch(
        r".*: it returns (.*) for (.*), \[(.*)\],\nand (.*) for (.*), \[(.*)\]; add .*",
        str(error.value),
    )
    assert found is not None
    low, better, low_match, high, worse, high_match = found.groups()
    assert (better, worse) == (more, less)
    assert float(low) <= float(high)
    for worth, actions in ((low, low_match), (high, high_match)):
        if "..." not in actions:
            state = game.new_initial_state()
            for action in actions.split(", "):
                state.apply_action(int(action))
            assert function(state) == float(worth)


PIG = load_game("pig(players=3,winscore=8)")


def half_the_returns(state: pyspiel.State) -> list[float]:
    return [returned / 2 for returned in state.returns()]


def test_a_function_of_rows() -> None:
    register_outcome("x", half_the_returns)
    outcome = make("x", PIG)
    assert outcome.parameters == {"scale": 0.5}
    end = playout(PIG.new_initial_state(), random.Random(1).choice)
    assert outcome(end) == tuple(half_the_returns(end))
    assert outcome_from_parameters("x", {"scale": 0.5})(end) == outcome(end)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda state: 1.0, r"outcome 'x': expected it to return a row of 3 numbers, one for each player in 'pig\("),
        (lambda state: "100", r"outcome 'x': expected it to return a row of 3 numbers, one for each player in 'pig\("),
        (lambda state: [1.0, 0.0], r"expected an outcome to return 3 finite numbers, got \[1\.0, 0\.0\] for \["),
        (lambda state: [1.0, math.inf, 0.0], r"3 finite numbers, got \[1\.0, inf, 0\.0\] for \["),
        (lambda state: [1.0, "many", 0.0], r"3 finite numbers, got \[1\.0, 'many', 0\.0\] for \["),
        (
            lambda state: state.returns()[::-1],
            r"'x' breaks Definition 21: it returns -0\.5 for a return of 1 of player 0, ",
        ),
    ],
)
def test_rows_are_tested(function: Callable[[pyspiel.State], Any], message: str) -> None:
    register_outcome("x", function)
    with pytest.raises(ConfigError, match=message):
        make("x", PIG)


def test_a_row_in_a_game_of_numbers_is_refused() -> None:
    register_outcome("x", lambda state: state.returns())
    with pytest.raises(ConfigError, match=r"expected an outcome to return a finite number, got \[(1\.0|-1\.0|0\.0), "):
        make("x")


def test_an_agent_of_rows_needs_its_outcome(tmp_path: Path) -> None:
    register_outcome("x", half_the_returns)
    run = ath.train(PIG, dataclasses.replace(TINY, matches=2, outcome="x"), tmp_path / "run")
    assert ath.load_agent(run.folder).search.outcome.parameters == {"scale": 0.5}
    registry._REGISTERED.clear()
    with pytest.raises(ConfigError, match="'x' is custom code named in a file"):
        ath.load_agent(run.folder)


def test_only_the_order_counts() -> None:
    """A draw may have another value than 0, and a win a negative one."""
    register_outcome("x", lambda state: gain(state) - 5.0)
    assert make("x").scale == 6


def test_constants_that_a_checkpoint_cannot_hold_are_refused() -> None:
    @dataclass(frozen=True)
    class Table(Outcome):
        values: tuple[int, ...] = (1, 2)

        def __call__(self, state: pyspiel.State) -> float:
            return float(gain(state))

    register_outcome("table", Table)
    with pytest.raises(ConfigError, match=r"expected values to be a number, True or False, or text, got \(1, 2\)"):
        make("table")


def test_parameters_of_another_outcome_are_refused(mine: Path) -> None:
    for parameters in ({}, {"scale": 1.0, "longest": 3}, {"scale": "1"}, {"scale": 1.0, "function": "f"}):
        with pytest.raises(ConfigError, match="expected the parameters of outcome 'mine:crosses'"):
            outcome_from_parameters("mine:crosses", parameters, kind_called("mine:crosses"))
    weighted = {"weight": 2.0, "label": 3, "scale": 1.0}
    with pytest.raises(ConfigError, match="expected the parameters of outcome 'mine:Weighted'"):
        outcome_from_parameters("mine:Weighted", weighted, kind_called("mine:Weighted"))


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan, 10**400, True, "1", None])
def test_an_invalid_scale_is_refused(scale: Any) -> None:
    with pytest.raises(ConfigError, match="expected the parameters of outcome 'gain'"):
        outcome_from_parameters("gain", {"scale": scale})
    assert outcome_to_play_by("mine:crosses", {"scale": scale}) is None


def test_a_name_in_a_file_imports_nothing(mine: Path) -> None:
    with pytest.raises(ConfigError, match="is custom code named in a file, which is not imported by itself"):
        outcome_from_parameters("mine:crosses", {"scale": 18.0})
    assert allowed_kind("mine:crosses", None) is None
    assert allowed_kind("mine:crosses", ("other:crosses", "mine:Weighted")) is None
    with pytest.raises(ConfigError, match="expected the outcome used in training, 'mine:crosses', got 'other:x'"):
        allowed_kind("mine:crosses", "other:x")
    with pytest.raises(ConfigError, match="'gain' is a built-in outcome and takes no code"):
        allowed_kind("gain", lambda state: 0.0)
    with pytest.raises(ConfigError, match="must be a function of a state or a subclass of Outcome, got 3"):
        allowed_kind("mine:crosses", 3)  # type: ignore[arg-type]
    assert "mine" not in sys.modules
    assert allowed_kind("gain", ("mine:crosses",)) is None, "there is nothing to import"
    kind = allowed_kind("mine:crosses", ("other:crosses", "mine:crosses"))
    assert kind is sys.modules["mine"].crosses is allowed_kind("mine:crosses", "mine:crosses")
    assert allowed_kind("other:x", kind) is kind


def test_the_scaled_gain_replaces_missing_code() -> None:
    outcome = outcome_to_play_by("mine:crosses", {"scale": 18.0, "constant": 3})
    assert outcome is not None
    assert outcome(win()) == outcome.scale == 18
    assert outcome_to_play_by("mine:crosses", {}) is None
    assert outcome_to_play_by("mine:crosses", []) is None  # type: ignore[arg-type]
    assert outcome_to_play_by("gain", {"scale": 1.0}) == Gain()


# In a run


@pytest.mark.parametrize("name", ["mine:crosses", "mine:Weighted"])
def test_a_run_with_a_custom_outcome_resumes_and_plays(mine: Path, tmp_path: Path, name: str) -> None:
    config = dataclasses.replace(TINY, outcome=name, matches=6)
    ath.train(TIC_TAC_TOE, dataclasses.replace(config, matches=3), tmp_path / "run")
    sys.modules.pop("mine")
    for forbidden in (None, ("other:crosses",)):
        with pytest.raises(ConfigError, match=f"outcome {name!r} is custom code named in a file"):
            ath.resume(tmp_path / "run", more_matches=3, outcome=forbidden)
    assert "matches = 3\n" in (tmp_path / "run" / "config.toml").read_text(), "what is refused changes nothing"
    assert "mine" not in sys.modules
    resumed = ath.resume(tmp_path / "run", more_matches=3, outcome=name)
    whole = ath.train(TIC_TAC_TOE, config, tmp_path / "whole")
    assert state_of(resumed.checkpoint) == state_of(whole.checkpoint)
    agent = ath.load_agent(tmp_path / "run", budget=ath.Budget(iterations=30), outcome=name)
    state = TIC_TAC_TOE.new_initial_state()
    for action in (0, 3, 1, 4):
        state.apply_action(action)
    result = agent.think(state)
    assert result.best_action == 2
    assert result.values[list(result.actions).index(2)] == {"mine:crosses": 18, "mine:Weighted": 2}[name]


def test_an_agent_plays_without_the_code_of_its_outcome(
    mine: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ath.train(TIC_TAC_TOE, dataclasses.replace(TINY, outcome="mine:Weighted", matches=1), tmp_path / "run")
    sys.modules.pop("mine")
    (mine / "mine.py").write_text("raise SystemExit('imported')")
    agent = ath.load_agent(tmp_path / "run", budget=ath.Budget(iterations=30))
    assert "outcome 'mine:Weighted' is code that was not allowed" in caplog.text
    state = TIC_TAC_TOE.new_initial_state()
    for action in (0, 3, 1, 4):
        state.apply_action(action)
    result = agent.think(state)
    assert (result.best_action, result.values[list(result.actions).index(2)]) == (2, 2.0)
    assert "mine" not in sys.modules


def test_the_function_itself_can_be_given(mine: Path, tmp_path: Path) -> None:
    ath.train(TIC_TAC_TOE, dataclasses.replace(TINY, outcome="mine:crosses", matches=1), tmp_path / "run")
    sys.modules.pop("mine")
    (mine / "mine.py").unlink()

    def twice(state: pyspiel.State) -> float:
        return 2.0 * gain(state)

    run = ath.resume(tmp_path / "run", more_matches=1, outcome=twice)
    assert run.matches == 2
    assert ath.load_agent(tmp_path / "run", outcome=twice).search.outcome(win()) == 2


def test_a_refused_outcome_leaves_no_run(mine: Path, tmp_path: Path) -> None:
    (mine / "broken.py").write_text("def x(state):\n    return 0.0\n")
    with pytest.raises(ConfigError, match="breaks Definition 21"):
        ath.train(TIC_TAC_TOE, dataclasses.replace(TINY, outcome="broken:x"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_missing_module_is_reported(mine: Path, tmp_path: Path) -> None:
    ath.train(TIC_TAC_TOE, dataclasses.replace(TINY, outcome="mine:crosses", matches=1), tmp_path / "run")
    sys.modules.pop("mine")
    (mine / "mine.py").unlink()
    importlib.invalidate_caches()
    uses: list[Callable[..., object]] = [ath.load_agent, ath.resume]
    for use in uses:
        with pytest.raises(
            ConfigError, match="No module named 'mine': run this where the module is, or set PYTHONPATH"
        ):
            use(tmp_path / "run", outcome="mine:crosses")


def test_the_command_line_finds_a_module_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in_this_folder.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    importlib.invalidate_caches()
    words = ["train", "tic_tac_toe", "--matches", "1", "--folder", "run", "--outcome"]
    try:
        assert main([*words, "in_this_folder:crosses"]) == 0
    finally:
        sys.modules.pop("in_this_folder", None)
    assert main([*words[:5], "other", "--outcome", "mobilty"]) == 2
    assert capsys.readouterr().err.rstrip().endswith("got 'mobilty': did you mean 'mobility'?")


def test_the_sample_depends_only_on_the_generator() -> None:
    one, same, other = (sample_matches(TIC_TAC_TOE, random.Random(seed), 5) for seed in (1, 1, 2))
    assert [end.history() for end in one.ends] == [end.history() for end in same.ends]
    assert [end.history() for end in one.ends] != [end.history() for end in other.ends]
    assert AdditiveDepth(longest=9, exact=True).scaled(one).scale == 10 - min(one.lengths)


def test_no_process_of_a_warm_up_imports_what_a_file_names(
    mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run's file names `mine:crosses`, and the caller resumes it with another function."""
    warm_up = ath.WarmUpConfig(states=600, processes=2)
    config = dataclasses.replace(TINY, outcome="mine:crosses", matches=1, warm_up=warm_up)
    stopped = ath.train(TIC_TAC_TOE, config, tmp_path / "run", stop=lambda: True)
    assert stopped.matches == 0
    sys.modules.pop("mine")
    (mine / "mine.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\n{MODULE}")
    (mine / "other.py").write_text(MODULE)
    monkeypatch.setenv("PYTHONPATH", str(mine))
    run = ath.resume(tmp_path / "run", outcome=importlib.import_module("other").crosses)
    assert run.matches == 1
    assert not (tmp_path / "sprung").exists()
