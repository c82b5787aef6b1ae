"""The bridge against Ludii itself: these need Java and Ludii's jar, and are skipped without them."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from clocks import HANG_SECONDS, Clock
from open_spiel.python.observation import make_observation

from athenan_spiel.drawing.views import view_of
from ludii_bridge import LudiiError, connect
from ludii_bridge import operations as operations_module
from ludii_bridge.details import details
from ludii_bridge.position import JavaPosition

pytestmark = pytest.mark.usefixtures("ludii")

SOME = ["Tic-Tac-Toe", "Breakthrough", "Surakarta", "Amazons", "Havannah", "Reversi", "Ataxx", "Hex"]
MORE_PLAYERS = ["Tic-Tac-Mo", "Three-Player Hex", "Yavalade", "Rolit", "Tic-Tac-Four", "Chatrang"]
"""Three or four players; in Chatrang two teams."""


def load(name: str, **parameters: Any) -> Any:
    return pyspiel.load_game("ludii", {"game": name, **parameters})


def java(name: str) -> Any:
    import jpype

    return jpype.JClass(name)


def perft(state: Any, depth: int) -> list[int]:
    """How many histories of each length from 1 to `depth` there are."""
    level, counts = [state], []
    for _ in range(depth):
        level = [parent.child(action) for parent in level for action in parent.legal_actions()]
        counts.append(len(level))
    return counts


@pytest.mark.parametrize(
    ("name", "options", "native", "depth"),
    [
        ("Tic-Tac-Toe", "", "tic_tac_toe", 5),
        ("Breakthrough", "", "breakthrough", 3),
        ("Breakthrough", "Board Size/6x6", "breakthrough(rows=6,columns=6)", 3),
        ("Connect Four", "", "connect_four", 5),
        ("Hex", "Board Size/5x5;Swap Rules/Off", "hex(board_size=5)", 3),
        ("Clobber", "Rows/5;Columns/6", "clobber(rows=5,columns=6)", 3),
        ("Lines of Action", "", "lines_of_action", 2),
        ("Y", "Board Size/10", "y(board_size=10)", 2),
        ("Havannah", "Board Size/4x4;Swap Rules/Off", "havannah(board_size=4)", 3),
        ("Reversi", "", "othello", 5),
    ],
)
def test_histories_are_as_many_as_in_openspiels_own_rules(name: str, options: str, native: str, depth: int) -> None:
    game = load(name, options=options) if options else load(name)
    expected = perft(pyspiel.load_game(native).new_initial_state(), depth)
    assert perft(game.new_initial_state(), depth) == expected


@pytest.mark.parametrize("name", [*SOME, *MORE_PLAYERS])
def test_random_matches_are_as_ludii_plays_them(name: str) -> None:
    """The same moves through Ludii's own objects: equal legal moves and pieces at each ply, and an equal end."""
    game = load(name)
    ludii = game.rules.game
    context = java("other.context.Context")(ludii, java("other.trial.Trial")(ludii))
    ludii.start(context)
    state = game.new_initial_state()
    rng = random.Random(7)
    for _ in range(400):
        if state.is_terminal():
            break
        moves = sorted(str(move.toTrialFormat(None)) for move in ludii.moves(context).moves())
        mine = [str(move.toTrialFormat(None)) for move in state.position._legal()]
        assert sorted(mine) == moves
        assert state.current_player() == context.state().playerToAgent(context.state().mover()) - 1
        action = rng.choice(state.legal_actions())
        theirs = next(x for x in ludii.moves(context).moves() if str(x.toTrialFormat(None)) == mine[action])
        ludii.apply(context, theirs)
        state.apply_action(action)
        assert state.is_terminal() == bool(context.trial().over())
        assert int(context.state().fullHash()) == int(state.position._context.state().fullHash())
        owned = context.state().owned()
        sides = [int(context.state().playerToAgent(player + 1)) for player in range(game.num_players())]
        counts = {agent - 1: sum(map(len, owned.positions(side))) for side, agent in enumerate(sides, 1)}
        assert state.pieces() == tuple(counts[player] for player in range(game.num_players()))
    if state.is_terminal() and game.num_players() > 2:
        ranks = [float(rank) for rank in context.trial().ranking()[1:]]
        assert state.returns() == pytest.approx([1 - 2 * (rank - 1) / (len(ranks) - 1) for rank in ranks])
    elif state.is_terminal():
        winner = context.trial().status().winner()
        assert state.returns() == {0: [0, 0], 1: [1, -1], 2: [-1, 1]}[int(winner)]


@pytest.mark.parametrize("threads", [False, True])
@pytest.mark.parametrize("rows", [1024, 5])
@pytest.mark.parametrize("name", [*SOME, *MORE_PLAYERS])
def test_children_made_together_are_those_made_alone(
    name: str, rows: int, threads: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = load(name)
    monkeypatch.setattr(game.rules.operations, "rows", rows)
    monkeypatch.setattr(game.rules.operations, "_seconds", 1.0 if threads else 0.0)
    observation = make_observation(game)
    state = game.new_initial_state()
    rng = random.Random(5)
    for _ in range(4):
        together = state.children(state.legal_actions())
        tensors = np.empty((len(together), observation.tensor.size), np.float32)
        together.observe(tensors)
        for action, child in [*enumerate(together)][:: max(len(together) // 8, 1)]:
            alone = game.new_initial_state()
            for past in [*state.history(), action]:
                alone.apply_action(past)
            assert str(child) == str(alone)
            assert child.legal_actions() == alone.legal_actions()
            assert child.key() == alone.key()
            assert together.players[action] == alone.current_player()
            for one in (child, alone):
                observation.set_from(one, 0)
                np.testing.assert_array_equal(tensors[action], observation.tensor)
        state.apply_action(rng.choice(state.legal_actions()))
        if state.is_terminal():
            break


@pytest.mark.parametrize(
    ("equipment", "start", "message"),
    [
        ('(piece "Disc" P7)', "", r"Own is not supported: its piece 'Disc7' is of player 7, of 2"),
        ("", '(start (place Stack items:{"Disc1" "Disc9"} 3))', r"own cannot be loaded: .*component Disc9 is expected"),
    ],
)
def test_what_is_wrong_in_a_description_is_said_as_ludii_first_said_it(
    equipment: str, start: str, message: str, tmp_path: Path
) -> None:
    """Ludii's compiler keeps the second one to itself, but for standard error."""
    file = tmp_path / "own.lud"
    file.write_text(
        f'(game "Own" (players 2) (equipment {{ (board (square 3)) (piece "Disc" Each) {equipment} }}) (rules {start} '
        "(play (move Add (to (sites Empty)))) (end (if (is Line 3) (result Mover Win)))))",
        encoding="utf-8",
    )
    with pytest.raises(LudiiError, match=message):
        pyspiel.load_game("ludii", {"file": str(file)})


def test_a_games_details_are_ludiis_own() -> None:
    found = details("lines of action", clock=Clock(step=0.01).perf_counter)
    assert found.menu is not None
    assert found.menu.defaults == {"End rules": "Simultaneous Group = Draw"}
    assert (found.reasons, found.traits is not None and found.traits.shape) == ((), (9, 8, 8))
    assert found.measured is not None
    assert found.measured.most_moves >= 36
    boxes = details("Dots and Boxes", clock=Clock(step=1.0).perf_counter)
    assert boxes.traits is not None
    assert boxes.traits.scored


def test_more_children_than_there_is_room_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    state = load("Tic-Tac-Toe").new_initial_state()
    operations = state.get_game().rules.operations
    monkeypatch.setattr(operations, "_facts", operations._facts[:5])
    with pytest.raises(LudiiError, match="9 children at once are too many, at most 5 are possible"):
        state.children(state.legal_actions())


def test_threads_are_given_up_again_where_they_do_not_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Java is slow at first, and then a few children of a small state are made sooner by one thread."""
    monkeypatch.setattr(operations_module, "time", Clock(step=1e-4))  # for nine children
    state = load("Tic-Tac-Toe").new_initial_state()
    operations = state.get_game().rules.operations
    monkeypatch.setattr(operations, "_seconds", 1.0)
    for _ in range(1000):
        state.children(state.legal_actions())
    assert 9 * operations._seconds < 1e-3


@pytest.mark.parametrize("name", ["Altan Xaraacaj", "Agilidade", "Baghchal"])
def test_a_game_that_ludiis_tensor_does_not_suit_has_one_of_its_own(name: str) -> None:
    """Vertices beside hands, stacks on vertices: what stands is seen."""
    game = load(name, max_length=30)
    assert game.channels[-1] == "the place exists"
    observation = make_observation(game)
    state = game.new_initial_state()
    seen = {str(state.position.describe()): observation.tensor.tobytes()}
    rng = random.Random(3)
    while not state.is_terminal():
        state.apply_action(rng.choice(state.legal_actions()))
        observation.set_from(state, 0)
        planes = observation.dict["observation"]
        assert planes.shape == tuple(game.observation_tensor_shape())
        kinds = len(game.rules.components)
        assert (planes[:kinds].sum(axis=0) <= planes[-1]).all()
        assert planes[:kinds].sum() == len(state.position._stacks())
        assert planes[game.channels.index("player 0 to move") + state.position.mover].all()
        seen[state.position.describe()] = observation.tensor.tobytes()
    assert len(set(seen.values())) > len(seen) // 2


def test_pieces_in_hand_are_counted() -> None:
    game = load("Baghchal")
    state = game.new_initial_state()
    assert sorted(state.pieces()) == [4, 20]


def test_the_tensor_is_ludiis_own() -> None:
    game = load("Surakarta")
    state = game.new_initial_state()
    rng = random.Random(2)
    for _ in range(9):
        state.apply_action(rng.choice(state.legal_actions()))
    wrapper = java("utils.LudiiStateWrapper")(game.rules.wrapper, state.position._context)
    expected = np.array(wrapper.toTensor(), np.float32)
    observation = make_observation(game)
    observation.set_from(state, 0)
    assert list(expected.shape) == game.observation_tensor_shape()
    np.testing.assert_array_equal(observation.dict["observation"], expected)


def test_equal_states_number_their_moves_alike_however_they_came_about() -> None:
    """Two pawns moved in either order: Ludii lists the moves in other orders, the bridge does not."""
    game = load("Breakthrough")

    def after(*moves: str) -> Any:
        state = game.new_initial_state()
        for move in moves:
            state.apply_action(state.string_to_action(move))
        return state

    one = after("A2-A3", "A7-A6", "C2-C3", "H7-H6")
    other = after("C2-C3", "H7-H6", "A2-A3", "A7-A6")
    assert [one.action_to_string(a) for a in one.legal_actions()] == [
        other.action_to_string(a) for a in other.legal_actions()
    ]
    assert one.position.describe() == other.position.describe()


@pytest.mark.parametrize(("name", "least"), [("Fanorona", 3), ("Luuth", 10), ("Bay Khom", 10)])
def test_moves_between_the_same_sites_tell_what_each_does(name: str, least: int) -> None:
    game, rng, told = load(name, max_length=40), random.Random(2), 0
    state = game.new_initial_state()
    while not state.is_terminal():
        actions = state.legal_actions()
        texts = [state.action_to_string(action) for action in actions]
        assert not any("#" in text for text in texts)
        told += sum("," in text for text in texts)
        state.apply_action(rng.choice(actions))
    assert told >= least


def test_only_moves_that_do_the_same_are_numbered() -> None:
    game, rng, alike = load("Pentago", max_length=40), random.Random(2), 0
    state = game.new_initial_state()
    while not state.is_terminal():
        actions = state.legal_actions()
        for action in actions:
            text = state.action_to_string(action)
            if text.endswith(" #2"):  # a turn of a quarter that looks the same either way
                other = state.string_to_action(text.replace("#2", "#1"))
                assert state.child(action).key() == state.child(other).key()
                alike += 1
        state.apply_action(rng.choice(actions))
    assert alike > 3


@pytest.mark.parametrize(
    ("name", "options", "seed"), [("Go", "Board Size/9x9", 1), ("Reversi", "", 1), ("Um el-Bil", "", 2)]
)
def test_looking_for_legal_moves_changes_nothing(name: str, options: str, seed: int) -> None:
    """Ludii's own look for them changes its state: who is without a move, and what trying moves leaves behind."""
    game, rng, changed_by_ludii = load(name, options=options, max_length=140), random.Random(seed), 0
    state, again = game.new_initial_state(), game.new_initial_state()
    while not state.is_terminal():
        before = state.key(), str(state), game.transposition_text(state)
        context = state.position.context
        of_ludii = context.state().fullHash(context)
        actions = state.legal_actions()
        children = state.children(actions)
        assert context.state().fullHash(context) == of_ludii
        assert (state.key(), str(state), game.transposition_text(state)) == before
        trial = game.rules.operations.copy(context)
        game.rules.game.moves(trial)
        changed_by_ludii += trial.state().fullHash(trial) != of_ludii
        action = rng.choice(actions)
        made = [children[action], state.child(action), state.clone()]
        made[2].apply_action(action)
        state.apply_action(action)
        again.apply_action(action)
        keys = {(x.key(), str(x), x.is_terminal(), tuple(x.returns())) for x in (*made, state)}
        assert keys == {(again.key(), str(again), again.is_terminal(), tuple(again.returns()))}
    assert changed_by_ludii


def test_a_swap_of_sides_is_an_action_and_players_keep_their_number() -> None:
    state = load("Hex", options="Board Size/3x3").new_initial_state()
    state.apply_action(4)
    assert len(state.legal_actions()) == 9
    for move in ("Swap", "A1", "A2", "C3", "C2"):
        player = state.current_player()
        words = [state.action_to_string(action) for action in state.legal_actions()]
        state.apply_action(next(i for i, word in enumerate(words) if word.startswith(move)))
        assert player == (1 if move in ("Swap", "A2", "C2") else 0)
    # The first stone, B2, has been player 1's since the swap, and links A2 to C2 now.
    assert state.returns() == [-1, 1]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Bul", "it is a match of several games"),
        ("Aime", "it hides information"),
        ("Shing Quon Tu", "its dice have too many outcomes"),
        ("Sudoku", "it is a puzzle of deduction"),
    ],
)
def test_unfit_games_are_refused_with_the_reason(name: str, reason: str) -> None:
    with pytest.raises(LudiiError, match=f"is not supported: {reason}"):
        load(name)


def test_a_description_with_an_error_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "Mine.lud"
    file.write_text('(game "Mine" (players 2) (equipment {(board (sqare 3))}))', encoding="utf-8")
    with pytest.raises(LudiiError, match="Mine cannot be loaded") as caught:
        pyspiel.load_game("ludii", {"file": str(file)})
    assert "\n" not in str(caught.value)
    load("Tic-Tac-Toe")


def test_a_board_without_sites_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "Mine.lud"
    file.write_text(
        '(game "Mine" (players 2) (equipment {(board (square 0)) (piece "Disc" P1) (piece "Cross" P2)}) '
        "(rules (play (move Add (to (sites Empty)))) (end (if (is Line 3) (result Mover Win)))))"
    )
    with pytest.raises(LudiiError, match=r"^Mine cannot be played: its board has no cell$"):
        pyspiel.load_game("ludii", {"file": str(file)})


def test_a_description_of_ones_own_is_played(tmp_path: Path) -> None:
    file = tmp_path / "Mine.lud"
    file.write_text(
        '(game "Mine" (players 2) (equipment {(board (square 2)) (piece "Disc" Each)})'
        " (rules (play (move Add (to (sites Empty)))) (end (if (is Line 2) (result Mover Win)))))",
        encoding="utf-8",
    )
    game = pyspiel.load_game("ludii", {"file": str(file)})
    assert perft(game.new_initial_state(), 3) == [4, 12, 24]


def test_openspiels_own_test_plays_ludiis_games() -> None:
    for name in ("Tic-Tac-Toe", "Surakarta", "Reversi"):
        pyspiel.random_sim_test(load(name, max_length=40), num_sims=1, serialize=True, verbose=False)


def test_openspiels_search_plays_whole_matches() -> None:
    game = load("Tic-Tac-Toe")
    evaluator = pyspiel.RandomRolloutEvaluator(1, 3)
    bots = [pyspiel.MCTSBot(game, evaluator, 2.0, 50, 10, True, seed, False) for seed in (5, 6)]
    assert sum(pyspiel.evaluate_bots(game.new_initial_state(), bots, 3)) == 0


def test_scores_pieces_and_places_are_the_boards() -> None:
    game = load("Surakarta")
    state = game.new_initial_state()
    assert state.pieces() == (12, 12)
    assert state.scores() == (0, 0)
    assert load("Hex").new_initial_state().scores() is None
    geometry = game.geometry()
    assert geometry["centres"].shape == geometry["planes"].shape == (36, 2)
    assert len(geometry["lines"]) == 2 * 5 * 6 + 8 * 24, "the lines between points, and eight loops"
    assert len({tuple(place) for place in geometry["planes"]}) == 36


OTHER_PROCESS = """
import pickle, sys
state = pickle.loads(sys.stdin.buffer.read())
print(state)
"""


def test_another_process_reads_what_this_one_wrote() -> None:
    state = load("Surakarta").new_initial_state()
    for action in (3, 5, 2):
        state.apply_action(action)
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", OTHER_PROCESS], input=pickle.dumps(state), capture_output=True, cwd=root, check=True
    )
    assert done.stdout.decode().strip() == str(state)


def test_a_process_forked_off_is_told_to_spawn_whatever_it_does_with_a_loaded_game() -> None:
    script = """
import os, pyspiel, ludii_bridge
state = pyspiel.load_game("ludii(game=Tic-Tac-Toe)").new_initial_state()
actions = state.legal_actions()
child = os.fork()
if child == 0:
    for use in (lambda: state.child(0), lambda: state.children(actions), state.observation_tensor, lambda: str(state)):
        try:
            use()
        except ludii_bridge.LudiiError as error:
            print("told" if "spawn" in str(error) else error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=HANG_SECONDS
    )
    assert done.stdout.split() == ["told"] * 4


def test_ludii_says_its_version() -> None:
    assert connect().version.startswith("1.3.")


@pytest.mark.parametrize("name", ["Scaffold", "Go"])
def test_what_the_moves_of_a_state_are_called_is_asked_of_java_once(
    ludii: None, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    asked = []
    for method in ("describe_moves", "move_sites"):
        true = getattr(JavaPosition, method)
        monkeypatch.setattr(JavaPosition, method, lambda self, true=true: (asked.append(true), true(self))[1])
    game = pyspiel.load_game("ludii", {"game": name})
    state = game.new_initial_state()
    state.apply_action(0)
    view = view_of(game)
    assert view is not None
    texts = [state.action_to_string(action) for action in state.legal_actions()]
    assert len(set(texts)) == len(texts) >= 100
    assert [state.string_to_action(text) for text in texts] == state.legal_actions()
    assert sum(len(view.action_sites(state, action)) for action in state.legal_actions()) >= 100
    assert len(asked) == 2
