"""`athenan play`, `athenan replay` and the refusals of protocols with more than two players."""

from __future__ import annotations

import io
import random
import re
from collections.abc import Callable
from pathlib import Path

import pyspiel
import pytest

from agents import AthenanBot, HumanBot, parse_spec
from athenan_spiel.cli.main import main
from athenan_spiel.cli.play import _let_ponder
from athenan_spiel.cli.terminal_match import TerminalMatch, judgement
from athenan_spiel.errors import ConfigError
from athenan_spiel.evaluators.simple import RolloutEvaluator
from athenan_spiel.games import load_game
from athenan_spiel.outcomes.rows import gain_of
from athenan_spiel.play.agent import Agent
from athenan_spiel.search import UBFM, Budget, think

PIG = "pig(players=3,winscore=5)"
Play = Callable[..., str]
Out = pytest.CaptureFixture[str]


@pytest.fixture
def play(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Runs `athenan play` with typed lines, and returns what it prints."""

    def played(*words: str, typed: str = "") -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        capsys.readouterr()
        assert main(["play", *words]) == 0
        return capsys.readouterr().out

    return played


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["random", "--game", PIG], "You are player 0, and the agent plays player 1 and player 2; you begin."),
        (
            ["random", "--game", "chinese_checkers(players=3)", "--seat", "2"],
            "You are Green (3), and the agent plays Red (1) and Blue (2); Red (1) begins.",
        ),
        (
            ["random", "--game", "quoridor(players=3)", "--seat", "2", "0"],
            "Black (0) and Red (#) share the terminal, and the agent plays White (@); Black (0) begins.",
        ),
        (
            ["human", "--game", "maedn(players=4)"],
            "Red (1), Blue (2), Green (3) and Yellow (4) share the terminal; Red (1) begins.",
        ),
        (["random", "--game", "yacht(players=3)", "--seat", "1"], "You are player 1, and the agent plays player 0 and"),
        (["random", "--game", "tic_tac_toe", "--seat", "1"], "You are o; the agent begins."),
        (["random", "--game", "tic_tac_toe", "--seat", "0"], "You are x; you begin."),
        (["random", "--game", "cliff_walking", "--seat", "0"], "`?` lists the possible inputs."),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_each_seat_has_a_person_or_the_agent(words: list[str], said: str, play: Play) -> None:
    assert play(*words).splitlines()[0].startswith(said)


@pytest.mark.parametrize("seats", [["0"], ["1"], ["2"], ["0", "2"]])
def test_people_and_agents_play_to_the_end(seats: list[str], play: Play) -> None:
    out = play("random", "--game", PIG, "--seat", *seats, "--seed", "3", typed="roll\nstop\n" * 500)
    ending = re.fullmatch(r"(.*) won\. Returns of the players: (.*)\.", out.splitlines()[-1])
    assert ending is not None
    winner = ending[2].split(", ").index("1")
    assert sorted(ending[2].split(", ")) == ["-0.5", "-0.5", "1"]
    assert ending[1] == ("You have" if [str(winner)] == seats else f"Player {winner} has")
    others = {str(player) for player in range(3)} - set(seats)
    told = re.findall(r"^.*?Player (\d) plays (?:roll|stop)", out, re.MULTILINE)
    assert set(told) <= others
    assert told


def test_each_move_of_an_agent_is_printed_once(play: Play) -> None:
    out = play("random", "--game", "quoridor(players=3)", "--seat", "0", "2", typed="h6h\na4\nquit\n")
    assert len(re.findall(r"White \(@\) plays ", out)) == 1


def test_people_in_all_seats_take_back_a_move(play: Play) -> None:
    out = play("human", "--game", PIG, typed="stop\nstop\nundo\nstop\nstop\nundo\nquit\n")
    assert out.count("taken back: stop") == 2
    assert out.count("Move of player 2: ") == 3


def test_a_hint_has_the_value_for_the_mover(play: Play) -> None:
    out = play("human", "--game", PIG, typed="stop\nhint\nquit\n")
    assert re.search(r"hint \(MCTS without a network\): (roll|stop), expected score \d+\.\d % for you", out)


def test_values_are_those_of_the_named_player() -> None:
    game = load_game(PIG)
    result = think(UBFM(game), game.new_initial_state(), Budget(iterations=1), RolloutEvaluator(gain_of(game), 1))
    assert result.rows is not None
    for player in range(3):
        gain = result.rows[1, player]  # between -0.5, the worst, and 1
        score = min(99.9, max(0.1, 100 * (gain + 0.5) / 1.5))
        assert judgement(result, 1, player, game) == f"expected score {score:.1f} % for you"
        assert judgement(result, 1, player, game, raw=True) == f"value {gain:+.4g} for you"
    assert judgement(result, 1, 2, game, "player 2").endswith(" for player 2")


def test_a_proven_return_is_told() -> None:
    game = load_game(PIG)
    state = game.new_initial_state()
    for action in (0, 4):  # a roll of 5 is enough to win by stopping
        state.apply_action(action)
    result = think(UBFM(game), state, Budget(iterations=5), RolloutEvaluator(gain_of(game), 1))
    assert judgement(result, 1, 0, game) == "win in 1 for you"
    assert judgement(result, 1, 1, game) == "loss in 1 for you"


def searching_bot(game: pyspiel.Game) -> AthenanBot:
    """Returns a bot of this library that searches over random playouts."""
    evaluator = RolloutEvaluator(gain_of(game), 1)
    return AthenanBot(Agent(game, UBFM(game), evaluator, budget=Budget(iterations=5), rng=random.Random(1)))


def test_copies_of_an_agent_tell_their_values() -> None:
    game = load_game(PIG)
    bots = {player: searching_bot(game) for player in (0, 1)}
    lines: list[str] = []
    match = TerminalMatch(
        game.new_initial_state(), bots, advise=lambda: bots[0].agent, dice=random.Random(1), tell=lines.append
    )
    match._human.step = lambda state: state.legal_actions()[-1]  # type: ignore[method-assign]
    result = match.play()
    assert len(result.winners) == 1
    told = [line for line in lines if re.match(r"Player \d plays ", line)]
    assert told
    assert all(re.search(r": (expected score|win|loss) .*for you\.$", line) for line in told)


def test_two_people_are_told_whose_value_it_is() -> None:
    game = load_game(PIG)
    bot = searching_bot(game)
    lines: list[str] = []
    match = TerminalMatch(
        game.new_initial_state(), {1: bot}, advise=lambda: bot.agent, dice=random.Random(2), tell=lines.append
    )
    match._human.step = lambda state: state.legal_actions()[-1]  # type: ignore[method-assign]
    result = match.play()
    told = [line for line in lines if re.match(r"Player \d plays ", line)]
    assert len(told) == result.movers.count(1) > 0, "each move is printed once, although two people are informed"
    assert all(
        re.fullmatch(r"Player 1 plays (roll|stop): (expected score|win|loss|proven) .*for player 1\.", line)
        for line in told
    )


def test_only_a_single_agent_ponders() -> None:
    game = load_game(PIG)
    bot, spec = searching_bot(game), parse_spec("random")
    with pytest.raises(ConfigError, match="--ponder needs a single agent in the game, got 2: leave it out, or add --s"):
        _let_ponder(bot, spec, game, [0, 2])
    assert not bot.agent.ponders
    _let_ponder(bot, spec, game, [1])
    assert bot.agent.ponders


def test_a_person_without_remarks_is_told_the_player() -> None:
    game, lines = load_game(PIG), []
    HumanBot(tell=lines.append).inform_action(game.new_initial_state(), 2, 1)
    HumanBot(tell=lines.append).inform_action(load_game("tic_tac_toe").new_initial_state(), 0, 4)
    assert lines == ["Player 2 plays stop.", "The other player plays x(1,1)."]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["random", "--game", PIG, "--seat", "3"], f"--seat must be a player from 0 to 2 of '{PIG}', got 3"),
        (["random", "--game", PIG, "--seat", "-1"], "--seat must be a player from 0 to 2 of"),
        (["random", "--game", "tic_tac_toe", "--seat", "2"], "--seat must be a player from 0 to 1 of 'tic_tac_toe()'"),
        (["random", "--game", PIG, "--seat", "0", "1", "2"], "leaves no seat of"),
        (["random", "--game", "tic_tac_toe", "--seat", "0", "1"], "leaves no seat of"),
        (["human", "--game", PIG, "--seat", "1"], "--seat needs an agent for the other seats, got 'human'"),
        (["random", "--game", PIG, "--second"], "--second is for games for one or two players"),
        (["random", "--game", PIG, "--seat", "1", "--first"], "expected --seat, --first or --second, got more than"),
        (["alphabeta", "--game", PIG], "alpha-beta is for games whose values are single numbers"),
        (["gtp:cat", "--game", "quoridor(players=3)"], "GTP is for two players"),
        (["uci:cat", "--game", "quoridor(players=3)"], "UCI engines play"),
        (["aei:cat", "--game", "quoridor(players=3)"], "AEI engines play"),
        (["gnubg", "--game", "quoridor(players=3)"], "GNU Backgammon plays 'backgammon'"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_a_seat_that_does_not_exist_is_refused(words: list[str], said: str, capsys: Out) -> None:
    assert main(["play", *words]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("athenan play: ")]
    assert len(lines) == 1
    assert said in lines[0]


@pytest.mark.parametrize(("command", "said"), [("gtp", "GTP is for two players"), ("uci", "UCI engines play")])
def test_servers_of_protocols_refuse_three_players(command: str, said: str, capsys: Out) -> None:
    assert main([command, "random", "--game", PIG]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert len(captured.err.splitlines()) == 1


@pytest.fixture
def saved(tmp_path: Path) -> str:
    path = str(tmp_path / "games.jsonl")
    assert main(["eval", "random", "--against", "random", "--game", PIG, "--matches", "6", "--save", path]) == 0
    return path


def test_saved_games_of_three_are_replayed(saved: str, capsys: Out) -> None:
    capsys.readouterr()
    assert main(["replay", saved]) == 0
    listed = capsys.readouterr().out
    assert "player 2" in listed
    assert main(["replay", saved, "--match", "2"]) == 0
    out = capsys.readouterr().out
    assert "random (player 0) against random (player 1) against random (player 2)" in out
    assert re.search(r"^ply \d+: random \(player [012]\) plays (roll|stop)", out, re.MULTILINE)
    assert re.fullmatch(r"player [012] has won \(returns (-0\.5|1), (-0\.5|1), (-0\.5|1)\)", out.splitlines()[-1])


@pytest.mark.parametrize(("option", "said"), [("--sgf", "SGF is for games of Go and Hex"), ("--pgn", "PGN supports")])
def test_notations_refuse_three_players(option: str, said: str, saved: str, tmp_path: Path, capsys: Out) -> None:
    capsys.readouterr()
    assert main(["replay", saved, "--match", "1", option, str(tmp_path / "new")]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "new").exists()
