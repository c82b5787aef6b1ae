"""OpenSpiel's side of the bridge, on a transport without Java."""

from __future__ import annotations

import copy
import pickle
import random
from typing import Any

import numpy as np
import pyspiel
import pytest
from ludii_fake import FakeTransport
from open_spiel.python.observation import INFO_STATE_OBS_TYPE, make_observation

from athenan_spiel.drawing.views import view_of
from athenan_spiel.games.extensions import category_of, recommended_ai
from ludii_bridge import LudiiError, LudiiGame, connection

TIC_TAC_TOE = "ludii(game=Tic-Tac-Toe)"


def load(text: str) -> Any:
    return pyspiel.load_game(text)


def after(game: Any, *actions: int) -> Any:
    state = game.new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state


def test_a_game_string_gives_a_game(fake: FakeTransport) -> None:
    game = load(TIC_TAC_TOE)
    assert isinstance(game, LudiiGame)
    assert game.num_players() == 2
    assert game.num_distinct_actions() == 10
    assert game.max_game_length() == 1000
    assert (game.min_utility(), game.max_utility(), game.utility_sum()) == (-1, 1, 0)
    assert game.observation_tensor_shape() == [3, 3, 3]
    assert game.channels == ("first", "second", "last move")
    assert category_of(game) == "board/space/line"
    assert recommended_ai(game) == "MAST"
    assert set(game.geometry()) == {"centres", "planes", "sites", "corners", "lines"}


def test_the_string_of_a_game_has_what_was_given_and_gives_it_again(fake: FakeTransport) -> None:
    game = load("ludii(game=Tic-Tac-Toe,options=Line/2,max_length=7)")
    assert str(game) == "ludii(game=Tic-Tac-Toe,max_length=7,options=Line/2)"
    again = load(str(game))
    assert again.max_game_length() == 7
    assert again.rules.options == ("Line/2",)


def test_equal_games_are_compiled_once_and_others_anew(fake: FakeTransport) -> None:
    first, second = load(TIC_TAC_TOE), load(TIC_TAC_TOE)
    assert first.rules is second.rules
    other = load("ludii(game=Tic-Tac-Toe,max_length=5)")
    assert other.rules is not first.rules
    assert first.rules.longest == 1000
    assert fake.loads == 2


def test_a_match_may_be_bounded_and_is_a_draw_then(fake: FakeTransport) -> None:
    game = load("ludii(game=Tic-Tac-Toe,max_length=3)")
    state = after(game, 0, 0, 0)
    assert game.max_game_length() == 3
    assert state.is_terminal()
    assert state.returns() == [0, 0]


def test_length_zero_is_ludiis_own_and_no_bound_goes_beyond_it(fake: FakeTransport) -> None:
    assert load("ludii(game=Tic-Tac-Toe,max_length=0)").max_game_length() == 1250
    assert load("ludii(game=Tic-Tac-Toe,max_length=9999)").max_game_length() == 1250


@pytest.mark.parametrize("name", ["Tic-Tac-Toe", "Twice,max_actions=10"])
def test_what_moves_are_called_is_asked_once_for_a_state_and_its_clones(fake: FakeTransport, name: str) -> None:
    game = load(f"ludii(game={name})")
    state = after(game, 4)
    clones = [state.clone(), copy.deepcopy(state)]
    for each in (state, *clones):
        texts = [each.action_to_string(action) for action in each.legal_actions()]
        assert [each.string_to_action(text) for text in texts] == each.legal_actions()
    assert state.position.crossings == 1
    view = view_of(game)
    assert view is not None
    for each in (state, *clones):
        for action in each.legal_actions():
            view.action_sites(each, action)
    assert state.position.crossings == 2


@pytest.mark.parametrize("shared", [True, False])
def test_what_moves_are_called_is_that_of_the_state_after_a_move(fake: FakeTransport, shared: bool) -> None:
    state = after(load(TIC_TAC_TOE), 4)
    names = [state.action_to_string(action) for action in state.legal_actions()]
    sites = state.move_sites()
    before = state.clone() if shared else None
    state.apply_action(2)
    assert [state.action_to_string(action) for action in state.legal_actions()] == [*names[:2], *names[3:]]
    assert state.move_sites() == [*sites[:2], *sites[3:]]
    assert state.child(0).action_to_string(0) == names[1]
    if before is not None:
        assert [before.action_to_string(action) for action in before.legal_actions()] == names


def test_what_moves_are_called_is_neither_written_nor_changed(fake: FakeTransport) -> None:
    state = after(load(TIC_TAC_TOE), 4)
    untouched = state.serialize()
    state.action_to_string(0)
    state.move_sites().clear()
    assert len(state.move_sites()) == 8
    assert state.serialize() == untouched
    assert pickle.loads(pickle.dumps(state)).action_to_string(7) == state.action_to_string(7)


def test_actions_number_the_legal_moves(fake: FakeTransport) -> None:
    state = after(load(TIC_TAC_TOE), 4)
    assert state.legal_actions() == list(range(8))
    assert state.action_to_string(4) == "C2"
    assert [state.string_to_action(state.action_to_string(a)) for a in state.legal_actions()] == list(range(8))
    assert state.string_to_action(1, "C2") == 4


def test_moves_that_read_alike_are_numbered(fake: FakeTransport) -> None:
    state = load("ludii(game=Twice,max_actions=9)").new_initial_state()
    assert state.action_to_string(1) == "1 #2"
    assert state.string_to_action("1 #2") == 1


def test_a_move_that_nobody_writes_so_is_an_error(fake: FakeTransport) -> None:
    state = load(TIC_TAC_TOE).new_initial_state()
    with pytest.raises(LudiiError, match=r"no legal move is written 'CC3': did you mean 'C3'"):
        state.string_to_action("CC3")


@pytest.mark.parametrize("action", [-1, 9])
def test_an_illegal_action_is_an_error(fake: FakeTransport, action: int) -> None:
    state = load(TIC_TAC_TOE).new_initial_state()
    with pytest.raises((LudiiError, pyspiel.SpielError)):
        state.apply_action(action)
    assert state.history() == []


def test_more_legal_moves_than_declared_actions_name_the_remedy(fake: FakeTransport) -> None:
    state = load("ludii(game=Twice)").new_initial_state()
    with pytest.raises(LudiiError, match=r"9 moves are legal .* more than the 4 actions .* max_actions=18"):
        state.legal_actions()


def test_a_win_is_the_winners(fake: FakeTransport) -> None:
    first = after(load(TIC_TAC_TOE), 0, 2, 0, 2, 0)  # A1 B2 B1 C2 C1
    assert first.is_terminal()
    assert first.current_player() == pyspiel.PlayerId.TERMINAL
    assert first.legal_actions() == []
    assert first.returns() == [1, -1]


def test_players_keep_their_number_when_they_swap(fake: FakeTransport) -> None:
    game = load("ludii(game=Swap)")
    state = after(game, 0)
    assert [state.action_to_string(a) for a in state.legal_actions()][:2] == ["Swap", "B1"]
    state.apply_action(0)
    assert state.current_player() == 0  # who answers now with the second colour
    for action in (2, 0, 2, 0):  # B2 B1 C2 C1: the first colour wins, and player 1 has it
        state.apply_action(action)
    assert state.returns() == [-1, 1]


def test_a_player_may_move_twice_in_a_row(fake: FakeTransport) -> None:
    state = after(load("ludii(game=Twice,max_actions=9)"), 4)
    assert state.current_player() == 0
    state.apply_action(0)
    assert state.current_player() == 1


def test_a_match_that_both_lose_is_a_draw(fake: FakeTransport) -> None:
    game = load("ludii(game=Twice,max_actions=9,max_length=1)")
    state = after(game, 0)
    assert state.position.utilities == (-1, -1)
    assert state.returns() == [0, 0]


def test_a_game_for_three_has_a_number_for_each_by_rank(fake: FakeTransport) -> None:
    game = load("ludii(game=Three,options=Line/2)")
    assert game.num_players() == 3
    assert game.get_type().utility == pyspiel.GameType.Utility.GENERAL_SUM
    assert (game.min_utility(), game.max_utility(), game.utility_sum()) == (-1, 1, None)
    assert (game.observation_tensor_shape(), game.channels[2]) == ([4, 3, 3], "third")
    state = after(game, 0, 2, 2)  # A1, A2, B2
    assert state.returns() == [0, 0, 0]
    assert state.pieces() == (1, 1, 1)
    assert game.measure("pieces")(state) == (1, 1, 1)
    assert [player for _, _, player, _ in state.site_contents()] == [0, 1, 2]
    assert game.piece_types() == [("first", "F", 0), ("second", "s", 1), ("third", "T", 2)]
    assert game.marks() == ("the letter F", "the letter s", "the letter T")
    state.apply_action(0)  # B1: player 0 is first, and is skipped from now on
    assert not state.is_terminal()
    movers = [state.current_player()]
    for action in (0, 0):  # C1, C2
        state.apply_action(action)
        movers.append(state.current_player())
    assert movers == [1, 2, 1]
    assert state.returns() == [0, 0, 0]
    second = state.child(1).child(1).child(0)  # B3, C3, A3: player 1 is second
    assert (second.is_terminal(), second.returns()) == (True, [1, 0, -1])
    shared = state.child(1).child(0).child(0)  # B3, A3, C3: nobody else has a line on the full board
    assert (shared.is_terminal(), shared.returns(), shared.was_cut()) == (True, [1, -0.5, -0.5], False)


def test_a_game_for_three_that_is_cut_ends_with_a_draw_of_those_still_playing(fake: FakeTransport) -> None:
    def ended(length: int, *actions: int) -> Any:
        return after(load(f"ludii(game=Three,options=Line/2,max_length={length})"), *actions)

    cut = ended(4, 0, 2, 2, 0)
    assert (cut.was_cut(), cut.returns()) == (True, [1, -0.5, -0.5])
    decided = ended(4, 0, 2, 2, 1)
    assert (decided.was_cut(), decided.returns()) == (True, [0, 0, 0])


def test_clones_and_children_are_their_own(fake: FakeTransport) -> None:
    state = after(load(TIC_TAC_TOE), 4)
    text = str(state)
    clone, child, copied = state.clone(), state.child(0), copy.deepcopy(state)
    clone.apply_action(3)
    copied.apply_action(1)
    assert (str(state), state.history()) == (text, [4])
    assert (child.history(), clone.history(), copied.history()) == ([4, 0], [4, 3], [4, 1])
    assert len({str(state), str(clone), str(child), str(copied)}) == 4
    state.apply_action(0)
    assert str(state) == str(child)


def test_a_state_alone_is_changed_in_place(fake: FakeTransport) -> None:
    state = after(load(TIC_TAC_TOE), 4)
    position = state.position
    state.apply_action(0)
    assert position.used_up


@pytest.mark.parametrize("read", [pickle.dumps, lambda x: x.serialize()], ids=["pickle", "serialize"])
def test_states_are_written_and_read(fake: FakeTransport, read: Any) -> None:
    game = load(TIC_TAC_TOE)
    state = after(game, 4, 0, 1)
    written = read(state)
    again = pickle.loads(written) if isinstance(written, bytes) else game.deserialize_state(written)
    assert again.history() == [4, 0, 1]
    assert str(again) == str(state)
    again.apply_action(2)
    assert state.history() == [4, 0, 1]


def test_games_are_written_and_read(fake: FakeTransport) -> None:
    game = load("ludii(game=Tic-Tac-Toe,ruleset=long)")
    again = pickle.loads(pickle.dumps(game))
    assert isinstance(again, LudiiGame)
    assert str(again) == str(game)
    game_again, state = pyspiel.deserialize_game_and_state(pyspiel.serialize_game_and_state(game, after(game, 1)))
    assert str(game_again) == str(game)
    assert state.history() == [1]


def test_the_observation_is_ludiis_tensor(fake: FakeTransport) -> None:
    game = load(TIC_TAC_TOE)
    observation = make_observation(game)
    state = after(game, 4, 0)
    observation.set_from(state, 0)
    expected = np.zeros((3, 9), np.float32)
    expected[0, 4] = expected[1, 0] = expected[2, 0] = 1
    np.testing.assert_array_equal(observation.tensor.reshape(3, 9), expected)
    assert observation.tensor.dtype == np.float32
    assert observation.dict["observation"].shape == (3, 3, 3)
    assert state.observation_tensor(1) == observation.tensor.tolist()
    assert observation.string_from(state, 0) == str(state) == state.observation_string(0)


def test_an_observation_takes_no_parameters(fake: FakeTransport) -> None:
    with pytest.raises(LudiiError, match=r"takes no parameters, got {'planes': 3}"):
        make_observation(load(TIC_TAC_TOE), params={"planes": 3})


def test_with_perfect_recall_the_history_is_observed(fake: FakeTransport) -> None:
    game = load(TIC_TAC_TOE)
    state = after(game, 4)
    assert make_observation(game, INFO_STATE_OBS_TYPE).string_from(state, 0) == state.history_str()


def test_the_text_is_complete(fake: FakeTransport) -> None:
    game = load("ludii(game=Swap)")
    swapped, plain = after(game, 0, 0), after(game, 0)
    assert str(after(game, 0)).startswith("...\n...\nX..\nplayer 1 to move, state ")
    assert swapped.position.describe() == plain.position.describe()
    assert str(swapped) != str(plain)
    assert swapped.key() != plain.key()


def test_learners_may_ask_for_scores_and_pieces(fake: FakeTransport) -> None:
    state = after(load(TIC_TAC_TOE), 4)
    assert state.scores() is None
    assert state.pieces() == (1, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "ludii()",
            r"expected the name of a game, as in ludii\(game=Hex\), or the path of a .lud file.*, got neither$",
        ),
        (
            "ludii(game=Twice,file=x.lud)",
            r"or the path of a .lud file.*, got both, 'Twice' and 'x.lud': leave one out$",
        ),
        ("ludii(game=Tic-Tac-Tow)", r"no game called 'Tic-Tac-Tow': did you mean 'Tic-Tac-Toe'"),
        ("ludii(file=/nowhere/x.lud)", r"expected the path of a .lud file, got '/nowhere/x.lud'"),
        ("ludii(game=Dice [Roll])", r"^Dice \(Roll\) is not supported: it has chance of an unsupported kind$"),
        ("ludii(game=Broken)", r"^Broken cannot be loaded: a bracket is missing$"),
        ("ludii(game=Tic-Tac-Toe,max_length=-1)", r"max_length must be .* got -1"),
        ("ludii(game=Tic-Tac-Toe,max_actions=-1)", r"max_actions must be .* got -1"),
    ],
)
def test_what_cannot_be_loaded_says_why_in_a_line(fake: FakeTransport, text: str, message: str) -> None:
    with pytest.raises(LudiiError, match=message) as caught:
        load(text)
    assert "\n" not in str(caught.value)


def test_a_state_is_not_made_of_anything_else(fake: FakeTransport) -> None:
    with pytest.raises(LudiiError, match="made from its history"):
        load(TIC_TAC_TOE).new_initial_state("X")


def test_openspiels_own_test_plays_it(fake: FakeTransport) -> None:
    for text in (TIC_TAC_TOE, "ludii(game=Swap)", "ludii(game=Twice,max_actions=9)", "ludii(game=Three)"):
        pyspiel.random_sim_test(load(text), num_sims=3, serialize=True, verbose=False)


def test_openspiels_search_plays_it(fake: FakeTransport) -> None:
    game = load(TIC_TAC_TOE)
    evaluator = pyspiel.RandomRolloutEvaluator(1, 3)
    bots = [pyspiel.MCTSBot(game, evaluator, 2.0, 300, 10, True, seed, False) for seed in (5, 6)]
    state = after(game, 0, 7, 0)  # A1, C3, B1: C1 must be taken
    # `MCTSBot.step` of OpenSpiel 2.0.2 crashes on any game written in Python; this is the same step, and does not.
    assert state.action_to_string(bots[1].step_with_policy(state)[1]) == "C1"
    assert sum(pyspiel.evaluate_bots(game.new_initial_state(), bots, 3)) == 0


def test_it_can_be_played_to_the_end_at_random(fake: FakeTransport) -> None:
    rng = random.Random(4)
    state = load(TIC_TAC_TOE).new_initial_state()
    while not state.is_terminal():
        state.apply_action(rng.choice(state.legal_actions()))
    assert sum(state.returns()) == 0


def test_the_transport_is_one_for_the_process(fake: FakeTransport) -> None:
    assert connection.connect() is fake
