"""Games with chance: their laws, and the same games in Ludii itself with the same draws.

The tests with the fixture `ludii` need Java and Ludii's jar, and are skipped without them.
"""

from __future__ import annotations

import itertools
import math
import pickle
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from scipy import stats
from training_runs import TINY

import athenan_spiel as ath
from athenan_spiel.drawing.views import view_of
from athenan_spiel.encoding.encoder import Encoder
from athenan_spiel.games.chance import draw_outcome, is_chance, roll
from athenan_spiel.games.laws import check_match
from ludii_bridge import LudiiError, connect, generator
from ludii_bridge.details import details
from ludii_bridge.dice import HIDDEN, ChanceOutcome, Dice
from ludii_bridge.state import LudiiState

GAMES = {
    "EinStein Wurfelt Nicht": 6,  # one die, after both players have placed their stones
    "Royal Game of Ur": 5,  # four sticks
    "Backgammon": 21,  # two dice
    "20 Squares": 8,  # a die and a stick, whose sides are read one by one
    "Kints": 16,  # sticks with different faces
    "Tic-Tac-Die": 9,  # a pass rolls again
    "Dice Shogi": 6,  # rolls in the test of whether a player can move
    "Len Doat": 6,  # rolls in conditions
    "Main Pacheh": 5,  # four players
    "Petol": 12,  # six players in two teams
    "Uturu Uturu Kaida": 3,  # seven players
}
"""Number of outcomes of a roll."""
OTHERS = ["Quantum Leap", "Mini Wars", "Fischer Random Chess"]
"""Games with random positions and effects."""
DICE_ACTIONS = ("SetStateAndUpdateDice", "SetDiceAllEqual", "UseDie")
SECONDS = 2.0


def load(name: str, **parameters: Any) -> Any:
    return pyspiel.load_game("ludii", {"game": name, **parameters})


def walk(game: Any, rng: random.Random, length: int) -> Iterator[Any]:
    """States of random games."""
    state = game.new_initial_state()
    for _ in range(length):
        yield state
        state = step(state, rng) if not state.is_terminal() else game.new_initial_state()


def step(state: Any, rng: random.Random) -> Any:
    return state.child(draw_outcome(state, rng.random()) if is_chance(state) else rng.choice(state.legal_actions()))


def counts(dice: Dice, shown: Sequence[Sequence[int]]) -> list[list[float]]:
    out = np.empty((len(shown), len(dice.channels), 1), np.float32)
    dice.write(np.array(shown, np.int32), out)
    return out[:, :, 0].tolist()


# Dice alone


def test_equal_dice_roll_in_any_order() -> None:
    dice = Dice([[[1, 2, 3, 4, 5, 6]] * 2], ordered=False)
    assert len(dice.outcomes) == 21
    assert dice.outcomes[1] == ChanceOutcome((0, 1), pytest.approx(1 / 18), "roll 1-2", (1, 2))
    assert dice.outcomes[0].probability == pytest.approx(1 / 36)


def test_dice_that_the_rules_name_roll_in_order() -> None:
    dice = Dice([[[1, 2, 3, 4, 5, 6]] * 2], ordered=True)
    assert len(dice.outcomes) == 36
    assert {outcome.probability for outcome in dice.outcomes} == {1 / 36}
    assert dice.channels[6] == "dice 2 showing 1"


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(
    "faces",
    [
        [[[0, 1]] * 7],
        [[[1, 1, 2, 5]] * 3],
        [[[0, 4], [0, 6], [0, 4], [0, 6]]],
        [[[1, 2, 3, 4], [0, 1]], [[1, 2, 3]] * 2],
    ],
)
def test_probabilities_are_those_of_equally_likely_sides(faces: Any, ordered: bool) -> None:
    dice = Dice(faces, ordered=ordered)
    ways: Counter[tuple[int, ...]] = Counter()
    for sides in itertools.product(*dice.faces):
        shown = list(sides)
        for group in dice.groups:
            for die, face in zip(group, sorted(sides[die] for die in group), strict=True):
                shown[die] = face
        ways[tuple(shown)] += 1
    total = math.prod(map(len, dice.faces))
    assert {outcome.faces: outcome.probability for outcome in dice.outcomes} == pytest.approx(
        {shown: count / total for shown, count in ways.items()}
    )
    for outcome in dice.outcomes:
        assert tuple(sides[draw] for sides, draw in zip(dice.faces, outcome.draws, strict=True)) == outcome.faces


def test_channels_count_unused_dice() -> None:
    dice = Dice([[[1, 2, 3]] * 2], ordered=False)
    assert dice.channels == ("dice showing 1", "dice showing 2", "dice showing 3")
    assert counts(dice, [[2, 2], [0, 3], [HIDDEN, HIDDEN]]) == [[0, 2, 0], [0, 0, 1], [0, 0, 0]]


def test_the_class_file_is_of_a_version_without_stack_maps() -> None:
    assert generator.class_file()[:8] == bytes.fromhex("cafebabe00000031")


# Ludii's games


@pytest.mark.usefixtures("ludii")
@pytest.mark.parametrize("name", [*GAMES, *OTHERS])
def test_games_with_chance_obey_the_laws(name: str) -> None:
    game, start = load(name), time.monotonic()
    assert game.get_type().chance_mode == pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC
    check_match(game, random.Random(1), lambda: 1 - (time.monotonic() - start) / SECONDS)


@pytest.mark.usefixtures("ludii")
@pytest.mark.parametrize(("name", "count"), GAMES.items())
def test_a_roll_is_a_chance_state(name: str, count: int) -> None:
    rng, chances = random.Random(2), 0
    for state in walk(load(name), rng, 150):
        if not state.is_chance_node():
            assert state.is_terminal() or len(state.dice()) == len(state.get_game().rules.dice)
            continue
        chances += 1
        outcomes, probabilities = zip(*state.chance_outcomes(), strict=True)
        assert list(outcomes) == list(range(count)) == state.legal_actions()
        assert sum(probabilities) == pytest.approx(1)
        assert all(state.action_to_string(outcome).startswith("roll ") for outcome in outcomes)
        assert state.dice() == ()
        assert "dice to be rolled" in str(state)
    assert chances > 10


@pytest.mark.usefixtures("ludii")
@pytest.mark.parametrize("name", GAMES)
def test_serialised_states_have_the_same_dice(name: str) -> None:
    game, rng = load(name), random.Random(3)
    states = list(walk(game, rng, 80))
    for state in rng.sample(states, 12):
        for other in (game.deserialize_state(state.serialize()), pickle.loads(pickle.dumps(state)), state.clone()):
            assert (other.dice(), other.key(), str(other)) == (state.dice(), state.key(), str(state))


@pytest.mark.usefixtures("ludii")
@pytest.mark.parametrize("name", ["Royal Game of Ur", "20 Squares", "Kints", "Len Doat", "Dice Shogi"])
def test_children_created_together_are_encoded_as_those_created_one_by_one(name: str) -> None:
    game = load(name)
    encoder = Encoder(game)
    for state in walk(game, random.Random(4), 60):
        if state.is_terminal():
            continue
        together = state.children(state.legal_actions())
        alone = [state.child(action) for action in state.legal_actions()]
        assert list(together.players) == [child.current_player() for child in alone]
        assert [child.key() for child in together] == [child.key() for child in alone]
        out = np.empty((len(alone), *encoder.shape), np.float32)
        encoder.encode(together, out)
        going = [i for i, child in enumerate(alone) if not child.is_terminal()]
        np.testing.assert_array_equal(out[going], encoder.encode(alone)[going])


@pytest.mark.usefixtures("ludii")
def test_the_observation_and_the_key_contain_the_dice() -> None:
    game = load("Royal Game of Ur")
    start = game.new_initial_state()
    after = [start.child(outcome) for outcome in start.legal_actions()]
    assert len({state.key() for state in [start, *after]}) == 6
    planes = [np.array(state.observation_tensor(0)).reshape(game.observation_tensor_shape()) for state in after]
    assert game.channels[-2:] == ("dice showing 0", "dice showing 1")
    assert [shown[-1].max() for shown in planes] == [shown[-1].min() for shown in planes] == [0, 1, 2, 3, 4]
    assert not np.array(start.observation_tensor(0)).reshape(game.observation_tensor_shape())[-2:].any()


@pytest.mark.usefixtures("ludii")
def test_a_used_die_is_in_the_key_and_the_observation() -> None:
    game, rng = load("Backgammon"), random.Random(5)
    state = game.new_initial_state()
    roll(state, rng.random)
    while len(set(state.dice())) == 1:
        state = game.new_initial_state()
        roll(state, rng.random)
    later = state.child(0)
    assert 0 in later.dice()
    assert set(later.dice()) - {0} < set(state.dice())
    assert later.observation_tensor(0)[-6 * 26 :] != state.observation_tensor(0)[-6 * 26 :]


@pytest.mark.usefixtures("ludii")
@pytest.mark.parametrize("name", ["Royal Game of Ur", "Kints", "Backgammon", "20 Squares"])
def test_probabilities_are_the_frequencies_of_ludiis_own_rolls(name: str) -> None:
    """A chi-square test of the first roll, with a fixed seed of Ludii's generator."""
    import jpype

    rules = load(name).rules
    dice, source = rules.dice, generator.install(jpype)
    context = new_context(rules.game)
    seed = jpype.JClass("org.apache.commons.rng.core.source64.SplitMix64")(jpype.JClass("java.lang.Long")(7))
    found: Counter[tuple[int, ...]] = Counter()
    for _ in range(3000):
        context.rng().restoreState(seed.saveState())
        seed.nextLong()
        with source.follow(None):
            rules.game.start(context)
        actions = list(context.trial().cachedLegalMoves().moves().get(0).actions())[: len(dice)]
        found[sorted_faces(dice, [int(action.state()) for action in actions])] += 1
    expected = [3000 * outcome.probability for outcome in dice.outcomes]
    assert stats.chisquare([found[outcome.faces] for outcome in dice.outcomes], expected).pvalue > 1e-3


def new_context(game: Any) -> Any:
    import jpype

    return jpype.JClass("other.context.Context")(game, jpype.JClass("other.trial.Trial")(game))


def sorted_faces(dice: Dice, draws: Sequence[int]) -> tuple[int, ...]:
    """The faces of the outcome that these draws belong to."""
    faces = [sides[draw] for sides, draw in zip(dice.faces, draws, strict=True)]
    for group in dice.groups:
        for die, face in zip(group, sorted(faces[die] for die in group), strict=True):
            faces[die] = face
    return tuple(faces)


class InLudii:
    """A game in Ludii's own context, with draws that are known."""

    def __init__(self, name: str, rng: random.Random) -> None:
        import jpype

        transport: Any = connect()
        self.game = transport._compile(transport.catalogue.find(name), ())
        self.game.setMaxMoveLimit(1000)
        self._source = generator.install(jpype)
        self._rng = rng
        context = jpype.JClass("other.context.Context")
        self.context = context(new_context(self.game))  # a copy draws from the generator of all copies
        self.draws = self._drawing(lambda: self.game.start(self.context))

    def _drawing(self, call: Callable[[], object]) -> list[int]:
        """The numbers that a call draws, before their reduction to their range."""
        script = self._source.script([self._rng.randrange(2**31) for _ in range(500)])
        with self._source.follow(script):
            call()
        return [int(draw) for draw in script[generator.HEADER : script[generator.CURSOR]]]

    def moves(self) -> list[Any]:
        return list(self.context.trial().cachedLegalMoves().moves())

    def apply(self, move: Any) -> None:
        self.draws = self._drawing(lambda: self.game.apply(self.context, move))


def words(move: Any, faces: Sequence[int]) -> tuple[Any, ...]:
    """A move with the faces of the dice that it uses, whose order may differ."""
    texts = [str(action.toTrialFormat(None)) for action in move.actions()]
    used = [faces[int(action.indexDie())] for action in move.actions() if str(action.getDescription()) == "UseDie"]
    return int(move.from_()), int(move.to()), *(text for text in texts if not text[1:].startswith(DICE_ACTIONS)), *used


def faces_in(dice: Dice, context: Any) -> list[int]:
    """The faces after the roll of the legal moves, or else those of the state."""
    actions = list(context.trial().cachedLegalMoves().moves().get(0).actions())[: len(dice)]
    if [str(action.getDescription()) for action in actions] == ["SetStateAndUpdateDice"] * len(dice):
        return [sides[int(action.state())] for sides, action in zip(dice.faces, actions, strict=True)]
    return [int(face) for face in context.state().currentDice(0)]


def outlook(rules: Any, context: Any) -> tuple[object, ...]:
    """The pieces, the ranks of the players, the mover, the end and the legal moves."""
    sites = {field: found.tolist() for field, found in rules.sites(context).items()}
    ranks = [float(rank) for rank in context.trial().ranking()]
    if bool(context.trial().over()):
        return sites, ranks
    faces = faces_in(rules.dice, context)
    legal = Counter(words(move, faces) for move in context.trial().cachedLegalMoves().moves())
    active = [bool(context.active(player)) for player in range(1, len(ranks))]
    return sites, ranks, active, int(context.state().mover()), int(context.state().counter()), legal


def after_draws(state: LudiiState, draws: Sequence[int]) -> LudiiState | None:
    """The state after these rolls, or None if they are too few or too many."""
    dice, left = state.get_game().rules.dice, list(draws)
    while state.is_chance_node():
        if not left:
            return None
        faces = sorted_faces(dice, [left.pop(0) % len(sides) for sides in dice.faces])
        position: Any = state.position
        state = state.child([outcome.faces for outcome in position.outcomes].index(faces))
    return None if left else state


@pytest.mark.usefixtures("ludii")
@pytest.mark.parametrize("name", GAMES)
def test_games_are_those_of_ludii_with_the_same_draws(name: str) -> None:
    """Ludii rolls its dice; the bridge gets these outcomes. Both have the same moves, pieces, turns and results.

    A pass in Ludii may first roll without effect, to test whether the player is stalemated. The bridge doesn't.
    """
    rng = random.Random(6)
    theirs, mine = InLudii(name, rng), load(name)
    rules = mine.rules
    state = after_draws(mine.new_initial_state(), theirs.draws)
    for _ in range(80 if mine.num_players() == 2 else 500):
        assert state is not None
        assert outlook(rules, state.position.context) == outlook(rules, theirs.context)  # type: ignore[attr-defined]
        if state.is_terminal():
            assert list(rules.utilities(state.position.context)) == list(rules.utilities(theirs.context))  # type: ignore[attr-defined]
            ranks = [float(rank) for rank in theirs.context.trial().ranking()[1:]]
            last = len(ranks)
            assert last == 2 or state.returns() == pytest.approx([1 - 2 * (rank - 1) / (last - 1) for rank in ranks])
            return
        move = rng.choice(theirs.moves())
        chosen = words(move, faces_in(rules.dice, theirs.context))
        same = [i for i, other in enumerate(state.position._legal()) if words(other, state.dice()) == chosen]  # type: ignore[attr-defined]
        theirs.apply(move)
        starts = range(0, len(theirs.draws) + 1, len(rules.dice)) if move.isPass() else (0,)
        found = [after_draws(state.child(action), theirs.draws[start:]) for action in same for start in starts]
        seen = outlook(rules, theirs.context)
        equal = [other for other in found if other and outlook(rules, other.position.context) == seen]  # type: ignore[attr-defined]
        assert equal, f"no state equals Ludii's after {state.history()} and {chosen}"
        state = equal[0]


@pytest.mark.usefixtures("ludii")
def test_a_tiny_ending_has_the_expectation_of_its_dice() -> None:
    """Tic-Tac-Die: a player takes the square that the die shows, or rolls again, so any empty square is as likely."""
    start = load("Tic-Tac-Die").new_initial_state()

    def play(state: Any, square: int) -> Any:
        state = state.child(square)
        return state.child(0)

    for square in (0, 3, 1, 4, 6):  # player 0 has 0, 1 and 6; player 1, to move, has 3 and 4
        start = play(start, square)

    def value(state: Any, empty: frozenset[int]) -> float:
        """By the rolls of empty squares; another roll is followed by a pass and the same player's roll."""
        if state.is_terminal():
            return float(state.returns()[0])
        assert state.is_chance_node()
        taken = next(iter(set(range(9)) - empty))
        again = state.child(taken)
        assert [again.action_to_string(action) for action in again.legal_actions()] == ["Pass"]
        assert again.child(0).is_chance_node()
        return sum(value(play(state, square), empty - {square}) for square in empty) / len(empty)

    lines = [{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}]

    def expected(mine: frozenset[int], yours: frozenset[int], sign: int) -> float:
        """The value for player 0, where the squares are those of the player to move and of the other."""
        if any(line <= yours for line in lines):
            return -sign
        empty = frozenset(range(9)) - mine - yours
        if not empty:
            return 0.0
        return sum(expected(yours, mine | {square}, -sign) for square in empty) / len(empty)

    found = value(start, frozenset({2, 5, 7, 8}))
    assert found == pytest.approx(expected(frozenset({3, 4}), frozenset({0, 1, 6}), -1))
    assert abs(found) < 1


@pytest.mark.usefixtures("ludii")
def test_other_random_numbers_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "Mine.lud"
    file.write_text(
        '(game "Mine" (players 2) (equipment {(board (square 3)) (piece "Disc" P1) (piece "Cross" P2)}) '
        "(rules (play (random {1 2} {(move Add (to (sites Empty))) (move Add (to (centrePoint)))})) "
        "(end (if (is Line 3) (result Mover Win)))))",
        encoding="utf-8",
    )
    with pytest.raises(LudiiError, match="is not supported: it has chance of an unsupported kind"):
        pyspiel.load_game("ludii", {"file": str(file)})


@pytest.mark.usefixtures("ludii")
def test_random_integers_are_explicit_chance() -> None:
    """Ludii draws the initial position of Fischer Random Chess square by square."""
    game = load("Fischer Random Chess")
    state, rng, draws = game.new_initial_state(), random.Random(9), 0
    while state.is_chance_node():
        outcomes = state.chance_outcomes()
        assert {probability for _, probability in outcomes} == {1 / len(outcomes)}
        assert state.action_to_string(0) == f"draw 1 of {len(outcomes)}"
        state, draws = step(state, rng), draws + 1
    assert draws
    assert state.current_player() == 0
    with pytest.raises(LudiiError, match="chance has no outcomes here"):
        state.chance_outcomes()


@pytest.mark.usefixtures("ludii")
def test_ludiis_own_ais_play_games_with_dice() -> None:
    from ludii_bridge.ai import LudiiAI

    game = load("Royal Game of Ur")
    ai, rng = LudiiAI(game, "UCT", iterations=20), random.Random(8)
    state = game.new_initial_state()
    for _ in range(15):
        roll(state, rng.random)
        before = str(state)
        action = ai.choose(state)
        assert str(state) == before
        assert action in state.legal_actions()
        state.apply_action(action)


@pytest.mark.usefixtures("ludii")
def test_the_note_of_a_picture_has_the_dice() -> None:
    game = load("Royal Game of Ur")
    view, state = view_of(game), game.new_initial_state()
    assert view is not None
    assert view.note(state) == "chance rolls"
    assert view.note(state.child(1)) == "dice: 0 0 0 1"
    assert view.sites(state, 1) == ()
    assert {name for name in game.site_names() if "hand" in name} == {"hand 1, 1", "hand 2, 1"}


@pytest.mark.usefixtures("ludii")
def test_details_count_moves_and_no_rolls() -> None:
    measured = details("Tic-Tac-Die").measured
    assert measured is not None
    assert measured.most_moves == 1


@pytest.mark.usefixtures("ludii")
def test_a_game_with_dice_is_learned(tmp_path: Path) -> None:
    game, folder = ath.load_game("ludii(game=Tic-Tac-Die,max_length=30)"), tmp_path / "run"
    ath.train(game, TINY, folder)
    agent, state = ath.load_agent(folder), game.new_initial_state()
    roll(state, random.Random(1).random)
    assert agent.step(state) in state.legal_actions()
