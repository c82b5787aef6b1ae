"""Network input of a state: OpenSpiel's observation of player 0, and the side to move.

The observation is always that of player 0, as values are. Observations of several games, such as Breakthrough, lack the
side to move, so a plane is added: ones if player 1 is to move, otherwise zeros, also in terminal states. Games without
planes get one number. With more than two players there is such a plane for each player but player 0.

In a game with chance another plane (or number) is one in chance states, whose observation may equal that of the
decision before. In a chance state the side to move is the player who moved last, or player 0 before the first move: the
observation does not always show it, for example in Backgammon.

Every child that a search evaluates is encoded once, so speed matters. OpenSpiel writes each state into one reused
buffer, which is copied into the batch through memoryviews; both take 0.3-0.6 µs per state. The observations of
`games.facts` take longer, up to 11 µs (Quoridor). Because of the buffer, only one thread at a time may use an encoder.

`games.facts` defines the observation of games without a complete tensor; the encoder adds the side to move to these,
too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pyspiel
from numpy.typing import NDArray
from open_spiel.python.observation import make_observation

from athenan_spiel.encoding.edges import framed_board
from athenan_spiel.errors import EncodingError, UnsupportedGameError, shown
from athenan_spiel.games import load_game, require_state
from athenan_spiel.games.chance import CHANCE, has_chance
from athenan_spiel.games.children import Joined
from athenan_spiel.games.extensions import Children, is_children, own_last_mover
from athenan_spiel.games.facts import facts_of

_Observer = tuple[tuple[int, ...], Callable[[pyspiel.State, int], None], memoryview]
"""Shape, function that writes the observation of (state, player) into a buffer, and the flat float32 buffer."""


class Encoder:
    """Encodes states of one game as rows of float32.

    Args:
        game: game of the states.
        edges: adds a margin of one cell with the board's edges; see `edges.py`.

    Attributes:
        shape: shape of an encoded state: (C, H, W) if the game has planes, otherwise (n,). Includes edges, the side to
            move in games for two or more players, and chance in games with chance.
        size: length of an encoded state, the product of `shape`.
        margin: number of cells around the board on each side.
        has_chance: whether states of the game may be chance states.

    Raises:
        UnsupportedGameError: the game has no observation tensor.
        ConfigError: `edges` is set, and the sides of the board do not belong to players.
    """

    def __init__(self, game: pyspiel.Game, *, edges: bool = False) -> None:
        self._source = game, edges
        self.margin = int(edges)
        self.has_chance = has_chance(game)
        shape, self._observe, self._observed = _framed(game, _observer(game)) if edges else _observer(game)
        self._plain = not edges and facts_of(game.get_type().short_name).observation is None
        plane = len(self._observed) // shape[0]
        self._sides = _sides(game, plane)
        self._chance_sides = _sides(game, plane, at_chance=True)
        self._last_player = _last_mover(game)
        self.shape = (shape[0] + len(self._sides[0]) // plane, *shape[1:])
        self.size = math.prod(self.shape)

    def __reduce__(self) -> tuple[Callable[[str, bool], Encoder], tuple[str, bool]]:
        """Pickles the game string and `edges`."""
        game, edges = self._source
        return _encoder_for, (str(game), edges)

    def encode(self, states: Sequence[pyspiel.State], out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Encodes N states, terminal ones included, as float32 [N, *shape].

        Args:
            states: states of the encoder's game.
            out: array to write to and return. The states are then not checked, which is faster; a state of another
                game may crash the process. By default a new array.

        Raises:
            EncodingError: `out` is not a C-contiguous float32 array of that shape, or `states` is not a list of states.
            SearchError: a state belongs to another game.
        """
        if out is None:
            self.require_states(states)
        expected = (len(states), *self.shape)
        if out is None:
            out = np.empty(expected, np.float32)
        elif out.shape != expected or out.dtype != np.float32 or not out.flags.c_contiguous:
            got = f"{out.dtype} {out.shape}"
            raise EncodingError(f"out must be a C-contiguous float32 array of shape {expected}, got {got}")
        all_rows = out.reshape(len(states), self.size)
        at = 0
        for part in states.parts if isinstance(states, Joined) else (states,):
            end = at + len(part)
            rows = all_rows[at:end]
            if self._plain and is_children(part):
                self._fill_children(part, rows)
            else:
                self._fill(part, rows.reshape(-1).data)
            at = end
        return out

    def require_states(self, states: Sequence[pyspiel.State]) -> None:
        """Checks that `states` is a list of states of the encoder's game, or `Children` of one.

        Raises:
            EncodingError: it is not a list.
            SearchError: an item is not a state, or belongs to another game.
        """
        if isinstance(states, list | tuple):
            for state in states:
                require_state(self._source[0], state)
        elif not isinstance(states, Joined) and not is_children(states):
            raise EncodingError(f"expected a list of states, got {shown(states)}")

    def _fill_children(self, children: Children, rows: NDArray[np.float32]) -> None:
        """Writes the observations of `Children` into `rows`, [n, size]."""
        observed, players = len(self._observed), children.players
        children.observe(rows[:, :observed])
        if self.has_chance or len(self._sides) > 2:
            rows[:, observed:] = self._side_rows(children)
            return
        turns = players.count(1)  # usually all children have the same player to move
        rows[:, observed:] = np.equal(players, 1)[:, None] if 0 < turns < len(players) else turns > 0

    def _side_rows(self, children: Children) -> NDArray[np.float32]:
        """Returns what the encoder adds to the observation of each child of a state."""
        players = list(children.players)
        at_chance = [i for i, player in enumerate(players) if player == CHANCE][:1]
        sides = dict(self._sides)
        for child in children.some(at_chance):  # all children have the same last mover
            sides[CHANCE] = self._chance_sides[self._last_player(child)]
        return np.array([sides.get(player, sides[0]) for player in players], np.float32)

    def encode_into(self, state: pyspiel.State, row: NDArray[np.float32]) -> None:
        """Encodes one state into `row`, contiguous float32 [size]."""
        self._fill((state,), row.data)

    def _fill(self, states: Sequence[pyspiel.State], out: memoryview) -> None:
        """Writes states into `out`, flat float32, one after the other."""
        observe, observed, sides, last = self._observe, self._observed, self._sides, self._last_player
        observed_size, size = len(observed), self.size
        at = 0
        for state in states:
            observe(state, 0)
            side = at + observed_size
            out[at:side] = observed
            at += size
            mover = state.current_player()
            out[side:at] = sides.get(mover, sides[0]) if mover != CHANCE else self._chance_sides[last(state)]


def _sides(game: pyspiel.Game, plane: int, *, at_chance: bool = False) -> dict[int, memoryview]:
    """Returns what the encoder adds to the observation, by the player to move, or who moved last before chance.

    Args:
        plane: size of a plane.
    """
    chance, players = has_chance(game), range(game.num_players())

    def planes(player: int) -> memoryview:
        numbers = [player == other for other in players[1:]] + [at_chance] * chance
        return np.repeat(np.array(numbers, np.float32), plane).data

    return {player: planes(player) for player in players}


def _last_mover(game: pyspiel.Game) -> Callable[[pyspiel.State], int]:
    """Returns the fastest function that finds the player who moved last before a chance state of `game`."""
    if game.num_players() == 1:
        return lambda state: 0
    return facts_of(game.get_type().short_name).last_mover or last_player


def last_player(state: pyspiel.State) -> int:
    """Returns the player who moved last before `state`; 0 before the first move. `Facts.last_mover` is faster."""
    own = own_last_mover(state)
    if own is not None:
        return own()
    return next((past.player for past in reversed(state.full_history()) if past.player >= 0), 0)


def _encoder_for(game: str, edges: bool) -> Encoder:
    return Encoder(load_game(game), edges=edges)


def _observer(game: pyspiel.Game) -> _Observer:
    """Returns the observer of the game, without the side to move."""
    name = game.get_type().short_name
    own = facts_of(name).observation
    if own is not None:
        shape, fill = own(game)
        buffer = np.zeros(shape, np.float32)
        return shape, lambda state, _player: fill(state, buffer), buffer.reshape(-1).data
    observation = make_observation(game) if game.get_type().provides_observation_tensor else None
    if observation is None or observation.tensor is None:
        raise UnsupportedGameError(f"a network needs a game with an observation tensor, {name!r} has none")
    # The inner object of a C++ game saves one Python call per state; games written in Python have none.
    observe = getattr(observation, "_observation", observation).set_from
    return _plane_shape(game) or (len(observation.tensor),), observe, observation.tensor.data


def _framed(game: pyspiel.Game, within: _Observer) -> _Observer:
    """Returns an observer that adds edges to `within`. They are written once, the board for each state."""
    shape, observe, observed = within
    framed = framed_board(game, shape)
    interior = framed[:, 1:-1, 1:-1]
    board = np.frombuffer(observed, np.float32).reshape(shape)

    def observe_framed(state: pyspiel.State, player: int) -> None:
        observe(state, player)
        interior[...] = board

    return framed.shape, observe_framed, framed.reshape(-1).data


def _plane_shape(game: pyspiel.Game) -> tuple[int, int, int] | None:
    """Returns (C, H, W) of the game's observation; None if it is not a stack of boards."""
    planes = facts_of(game.get_type().short_name).planes
    if planes is not None:
        return planes(game)
    shape = game.observation_tensor_shape()
    if len(shape) == 3 and game.observation_tensor_layout() == pyspiel.TensorLayout.CHW:
        return shape[0], shape[1], shape[2]
    return None
