"""`athenan play`: who is who, what may be typed, taking back, hints and values, and where a match begins."""

from __future__ import annotations

import dataclasses
import io
import random
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyspiel
import pytest

from agents.athenan import AthenanBot
from athenan_spiel.cli.main import main
from athenan_spiel.cli.terminal_match import TerminalMatch, judgement
from athenan_spiel.evaluators.simple import ZeroEvaluator
from athenan_spiel.games import load_game
from athenan_spiel.games.chance import roll
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.pondering import _Pondering, _Slot
from athenan_spiel.search import UBFM, Budget, think

TIC_TAC_TOE = load_game("tic_tac_toe")
Play = Callable[..., str]
Out = pytest.CaptureFixture[str]


@pytest.fixture
def play(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> Play:
    """What `athenan play` shows to somebody who types some lines."""

    def played(*words: str, typed: str = "") -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        capsys.readouterr()
        assert main(["play", *words]) == 0
        return capsys.readouterr().out

    return played


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["random", "--game", "tic_tac_toe"], "You are x; you begin."),
        (["random", "--game", "tic_tac_toe", "--second"], "You are o; the agent begins."),
        (["random", "--game", "tic_tac_toe", "--moves", "4"], "You are o; you begin."),
        (["random", "--game", "tic_tac_toe", "--moves", "4", "--second"], "You are x; the agent begins."),
        (["random", "--game", "chess"], "You are White (in capital letters); you begin."),
        (["random", "--game", "nim"], "You are player 0; you begin."),
        (["random", "--game", "pig(players=2)"], "You are player 0; you begin."),
        (["random", "--game", "einstein_wurfelt_nicht"], "You are White (w); you begin."),
        (["random", "--game", "backgammon"], "You are x; a roll decides who begins."),
        (["random", "--game", "backgammon", "--second"], "You are o; a roll decides who begins."),
        (["human", "--game", "tic_tac_toe"], "x and o share the terminal; x begins."),
        (["random", "--game", "cliff_walking"], "`?` lists the possible inputs."),
        (["random", "--game", "cliff_walking", "--second"], "The agent plays by itself."),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_a_person_is_told_who_is_who(words: list[str], said: str, play: Play) -> None:
    assert play(*words).splitlines()[0].startswith(said)


@pytest.mark.parametrize("word", ["random", "mcts:2", "alphabeta@1i", "alphabeta(1)", "RUN@1i", "RUN#12:ubfm@1i"])
def test_every_agent_can_be_played(word: str, tiny_run: Path, play: Play) -> None:
    out = play(word.replace("RUN", str(tiny_run)), "--game", "tic_tac_toe", typed="\n".join("012345678" * 9))
    assert out.splitlines()[-1] in ("You have won.", "A draw.", "The agent has won.")
    told = re.findall(r"^(?:Your move: )*The agent plays o\(\d,\d\)(.*)\.$", out, re.MULTILINE)
    assert len(told) >= 2
    valued = word not in ("random", "mcts:2")
    assert all(
        re.fullmatch(r": (expected score .* for you|(win|loss) .* for you|draw)" if valued else "", rest)
        for rest in told
    )


@pytest.mark.parametrize("colour", ["--first", "--second"])
def test_play_to_the_end(trained: Path, colour: str, capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = ["?", "nonsense", *map(str, list(range(9)) * 9)]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(answers)))
    assert main(["play", str(trained), "--seconds", "0.01", colour]) == 0
    out = capsys.readouterr().out
    assert "'nonsense' is not a legal move" in out
    assert out.splitlines()[-1] in ("You have won.", "A draw.", "The agent has won.")


def test_play_ends_with_the_input(trained: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert main(["play", str(trained)]) == 0
    assert "game ended by" in capsys.readouterr().out


def test_an_agent_with_all_the_time_moves_when_its_tree_is_full(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athenan_spiel.cli.play.LEAST_STATES", 10)
    monkeypatch.setattr("athenan_spiel.solving.solver.resident_megabytes", lambda: 0.0)
    shown = play("alphabeta@3600s", "--game", "hex", "--second", "--memory", "3m", typed="quit\n")
    assert "The agent plays" in shown


def test_two_people_share_a_terminal(play: Play) -> None:
    out = play("human", "--game", "tic_tac_toe", typed="0\n4\nundo\n8\n1\n7\n2\n")
    assert out.count("Move of x: ") == 4
    assert out.count("Move of o: ") == 3
    assert "taken back: o(1,1)\n" in out
    assert out.endswith("xxx\n...\n.oo\nx has won.\n")


def test_the_last_move_and_the_answer_are_taken_back(play: Play) -> None:
    out = play("random", "--game", "tic_tac_toe", "--moves", "0", "1", typed="undo\n4\nundo\nundo\nquit\n")
    assert out.count("you have no move to take back") == 2, "before the position of --moves there is none"
    assert re.search(r"taken back: x\(1,1\), o\(\d,\d\)\n", out)
    assert out.count("\nxo.\n...\n...\n") == 2, "at first, and when the moves were taken back"


def test_where_a_turn_is_several_actions_the_last_one_is_taken_back(play: Play) -> None:
    state = load_game("amazons(board_size=6)").new_initial_state()
    typed = []
    for _ in range(3):
        action = state.legal_actions()[0]
        typed.append((str(action), state.action_to_string(action)))
        state.apply_action(action)
    numbers, names = zip(*typed, strict=True)
    out = play("random", "--game", "amazons(board_size=6)", typed="\n".join([*numbers, "undo", "undo", "quit"]))
    after_the_answer, own = re.findall(r"taken back: (.*)", out)
    assert after_the_answer.startswith(f"{names[2]}, O ")
    assert own == names[1]


def test_an_agent_notices_that_moves_were_taken_back(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    restarted: list[list[int]] = []
    restart_at = AthenanBot.restart_at

    def noted(self: AthenanBot, state: pyspiel.State) -> None:
        restarted.append(state.history())
        restart_at(self, state)

    monkeypatch.setattr(AthenanBot, "restart_at", noted)
    play("alphabeta(1)", "--game", "tic_tac_toe", "--second", "--moves", "4", typed="undo\n")
    assert restarted == [[4]]
    restarted.clear()
    play("alphabeta(1)", "--game", "tic_tac_toe", typed="4\nundo\n")
    assert restarted == [[], []]


@pytest.mark.parametrize(
    ("opponent", "moves", "hint"),
    [
        ("alphabeta@50i", "0 3 1 4", "hint (alpha-beta without a network): x(0,2), win in 1 for you"),
        ("random", "0 3 1 4", "hint (alpha-beta without a network): x(0,2), win in 1 for you"),
        ("human", "0 1 6 3 8", "loss in 2 for you"),
        ("human", "0 4", "draw"),
        ("RUN@50i", "0 3 1 4", "hint: x(0,2), win in 1 for you"),
    ],
)
def test_a_hint_is_what_an_agent_would_play_and_its_value(
    opponent: str, moves: str, hint: str, tiny_run: Path, play: Play
) -> None:
    word = opponent.replace("RUN", str(tiny_run))
    out = play(word, "--game", "tic_tac_toe", "--moves", *moves.split(), typed="hint\nHINT\n")
    assert out.count(hint) == 2


def test_a_hint_in_a_game_for_one_player_is_for_its_score(play: Play) -> None:
    assert "hint (alpha-beta without a network): UP, value -" in play(
        "alphabeta@20i", "--game", "cliff_walking", typed="hint\n"
    )


@pytest.mark.parametrize(
    ("moves", "typed", "said"),
    [
        ("0 1 6 3", "8", ": win in 1 for you."),
        ("0 3 1 4", "8", "The agent plays o(1,2): loss for you."),
        ("0", "4", ": draw."),
    ],
)
def test_the_value_of_the_agents_move_is_told_as_the_person_sees_it(
    moves: str, typed: str, said: str, play: Play
) -> None:
    out = play("alphabeta@20i", "--game", "tic_tac_toe", "--moves", *moves.split(), typed=typed)
    assert said in out


@pytest.mark.parametrize(
    ("player", "said"), [(0, "expected score 75.0 % for you"), (1, "expected score 25.0 % for you")]
)
def test_an_estimate_is_told_as_the_person_sees_it(player: int, said: str) -> None:
    state = TIC_TAC_TOE.new_initial_state()
    result = think(UBFM(TIC_TAC_TOE), state, Budget(iterations=1), lambda states: np.full(len(states), 0.5))
    assert judgement(result, 4, player, TIC_TAC_TOE) == said
    zero = think(UBFM(TIC_TAC_TOE), state, Budget(iterations=1), ZeroEvaluator())
    assert judgement(zero, 4, player, TIC_TAC_TOE) == "expected score 50.0 % for you"
    assert judgement(zero, 4, player, TIC_TAC_TOE, raw=True) == "value +0 for you"


def test_hints_change_nothing_in_the_match(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    histories = []
    for typed in ("0\n1\n2\n3\n5\n6\n7\n8\n" * 3, "hint\n0\nhint\n1\n2\n3\n5\n6\n7\n8\n" * 3):
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        agent = Agent(
            TIC_TAC_TOE, UBFM(TIC_TAC_TOE), ZeroEvaluator(), budget=Budget(iterations=9), rng=random.Random(3)
        )
        bot = AthenanBot(agent)
        adviser = bot.clone().agent
        match = TerminalMatch(TIC_TAC_TOE.new_initial_state(), {1: bot}, advise=lambda adviser=adviser: adviser)
        histories.append(match.play().history)
    assert histories[0] == histories[1]


@pytest.fixture
def pondered(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[int], bool]]:
    """The history of each position that was pondered, and whether it was begun anew there."""
    found: list[tuple[list[int], bool]] = []
    start = _Slot.start

    def noted(self: _Slot, thread: _Pondering) -> None:
        history = thread.subject.state.history()
        found.append((history, bool(found) and found[-1][0] == history))
        start(self, thread)

    monkeypatch.setattr(_Slot, "start", noted)
    return found


def nobody_ponders() -> bool:
    return not [thread for thread in threading.enumerate() if thread.name == "pondering"]


@pytest.mark.parametrize("words", [["RUN@2i", "--ponder"], ["RUN:ponder=true@2i"], ["alphabeta@1i", "--ponder"]])
def test_the_agent_thinks_on_while_a_person_does(
    words: list[str], tiny_run: Path, play: Play, pondered: list[tuple[list[int], bool]]
) -> None:
    words = [word.replace("RUN", str(tiny_run)) for word in words]
    out = play(*words, "--game", "tic_tac_toe", "--second", "--moves", "4", typed="\n".join("012345678" * 9))
    assert out.splitlines()[-1] in ("You have won.", "A draw.", "The agent has won.")
    assert pondered[0][0][0] == 4
    assert len(pondered) >= 2
    assert all(len(history) % 2 == 0 and not anew for history, anew in pondered), "the person, x, is to move"
    assert nobody_ponders()


def test_hints_and_taking_back_with_pondering(play: Play, pondered: list[tuple[list[int], bool]]) -> None:
    typed = "hint\n60\nhint\nhint\nundo\nhint\n60\nquit\n"
    out = play("alphabeta@1i", "--ponder", "--game", "hex", typed=typed)
    assert out.count("hint (alpha-beta without a network): ") == 4
    assert "taken back: " in out
    histories = [history for history, _ in pondered]
    assert len(pondered) == 3, "begun, gone on with after a hint, and begun in the match that followed"
    assert histories[0] == histories[1]
    assert pondered[1][1]
    assert [history[0] for history in histories] == [60] * 3
    assert nobody_ponders()


def test_ctrl_c_ends_pondering(tiny_run: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out) -> None:
    class Typing(io.StringIO):
        def readline(self, size: int | None = -1, /) -> str:
            line = super().readline()
            if not line:
                raise KeyboardInterrupt
            return line

    monkeypatch.setattr("sys.stdin", Typing("4\n"))
    assert main(["play", f"{tiny_run}@2i", "--ponder"]) == 130
    assert "The agent plays o(" in capsys.readouterr().out
    assert nobody_ponders()


def test_help_says_what_can_be_typed(play: Play) -> None:
    out = " ".join(play("random", "--game", "tic_tac_toe", typed="?\n").split())
    assert (
        "`?` lists the legal moves, `hint` shows the move that an agent would play for you, `undo` takes back your last"
        in out
    )


def test_bytes_that_are_no_text_are_no_legal_move_and_the_match_goes_on() -> None:
    words = [sys.executable, "-m", "athenan_spiel", "play", "random", "--game", "tic_tac_toe"]
    process = subprocess.run(words, input=b"\xff\xfe\n\x00\n4\nquit\n", capture_output=True)
    assert (process.returncode, process.stderr) == (0, b"")
    out = process.stdout.decode()
    assert out.count("is not a legal move") == 2
    assert "The agent plays o(" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["mcts:10"], "expected a game, as no agent is a run: add one such as --game connect_four"),
        (["nobody", "--game", "hex"], "expected an agent"),
        (
            ["human", "--second", "--game", "hex"],
            "expected an agent that moves first with --second, got 'human': leave",
        ),
        (
            ["random", "--seconds", "1", "--game", "hex"],
            "--seconds needs an agent with a time limit, got 'random'",
        ),
        (["mcts:10", "--seconds", "1", "--game", "hex"], "expected --seconds or a limit in the agent spec"),
        (["alphabeta@1s", "--seconds", "1", "--game", "hex"], "expected --seconds or a limit in the agent spec"),
        (["alphabeta", "--seconds", "0", "--game", "hex"], "seconds must be more than zero, got 0"),
        (["random", "--game", "tic_tac_toe", "--moves", "4", "4"], "expected a legal move as move 2, got '4'"),
        (["random", "--game", "tic_tac_toe", "--moves", *"03142"], "got the end of the game: returns 1, -1"),
        (["RUN", "--game", "hex"], "learned 'tic_tac_toe()' and cannot play 'hex()'"),
        (["RUN#7"], "expected the number of a checkpoint in"),
        (["random", "--ponder", "--game", "hex"], "--ponder needs a run or alphabeta as the agent, got 'random'"),
        (["human", "--ponder", "--game", "hex"], "--ponder needs a run or alphabeta as the agent, got 'human'"),
        (["alphabeta(1)", "--ponder", "--game", "cliff_walking"], "--ponder is for games for two players, got"),
        (
            ["RUN:ponder=maybe"],
            "expected a search, ponder=true, ponder=false, proofs=true or proofs=false after a run's colon, or",
        ),
        (["RUN", "--memory", "8q"], "--memory must be a size such as 800m, 8g or 1.5g, got '8q'"),
        (["RUN", "--memory", "1m"], "for this agent, got 1m"),
        (["random", "--memory", "2g", "--game", "hex"], "--memory needs a run or alphabeta as the agent, got 'random'"),
        (["random", "--roll", "ask", "--game", "hex"], "--roll is for games with chance, got 'hex()': leave it out"),
        (["random", "--game", "pig", "--moves", "roll", "roll"], "expected an outcome of chance as move 2, got 'roll'"),
        (["human", "--memory", "2g", "--game", "hex"], "--memory needs a run or alphabeta as the agent, got 'human'"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_what_cannot_be_played_is_said_in_a_line(words: list[str], said: str, tiny_run: Path, capsys: Out) -> None:
    assert main(["play", *(word.replace("RUN", str(tiny_run)) for word in words)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert len(captured.err.splitlines()) == 1


PIG = ["--game", "pig(players=2,winscore=20)"]


def test_the_program_rolls_and_prints_the_outcome(play: Play) -> None:
    out = play("random", *PIG, "--seed", "3", typed="roll\nroll\nquit\n")
    assert len(re.findall(r"Chance: Roll [1-6]\.\n", out)) >= 2
    assert play("random", *PIG, "--seed", "3", typed="roll\nroll\nquit\n") == out
    first = {play("random", *PIG, "--seed", str(seed), typed="roll\nquit\n") for seed in range(20)}
    assert len(first) > 4


def test_a_person_rolls_or_types_what_real_dice_show(play: Play) -> None:
    typed = "roll\n?\n7\nRoll 6\nroll\nroll\nroll\n\nquit\n"
    out = play("random", *PIG, "--roll", "ask", typed=typed)
    assert "'7' is not an outcome (Enter rolls, `?` lists the outcomes, `quit` ends)" in out
    assert "0: Roll 1   1: Roll 2" in out
    assert "Chance: Roll 6.\n" in out
    assert "Turn total: 6\n" in out
    assert len(re.findall(r"Chance: Roll [1-6]\.", out)) >= 2
    assert out.endswith("game ended by quit\n")


def test_a_move_is_taken_back_but_not_the_roll_before_it(play: Play) -> None:
    typed = "roll\n3\nroll\nundo\nstop\nquit\n"
    out = play("human", *PIG, "--roll", "ask", typed=typed)
    assert "taken back: roll\n" in out
    assert out.count("Turn total: 4\n") == 2
    assert out.count("Chance: Roll 4.\n") == 2, "once when it was typed, and with the position that returned"


def test_a_position_after_a_roll_is_shown_with_it(play: Play) -> None:
    assert "Chance: Roll 3.\n" in play("random", *PIG, "--moves", "roll", "2", typed="quit\n")
    assert "Chance: Roll 3.\n" not in play("random", *PIG, "--moves", "roll", "2", "stop", typed="quit\n")


@pytest.mark.parametrize("name", ["pig(players=2,winscore=20)", "maedn(players=2)", "catch"])
def test_a_game_with_chance_is_played_to_its_end(name: str, play: Play) -> None:
    actions = range(load_game(name).num_distinct_actions())
    out = play("random", "--game", name, typed="".join(f"{action}\n" for action in actions) * 600)
    assert re.search(r"\n(You have won|The agent has won|A draw|You have scored -?1)\.$", out.rstrip())


def test_a_large_score_is_shown_in_full() -> None:
    game = load_game("2048")
    state = game.new_initial_state()
    roll(state, random.Random(0).random)
    result = think(UBFM(game), state, Budget(iterations=1), ZeroEvaluator())
    result = dataclasses.replace(result, values=np.full(len(result.actions), 15_112.0))
    assert judgement(result, int(result.actions[0]), 0, game) == "value 15,112"


def test_a_proven_expectation_is_told_as_the_person_sees_it() -> None:
    result = think(UBFM(TIC_TAC_TOE), TIC_TAC_TOE.new_initial_state(), Budget(iterations=1), ZeroEvaluator())
    ones = np.ones(len(result.actions))
    result = dataclasses.replace(result, completions=0.25 * ones, resolved=ones.astype(bool))
    assert judgement(result, 0, 0, TIC_TAC_TOE) == "proven 62.5 % for you"
    assert judgement(result, 0, 1, TIC_TAC_TOE) == "proven 37.5 % for you"
