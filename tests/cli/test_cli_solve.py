"""`athenan solve`: what it prints, what a script reads, its exit codes, and the words it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from training_runs import TINY

import athenan_spiel.solving.solver
from athenan_spiel.cli.main import main
from athenan_spiel.cli.solve import SolveArguments, _evaluation
from athenan_spiel.games import load_game
from athenan_spiel.games.calibration import GAINS
from athenan_spiel.solving.solver import Proof
from athenan_spiel.training import train

Out = pytest.CaptureFixture[str]
BLOCKED = ["0", "1", "4"]
"""Tic-Tac-Toe: x stands on 0 and 4, o on 1; x wins."""


def solved(capsys: Out, *words: str, code: int = 0) -> dict[str, Any]:
    """The JSON document of `athenan solve --json` with these words."""
    assert main(["solve", *words, "--json"]) == code
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_a_win_is_said_in_words(capsys: Out) -> None:
    assert main(["solve", "tic_tac_toe", "--moves", *BLOCKED]) == 0
    verdict, best, line, cost = capsys.readouterr().out.splitlines()
    assert verdict == "proven: win in 4 for x"
    assert best == "best move: o(2,2)"
    assert line.startswith("best line: o(2,2) x(")
    assert cost.split()[1] == "nodes,"


@pytest.mark.parametrize(
    ("game", "moves", "said"),
    [
        ("tic_tac_toe", [], "proven: draw"),
        ("tic_tac_toe", ["0", "4", "1", "2", "8"], "proven: win in 1 for o"),
    ],
)
def test_a_draw_and_a_loss_are_said_in_words(game: str, moves: list[str], said: str, capsys: Out) -> None:
    assert main(["solve", game, *(["--moves", *moves] if moves else [])]) == 0
    assert capsys.readouterr().out.splitlines()[0] == said


@pytest.mark.parametrize("search", ["descent", "ubfm"])
def test_a_script_reads_json(search: str, capsys: Out) -> None:
    document = solved(capsys, "tic_tac_toe", "--moves", *BLOCKED, "--search", search, "--seed", "3")
    line, actions = document.pop("best_line"), document.pop("best_actions")
    assert document.pop("seconds") > 0
    counts = [document.pop(name) for name in ("nodes", "iterations", "evaluations")]
    assert all(count > 0 for count in counts)
    assert document == {
        "game": "tic_tac_toe()",
        "history": [0, 1, 4],
        "proven": True,
        "ending": "proven",
        "value": 1.0,
        "expected_score": 1.0,
        "winner": 0,
        "best_move": "o(2,2)",
    }
    state = load_game("tic_tac_toe").new_initial_state()
    for action in (0, 1, 4):
        state.apply_action(action)
    for name, action in zip(line, actions, strict=True):
        assert state.action_to_string(state.current_player(), action) == name
        state.apply_action(action)
    assert state.returns() == [1.0, -1.0]


def test_moves_go_by_name_or_by_number(capsys: Out) -> None:
    by_name = solved(capsys, "tic_tac_toe", "--moves", "x(0,0)", "O(0,1)", "4")
    assert by_name["history"] == [0, 1, 4]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--iterations", "3"], "the limit --iterations was reached"),
        (["--time", "0.05s"], "the limit --time was reached"),
    ],
)
def test_a_limit_is_exit_code_3_and_an_estimate(words: list[str], why: str, capsys: Out) -> None:
    assert main(["solve", "hex(board_size=6)", *words]) == 3
    captured = capsys.readouterr()
    assert captured.out.startswith("not proven; estimated 50.0 % for Red (x)\nbest move: ")
    assert captured.err == f"not proven: {why}\n"
    document = solved(capsys, "hex(board_size=6)", *words, code=3)
    assert (document["proven"], document["winner"]) == (False, None)


def test_the_memory_is_a_limit(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([0.0, 51.0])
    monkeypatch.setattr(athenan_spiel.solving.solver, "resident_megabytes", lambda: next(looks))
    assert main(["solve", "hex(board_size=6)", "--megabytes", "50", "--search", "descent"]) == 3
    assert capsys.readouterr().err == "not proven: the limit --megabytes was reached\n"


def interrupted(after_progress: bool) -> Callable[..., Proof]:
    def solve(*args: object, on_progress: Callable[[Proof], object], **options: object) -> Proof:
        if after_progress:
            on_progress(Proof(proven=False, value=0.25, line=(4, 0), nodes=9, iterations=8, evaluations=7, seconds=6.0))
        raise KeyboardInterrupt

    return solve


def test_after_ctrl_c_comes_what_is_known(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(athenan_spiel.solving.solver, "solve", interrupted(after_progress=True))
    assert main(["solve", "tic_tac_toe"]) == 130
    captured = capsys.readouterr()
    assert captured.out == (
        "not proven; estimated 62.5 % for x\n"
        "best move: x(1,1)\nbest line: x(1,1) o(0,0)\n9 nodes, 7 evaluations, 6.0 s\n"
    )
    assert captured.err == "stopped; this is the last intermediate result\n"
    monkeypatch.setattr(athenan_spiel.solving.solver, "solve", interrupted(after_progress=False))
    assert main(["solve", "tic_tac_toe"]) == 130
    assert capsys.readouterr() == ("", "athenan solve: stopped\n")


def test_a_game_for_one_player_has_no_winner(capsys: Out) -> None:
    game = load_game("morpion_solitaire")
    state = game.new_initial_state()
    history = []
    while not state.is_terminal():
        history.append(state.legal_actions()[0])
        state.apply_action(history[-1])
    document = solved(capsys, "morpion_solitaire", "--moves", *map(str, history[:-2]))
    assert (document["proven"], document["winner"]) == (True, None)
    assert document["value"] >= state.player_return(0)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "ttt"
    train(load_game("tic_tac_toe"), TINY, folder)
    return folder


def test_the_network_and_the_outcome_of_a_run_serve(
    trained: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {}
    solve = athenan_spiel.solving.solver.solve

    def watched(*args: Any, **options: Any) -> Proof:
        given.update(options)
        return solve(*args, **options)

    monkeypatch.setattr(athenan_spiel.solving.solver, "solve", watched)
    assert solved(capsys, "tic_tac_toe", "--run", str(trained))["value"] == 0.0
    assert type(given["evaluator"]).__name__ == "NetworkEvaluator"
    assert given["outcome"].name == "additive_depth"
    assert solved(capsys, "tic_tac_toe", "--run", str(trained), "--outcome", "gain")["value"] == 0.0
    assert given["outcome"].name == "gain"
    assert solved(capsys, "tic_tac_toe", "--run", f"{trained}#12")["value"] == 0.0
    assert type(given["evaluator"]).__name__ == "NetworkEvaluator"
    solved(capsys, "tic_tac_toe")
    assert given["evaluator"] is given["outcome"] is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["hex(board_size=4)", "--moves", "a1", "zz"],
            "as move 2, got 'zz'; legal are b1, c1, d1, a2, b2, c2, d2, a3, b3, c3 and 5 others",
        ),
        (["tic_tac_toe", "--moves", "0", "0"], "expected a legal move as move 2, got '0'"),
        (["tic_tac_toe", "--moves", "x(0,3)"], "got 'x(0,3)': did you mean 'x(0,"),
        (["tic_tac_toe", "--moves", "0", "3", "1", "4", "2", "5"], "expected no move 6"),
        (["tic_tac_toe", "--moves", "0", "3", "1", "4", "2"], "got the end of the game: returns 1, -1"),
        (["tic_tac_toe", "--run", "no/such"], "'no/such'"),
        (["tic_tac_toe", "--run", "no/such#bset"], "expected a number of games after #"),
        (["tic_tac_toe", "--outcome", "gian"], "did you mean 'gain'?"),
        (["tic_tac_toe", "--search", "mcts"], "mcts"),
        (["tic_tac_toe", "--iterations", "0"], "iterations must be at least 1, got 0"),
        (["tic_tac_toe", "--megabytes", "-1"], "megabytes must be more than zero, got -1.0"),
        (["tic_tac_toe", "--time", "soon"], "got 'soon'"),
        (["tictactoe"], "tic_tac_toe"),
        (["leduc_poker"], "hides information"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_bad_words_get_one_or_two_lines(words: list[str], said: str, capsys: Out) -> None:
    assert main(["solve", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert len(captured.err.splitlines()) <= 2


def test_a_run_of_another_game_is_refused(trained: Path, capsys: Out) -> None:
    assert main(["solve", "hex(board_size=3)", "--run", str(trained)]) == 2
    assert "expected a run of 'hex(board_size=3)'" in capsys.readouterr().err.replace("\n", "")


PIG = "pig(players=2,winscore=6,horizon=8)"


def test_an_expectation_is_printed_as_one(capsys: Out) -> None:
    assert main(["solve", PIG]) == 0
    verdict, best, line, _ = capsys.readouterr().out.splitlines()
    assert (best, line) == ("best move: roll", "best line: roll")
    document = solved(capsys, PIG)
    assert (document["proven"], document["winner"], document["best_line"]) == (True, None, ["roll"])
    score = 50 + 50 * document["value"]
    assert verdict == f"proven {score:.1f} % for player 0"
    assert document["expected_score"] == pytest.approx(score / 100)
    assert main(["solve", PIG, "--raw"]) == 0
    verdict, *_ = capsys.readouterr().out.splitlines()
    assert verdict == f"proven {score:.1f} % ({document['value']:+.4g}) for player 0"


def test_a_position_before_a_roll_has_a_value_and_no_move(capsys: Out) -> None:
    assert main(["solve", PIG, "--moves", "roll"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "best move: none, as chance chooses"
    document = solved(capsys, PIG, "--moves", "roll")
    assert (document["best_move"], document["best_line"]) == (None, [])
    assert -1 < document["value"] < 1


def test_an_outcome_that_does_not_exist_is_refused(capsys: Out) -> None:
    assert main(["solve", PIG, "--moves", "roll", "Roll 7"]) == 2
    message = capsys.readouterr().err
    assert "expected an outcome of chance as move 2, got 'Roll 7'" in message
    assert message.count("\n") == 1


def test_an_estimate_has_the_calibration_of_its_outcome() -> None:
    game = load_game("connect_four")
    *_, calibration = _evaluation(game, SolveArguments(game="connect_four", outcome="additive_depth"))
    assert calibration.slope is not None
    *_, calibration = _evaluation(game, SolveArguments(game="connect_four"))
    assert calibration == GAINS
