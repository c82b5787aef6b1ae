"""Ludii's AIs as bots and as words of the command line."""

from __future__ import annotations

import copy
import json
import pickle
import random
import threading
from typing import Any

import pyspiel
import pytest
from ludii_fake import FakeMatchAI, FakeTransport

import agents
import athenan_spiel as ath
from athenan_spiel.cli.main import main
from athenan_spiel.errors import AgentError, BudgetError, SearchError
from athenan_spiel.games.extensions import recommended_ai
from athenan_spiel.play.player import thinks_by_time
from ludii_bridge import LudiiError, connect
from ludii_bridge.ai import NAMES, LudiiAI, find_ai

TIC_TAC_TOE = "ludii(game=Tic-Tac-Toe)"


def asked(game: Any) -> list[FakeMatchAI]:
    """The match_ais that were told of a match; others were made to see whether they play the game."""
    return [match_ai for match_ai in game.rules.match_ais if match_ai.log]


def after(game: Any, *actions: int) -> Any:
    state = game.new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state


def test_a_match_is_one_ai_that_begins_and_ends(fake: FakeTransport) -> None:
    game = ath.load_game(TIC_TAC_TOE)
    bot = agents.load_bot("ludii", game, 0, {"ai": "uct", "seconds": 0.5})
    assert bot.step(after(game)) == 8
    assert bot.step(after(game, 8, 0)) == 6
    assert bot.step(after(game, 8, 0)) == 6
    assert [match_ai.log for match_ai in asked(game)] == [[("begin", 0), *[(0.5, None)] * 3]]
    assert asked(game)[0].name == "UCT"
    bot.restart()
    assert asked(game)[0].log[-1] == "end"
    assert bot.step(after(game, 3)) == 7
    assert asked(game)[1].log == [("begin", 1), (0.5, None)]


@pytest.mark.parametrize(
    ("limit", "seconds", "match_seconds"),
    [({"seconds": 0.5}, 0.5, None), ({"match_seconds": 9.0}, None, 9.0), ({"iterations": 5}, None, None)],
)
def test_the_bot_tells_its_time(
    fake: FakeTransport, limit: dict[str, object], seconds: float | None, match_seconds: float | None
) -> None:
    bot = agents.load_bot("ludii", ath.load_game(TIC_TAC_TOE), 0, limit)
    for each in (bot, pickle.loads(pickle.dumps(bot))):
        assert (each.seconds, each.match_seconds) == (seconds, match_seconds)
        assert thinks_by_time(each) == (limit.keys() != {"iterations"})


@pytest.mark.parametrize("actions", [(4, 2), (5,), (5, 3, 0)])
def test_a_state_that_does_not_follow_is_another_match(fake: FakeTransport, actions: tuple[int, ...]) -> None:
    game = ath.load_game(TIC_TAC_TOE)
    ai = LudiiAI(game, "UCT", iterations=20)
    ai.choose(after(game, 5, 2))
    ai.choose(after(game, *actions))
    first, second = asked(game)
    assert first.log == [("begin", 0), (None, 20), "end"]
    assert second.log == [("begin", len(actions) % 2), (None, 20)]


def test_a_state_of_other_rules_is_another_match(fake: FakeTransport) -> None:
    game, other = ath.load_game(TIC_TAC_TOE), ath.load_game("ludii(game=Swap)")
    ai = LudiiAI(game, "UCT", seconds=1)
    ai.choose(after(game))
    assert ai.choose(after(other, 0)) == 8
    assert asked(game)[0].log[-1] == "end"


def test_the_bot_refuses_a_state_of_another_game_and_one_without_a_choice(fake: FakeTransport) -> None:
    game, other = ath.load_game(TIC_TAC_TOE), ath.load_game("ludii(game=Swap)")
    bot = agents.load_bot("ludii", game, 0, {"ai": "UCT", "seconds": 1})
    for twin in (bot, bot.clone(), copy.copy(bot), pickle.loads(pickle.dumps(bot))):
        with pytest.raises(SearchError, match=r"expected a state of 'ludii\(game=Tic-Tac-Toe\)', got one of 'ludii"):
            twin.step(after(other))
        with pytest.raises(SearchError, match="expected a state with an action to choose, got a terminal one"):
            twin.step(after(game, *[0] * 7))
        assert twin.step(after(game)) == 8
    assert copy.copy(bot)._ai is not bot._ai, "each has an AI for itself"


def test_a_clone_has_no_memory_of_the_match(fake: FakeTransport) -> None:
    game = ath.load_game(TIC_TAC_TOE)
    bot = agents.make_bot("ludii:UCT@20i", game, 1)
    assert bot.is_clonable()
    assert not bot.provides_policy()
    bot.step(after(game))
    clone = bot.clone()
    clone.step(after(game, 0))
    assert [match_ai.log for match_ai in asked(game)] == [[("begin", 0), (None, 20)], [("begin", 1), (None, 20)]]


@pytest.mark.parametrize("copied", [lambda bot: pickle.loads(pickle.dumps(bot)), copy.deepcopy], ids=["pickle", "copy"])
def test_a_copy_has_no_memory_of_the_match(fake: FakeTransport, copied: Any) -> None:
    game = ath.load_game(TIC_TAC_TOE)
    bot = agents.make_bot("ludii:UCT@20i", game, 1)
    bot.step(after(game))
    twin = copied(bot)
    assert isinstance(twin, agents.LudiiBot)
    twin.step(after(game, 0))
    assert [match_ai.log for match_ai in asked(game)] == [[("begin", 0), (None, 20)], [("begin", 1), (None, 20)]]


def test_threads_that_share_an_ai_wait_for_each_other(fake: FakeTransport, monkeypatch: pytest.MonkeyPatch) -> None:
    game = ath.load_game(TIC_TAC_TOE)
    ai = LudiiAI(game, "UCT", seconds=1)
    inside, worst = 0, 0
    plain = FakeMatchAI.choose
    pause = threading.Event()

    def choose(self: FakeMatchAI, *args: Any) -> int:
        nonlocal inside, worst
        inside += 1
        worst = max(worst, inside)
        pause.wait(0.02)  # the others may come in, if nothing keeps them out
        inside -= 1
        return plain(self, *args)

    monkeypatch.setattr(FakeMatchAI, "choose", choose)
    threads = [threading.Thread(target=ai.choose, args=(after(game, i),)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert worst == 1


def test_openspiel_evaluates_it(fake: FakeTransport) -> None:
    game = ath.load_game(TIC_TAC_TOE)
    bots = [agents.make_bot("ludii:UCT", game, player) for player in (0, 1)]
    assert pyspiel.evaluate_bots(game.new_initial_state(), bots, 1) == [1, -1]
    assert [match_ai.log[1] for match_ai in asked(game)] == [(1.0, None)] * 2


@pytest.mark.parametrize(
    ("text", "params"),
    [
        ("ludii:UCT@1s", {"ai": "UCT", "seconds": 1.0}),
        ("ludii:alpha-beta@0.5s", {"ai": "Alpha-Beta", "seconds": 0.5}),
        ("ludii:BRS+", {"ai": "BRS+"}),
        ("ludii:MCTS (Biased Selection)@20i", {"ai": "MCTS (Biased Selection)", "iterations": 20}),
    ],
)
def test_words(text: str, params: dict[str, object]) -> None:
    assert agents.parse_spec(text) == agents.AgentSpec(text, "ludii", params)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ludii:UTC@1s", "no AI of Ludii's is called 'UTC': did you mean 'UCT'?"),
        (
            "ludii:mcts",
            "is called 'mcts': did you mean 'Biased MCTS', 'MCTS (Biased Selection)', 'MCTS (Hybrid Selection)' or",
        ),
        ("ludii:AlphaBeta", "no AI of Ludii's is called 'AlphaBeta': did you mean 'Alpha-Beta'?"),
        ("ludii:" + "x" * 5000, "expected the name of one of Ludii's AIs, such as UCT, got 'xxx"),
        (
            "ludii:",
            "no AI of Ludii's is called ''; UCT, Alpha-Beta and Ludii AI are some (ludii_bridge.ai.NAMES has all 26)",
        ),
        ("ludii", "no AI of Ludii's is called ''; UCT, Alpha-Beta and Ludii AI are some"),
        ("ludi:UCT@1s", "got 'ludi:UCT@1s': did you mean 'ludii:UCT@1s'?"),
        ("ludii:UCT@1m", "expected a limit after @: 0.5s, 200i (iterations)"),
    ],
)
def test_words_that_are_not_understood(text: str, message: str) -> None:
    with pytest.raises(AgentError) as error:
        agents.parse_spec(text)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"ai": "UBFN"}, "no AI of Ludii's is called 'UBFN': did you mean 'UBFM'?"),
        ({"ai": "BRS+"}, r"BRS\+ does not play Tic-Tac-Toe: use another AI, such as UCT"),
        ({"ai": "UBFM", "iterations": 5}, "UBFM counts no iterations, got iterations=5: give it seconds"),
        ({"seed": 5}, "has the parameters ai, seconds, iterations, match_seconds, match_increment; got 'seed'"),
    ],
)
def test_what_is_wrong_with_a_bot_is_one_line(fake: FakeTransport, params: dict[str, object], message: str) -> None:
    with pytest.raises(AgentError, match=message) as error:
        agents.load_bot("ludii", ath.load_game(TIC_TAC_TOE), 0, params)
    assert "\n" not in str(error.value)


def test_it_plays_ludiis_games_alone() -> None:
    with pytest.raises(AgentError, match=r"UCT is one of Ludii's AIs, for games such as .*got 'tic_tac_toe\(\)'"):
        agents.make_bot("ludii:UCT@1s", pyspiel.load_game("tic_tac_toe"), 0)


def test_no_thought_is_refused(fake: FakeTransport) -> None:
    game = ath.load_game(TIC_TAC_TOE)
    with pytest.raises(BudgetError):
        agents.load_bot("ludii", game, 0, {"seconds": 0.0})
    for limits in ({}, {"seconds": 0.0}, {"seconds": 1.0, "iterations": 0}):
        with pytest.raises(LudiiError, match="UCT needs seconds or iterations above zero, got seconds="):
            LudiiAI(game, "UCT", **limits)


def test_a_state_to_think_about_is_needed(fake: FakeTransport) -> None:
    game = ath.load_game(TIC_TAC_TOE)
    ai = LudiiAI(game, "UCT", seconds=1)
    over = after(game, 0, 2, 0, 2, 0)
    for state in (over, pyspiel.load_game("tic_tac_toe").new_initial_state()):
        with pytest.raises(LudiiError, match="UCT needs a state of a Ludii game that is not over"):
            ai.choose(state)


def test_the_command_line_measures_against_it(fake: FakeTransport, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["random", "--against", "ludii:UCT@0.1s", "--game", TIC_TAC_TOE, "--matches", "2", "--json"]
    assert main(["eval", *words]) == 0
    assert json.loads(capsys.readouterr().out)["comparisons"][0]["opponent"] == "ludii:UCT@0.1s"
    words[words.index(TIC_TAC_TOE)] = "tic_tac_toe"
    assert main(["eval", *words]) == 2
    assert "UCT is one of Ludii's AIs, for games such as" in capsys.readouterr().err


def test_what_fails_in_ludii_costs_the_match(
    fake: FakeTransport, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    choose, asked = FakeMatchAI.choose, []

    def failing(match_ai: FakeMatchAI, *given: Any) -> int:
        asked.append(match_ai)
        if len(asked) == 1:
            raise LudiiError("Java ran out of memory")
        return choose(match_ai, *given)

    monkeypatch.setattr(FakeMatchAI, "choose", failing)
    words = ["eval", "random", "--against", "ludii:UCT@0.1s", "--game", TIC_TAC_TOE, "--matches", "4", "--json"]
    assert main(words) == 0
    captured = capsys.readouterr()
    assert captured.err.splitlines()[-1].endswith("forfeited 1 of 4 games, the first as Java ran out of memory")
    assert json.loads(captured.out)["comparisons"][0]["matches"] == 4
    assert asked[0].log[-1] == "end"
    assert asked[1] is not asked[0]


@pytest.mark.usefixtures("ludii")
def test_the_names_are_ludiis() -> None:
    if connect().version != "1.3.12":
        pytest.skip(f"the names are those of Ludii 1.3.12, this is {connect().version}")
    import jpype

    game = ath.load_game(TIC_TAC_TOE)
    registry = jpype.JClass("manager.ai.AIRegistry")
    # Best-reply search is for games of more than two.
    assert {*map(str, registry.generateValidAgentNames(game.rules.game))} == {*NAMES} - {"BRS+"}


@pytest.mark.usefixtures("ludii")
def test_the_recommended_ai_is_that_of_the_metadata() -> None:
    """The names are in Ludii's files def_ai/*.def; Komikan's names apply to two other rulesets only."""
    names = {"Half Chess": "Alpha-Beta", "Gonnect": "MC-GRAVE", "Komikan": "", "Azteka": ""}
    assert {name: recommended_ai(ath.load_game(f"ludii(game={name})")) for name in names} == names


@pytest.mark.usefixtures("ludii")
@pytest.mark.parametrize("name", [name for name in NAMES if name != "BRS+"])
def test_every_ai_plays_whole_matches(name: str) -> None:
    game = ath.load_game("ludii(game=Tic-Tac-Toe)")
    ai = LudiiAI(game, name, seconds=0.005)
    rng = random.Random(5)
    for player in (0, 1):
        state = game.new_initial_state()
        while not state.is_terminal():
            mine = state.current_player() == player
            before = str(state)
            action = ai.choose(state) if mine else rng.choice(state.legal_actions())
            assert action in state.legal_actions()
            assert str(state) == before
            state.apply_action(action)


@pytest.mark.usefixtures("ludii")
@pytest.mark.parametrize("name", ["Surakarta", "Amazons", "Hex"])
@pytest.mark.parametrize("ai", ["UCT", "Alpha-Beta", "UBFM"])
def test_what_it_chooses_is_legal_in_larger_games(name: str, ai: str) -> None:
    """Moves twice in a row, and a swap; `play_match` checks each."""
    game = ath.load_game(f"ludii(game={name},max_length=8)")
    bots = [agents.make_bot(f"ludii:{ai}@0.01s", game, player) for player in (0, 1)]
    assert len(ath.play_match(game, bots).history) == 8


@pytest.mark.slow("Trax has a board of thousands of sites")
@pytest.mark.usefixtures("ludii")
def test_its_move_is_found_where_the_rules_change_a_move_as_it_is_made() -> None:
    game = ath.load_game("ludii(game=Trax)")
    state = game.new_initial_state()
    ai = LudiiAI(game, "UCT", iterations=2)
    for _ in range(2):
        state.apply_action(ai.choose(state))
    assert len(state.history()) == 2


@pytest.mark.usefixtures("ludii")
def test_the_move_is_the_one_that_ludii_chose() -> None:
    """UCT sees the win in one: found among the ordered moves, it wins."""
    game = ath.load_game("ludii(game=Connect Four)")
    state = game.new_initial_state()
    for action in (5, 0, 5, 0, 5, 1):
        state.apply_action(action)
    ai = LudiiAI(game, "UCT", iterations=3000)
    action = ai.choose(state)
    assert ai.choose(state.clone()) == action == 5
    assert state.child(action).returns() == [1, -1]


@pytest.mark.usefixtures("ludii")
@pytest.mark.parametrize("name", ["Fanorona", "Pentago", "Luuth", "Bay Khom"])
def test_its_move_is_told_from_those_that_read_alike_by_what_they_do(name: str) -> None:
    """Approach and withdrawal, turns of a quarter, laps of a sowing game: the same sites and Ludii's same text."""
    import jpype

    game = ath.load_game(f"ludii(game={name},max_length=40)")
    rng = random.Random(1)
    told = 0
    for _ in range(2):
        state: Any = game.new_initial_state()
        while not state.is_terminal():
            context = jpype.JClass("other.context.Context")(state.position.context)
            legal = list(game.rules.game.moves(context).moves().toArray())
            chosen = rng.choice(legal)
            words = chosen.toTrialFormat(None)
            told += sum(bool(other.toTrialFormat(None).equals(words)) for other in legal) > 1
            action = state.position.number_of(chosen)
            game.rules.game.apply(context, chosen)
            state.apply_action(action)
            mine = state.position.context
            assert mine.state().fullHash() == context.state().fullHash()
            assert bool(mine.trial().over()) == bool(context.trial().over())
    assert told >= 3


@pytest.mark.usefixtures("ludii")
def test_its_uct_beats_random() -> None:
    game = ath.load_game(TIC_TAC_TOE)
    series = ath.play_series(
        game,
        lambda player: agents.make_bot("ludii:UCT@300i", game, player),
        lambda player: agents.make_bot("random", game, player, 5),
        20,
        opening_plies=1,
        seed=1,
    )
    # Of random players the first wins 60 % and more; UCT with either colour hardly ever loses a match.
    assert series.tally.points >= 0.85


def test_names_are_found_in_any_case() -> None:
    assert [find_ai(name.upper()) for name in NAMES] == list(NAMES)
