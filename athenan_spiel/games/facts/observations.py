"""Observations: corrected shapes, planes of Hex's sides, and observations of games whose own is missing or incomplete.

In a game with chance, the observation, the mover (in a chance state the last one) and whether chance is to move
determine the distribution of the next observations. OpenSpiel's observations lack the roll in EinStein, for example.

Morpion Solitaire has no observation tensor in OpenSpiel. The one here has five planes of 13 x 13: the
placed points, then for each direction the points used by its lines. Two lines of one direction share no point, so these
planes determine the drawn lines, and thereby the whole state: the possible lines, and the score, which is the number of
lines.

An action is a line of four points, numbered by direction, and within it by rows: 130 along a row (a, b) to (a, b + 3),
130 down a column to (a + 3, b), 100 down a diagonal to (a + 3, b + 3), 100 up one, from (a + 3, b) to (a, b + 3).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyspiel
from numpy.typing import NDArray
from open_spiel.python.observation import make_observation

from athenan_spiel.games.chance import is_chance
from athenan_spiel.games.facts.base import Fill, Observation, Sides
from athenan_spiel.games.facts.keys import banqi_history, yacht_rolled_again
from athenan_spiel.games.facts.last_movers import maedn_roller

MORPION_SIZE, MORPION_LINE = 13, 4
MORPION_SHAPE = (5, MORPION_SIZE, MORPION_SIZE)


def gomoku_planes(game: pyspiel.Game) -> tuple[int, int, int] | None:
    """Returns the planes in two dimensions, else None. OpenSpiel declares [3, cells] for any number of dimensions."""
    parameters = game.get_parameters()
    if parameters["dims"] != 2:
        return None
    return game.observation_tensor_shape()[0], parameters["size"], parameters["size"]


def hex_planes(game: pyspiel.Game) -> tuple[int, int, int]:
    """Returns (C, rows, columns): OpenSpiel declares columns before rows, and writes row by row."""
    planes, columns, rows = game.observation_tensor_shape()
    return planes, rows, columns


def hex_sides(game: pyspiel.Game) -> Sides:
    """Returns the sides: Black (player 0) owns the first and the last row, White the first and the last column."""
    if game.get_parameters()["plain_obs_tensor"]:  # black, white, empty
        return Sides(top=0, bottom=0, left=1, right=1)
    # White: winning, west, east, other; empty; black: other, south, north, winning.
    return Sides(top=7, bottom=6, left=1, right=2)


def morpion_line_points() -> NDArray[np.intp]:
    """Returns the points of each action's line as row * 13 + column, [460, 4]."""
    starts = MORPION_SIZE - MORPION_LINE + 1
    lines = []
    for row_step, column_step in ((0, 1), (1, 0), (1, 1), (-1, 1)):
        first_row = MORPION_LINE - 1 if row_step < 0 else 0
        for row in range(first_row, first_row + (starts if row_step else MORPION_SIZE)):
            for column in range(starts if column_step else MORPION_SIZE):
                points = [(row + i * row_step, column + i * column_step) for i in range(MORPION_LINE)]
                lines.append([r * MORPION_SIZE + c for r, c in points])
    return np.array(lines, np.intp)


def morpion_observation(game: pyspiel.Game) -> Observation:
    """Returns the shape of the planes and the function that fills them."""
    printed = str(game.new_initial_state()).replace("\n", "")
    initial = np.zeros(MORPION_SHAPE, np.float32)
    initial[0].flat = [int(point) for point in printed]
    points = morpion_line_points()
    directions = np.repeat(np.arange(1, 5), (130, 130, 100, 100))
    drawn = np.concatenate([points, points + directions[:, None] * MORPION_SIZE * MORPION_SIZE], axis=1)

    def fill(state: pyspiel.State, planes: NDArray[np.float32]) -> None:
        planes[:] = initial
        planes.reshape(-1)[drawn[state.history()]] = 1.0

    return MORPION_SHAPE, fill


def catch_planes(game: pyspiel.Game) -> tuple[int, int, int]:
    """Returns one plane of rows and columns."""
    rows, columns = game.observation_tensor_shape()
    return 1, rows, columns


def _observer(game: pyspiel.Game) -> tuple[Callable[[pyspiel.State, int], None], NDArray[np.float32]]:
    """Returns a function that writes OpenSpiel's observation of a state for a player, and the array it writes to."""
    observation = make_observation(game)
    # The inner object of a C++ game saves one Python call per state.
    return getattr(observation, "_observation", observation).set_from, observation.tensor


def _with_planes(game: pyspiel.Game, count: int, fill_added: Fill) -> Observation:
    """Returns OpenSpiel's planes and `count` more, which `fill_added` fills."""
    observe, observed = _observer(game)
    shape = tuple(game.observation_tensor_shape())
    board = observed.reshape(shape)

    def fill(state: pyspiel.State, planes: NDArray[np.float32]) -> None:
        observe(state, 0)
        planes[:-count] = board
        fill_added(state, planes[-count:])

    return (shape[0] + count, *shape[1:]), fill


def amazons_observation(game: pyspiel.Game) -> Observation:
    """OpenSpiel's four planes, and three of the turn.

    A turn is three actions. OpenSpiel shows neither which of them is next nor the amazon that is moved or shoots. The
    planes are one before the second action, one before the third, and the square that this amazon stood or stands on.
    """

    def fill(state: pyspiel.State, planes: NDArray[np.float32]) -> None:
        planes[:] = 0.0
        if phase := state.move_number() % 3:
            planes[phase - 1] = 1.0
            planes[2].flat[state.history()[-1]] = 1.0

    return _with_planes(game, 3, fill)


def nine_mens_morris_observation(game: pyspiel.Game) -> Observation:
    """OpenSpiel's five planes, and three: men in hand of players 0 and 1, out of nine, and whether a capture is due."""

    def fill(state: pyspiel.State, planes: NDArray[np.float32]) -> None:
        text = str(state)  # "Men to deploy: 9 9", and at the end "Capture time!"
        _, _, men = text.partition("deploy: ")
        planes[0], planes[1], planes[2] = int(men[0]) / 9, int(men[2]) / 9, men[-1] == "!"

    return _with_planes(game, 3, fill)


def quoridor_observation(game: pyspiel.Game) -> Observation:
    """Planes of size x size cells for n players: n pawns; walls above, below, left and right of each cell; walls in
    hand, as fractions of the number at the start.

    OpenSpiel's planes have a row and a column for walls between cells, but do not show the walls. The actions of walls
    are points of that board: of its even rows for vertical walls, of its odd rows for horizontal ones, each the top or
    left of three points. The actions of pawns are steps, whose row and column are even.
    """
    observe, observed = _observer(game)
    given = game.get_parameters()
    players, size = given["players"], given["board_size"]
    board = observed.reshape(game.observation_tensor_shape())
    points = np.arange((2 * size - 1) ** 2)
    row, column = np.divmod(points, 2 * size - 1)
    down, right = row % 2, column % 2
    cell = row // 2 * size + column // 2
    area = size * size
    sides = np.where(  # two cells before the wall, two after it
        down,
        [area + cell, area + cell + 1, cell + size, cell + size + 1],
        [3 * area + cell, 3 * area + cell + size, 2 * area + cell + 1, 2 * area + cell + size + 1],
    )
    sides = np.where(down != right, sides, 4 * area).T  # for steps the first number after them, which is overwritten
    pawns, hands = board[:players, ::2, ::2], board[players + 1 :, ::2, ::2]
    per_wall = 1 / max(1, given["wall_count"])

    def fill(state: pyspiel.State, planes: NDArray[np.float32]) -> None:
        observe(state, 0)
        planes[:players] = pawns
        numbers = planes[players:].reshape(-1)
        numbers[: 4 * area] = 0.0
        numbers[sides[state.history()]] = 1.0
        np.multiply(hands, per_wall, out=planes[players + 4 :])

    return (2 * players + 4, size, size), fill


BACKGAMMON_SIZE = 205
_BACKGAMMON_DICE = 198
"""Index of the dice in OpenSpiel's observation of Backgammon."""


def backgammon_observation(game: pyspiel.Game) -> Observation:
    """OpenSpiel's 198 numbers, scaled as by Tesauro, six counts of the dice, and the second half of a double.

    OpenSpiel gives the dice as two numbers up to six, and does not show whether half of a double has been played.
    """
    observe, observed = _observer(game)
    board, dice = observed[:_BACKGAMMON_DICE], observed[_BACKGAMMON_DICE:]
    scale = np.ones(_BACKGAMMON_DICE, np.float32)
    scale[3:192:4] = 0.5  # checkers on a point beyond the third
    scale[[192, 195]] = 0.5  # checkers on the bar
    scale[[193, 196]] = 1 / 15  # checkers borne off

    def fill(state: pyspiel.State, numbers: NDArray[np.float32]) -> None:
        observe(state, 0)
        np.multiply(board, scale, out=numbers[:_BACKGAMMON_DICE])
        numbers[_BACKGAMMON_DICE:] = 0.0
        low, high = dice.tolist()
        if low:
            numbers[_BACKGAMMON_DICE - 1 + int(low)] += 1.0
            numbers[_BACKGAMMON_DICE - 1 + int(high)] += 1.0
            numbers[-1] = low == high and "Extra turn: 1" in str(state)

    return (BACKGAMMON_SIZE,), fill


_EINSTEIN_CUBES, _EINSTEIN_SIZE = 12, 5


def einstein_observation(game: pyspiel.Game) -> Observation:
    """A plane for each cube, and one with the cubes that the roll allows to move, which OpenSpiel does not show."""
    observe, observed = _observer(game)
    # OpenSpiel writes column by column.
    cubes = observed.reshape(_EINSTEIN_CUBES, _EINSTEIN_SIZE, _EINSTEIN_SIZE).transpose(0, 2, 1)

    def fill(state: pyspiel.State, planes: NDArray[np.float32]) -> None:
        observe(state, 0)
        planes[:-1] = cubes
        planes[-1] = 0.0
        if state.current_player() >= 0:
            for action in state.legal_actions():
                planes[-1].flat[action // 12] = 1.0

    return (_EINSTEIN_CUBES + 1, _EINSTEIN_SIZE, _EINSTEIN_SIZE), fill


_BANQI_BOARD, _BANQI_KINDS = (4, 8), 14
_BANQI_COUNTS = np.array((1, 2, 2, 2, 2, 2, 5) * 2, np.float32)


def banqi_observation(game: pyspiel.Game) -> Observation:
    """OpenSpiel's 16 planes (14 kinds of pieces, empty, face down) and 18 with what it does not show.

    They are player 0's colour (red, black), the square of the piece that chance turns, the fraction of each kind's
    pieces that are face down, and the plies without progress.
    """
    observe, observed = _observer(game)
    board = observed[: 16 * 32].reshape(16, *_BANQI_BOARD)
    limit = game.get_parameters()["max_no_progress"]

    def fill(state: pyspiel.State, planes: NDArray[np.float32]) -> None:
        observe(state, 0)
        planes[:16] = board
        history = state.history()
        told = banqi_history(history)
        colour = history[1] // (_BANQI_KINDS // 2) if len(history) > 1 else None
        planes[16], planes[17] = colour == 0, colour == 1
        planes[18] = 0.0
        if told.turning >= 0:
            planes[18].flat[told.turning] = 1.0
        planes[19:33] = (np.array(told.face_down, np.float32) / _BANQI_COUNTS)[:, None, None]
        planes[33] = told.quiet / limit

    return (34, *_BANQI_BOARD), fill


_ULTIMATE_LINES = np.array([(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)])
_ULTIMATE_FORCED = 244
"""Index of the board to play in, one of nine, in OpenSpiel's observation of Ultimate Tic-Tac-Toe."""


def ultimate_tic_tac_toe_observation(game: pyspiel.Game) -> Observation:
    """Planes of the 9 x 9 cells: noughts, crosses, the cells of the boards won by each, and those to be played in.

    OpenSpiel's observation is a list of the cells, board by board, and lacks the winners of boards. No cell of the last
    plane is marked if the mover must choose the board.
    """
    observe, observed = _observer(game)
    marks = observed[81:243].reshape(2, 9, 9)  # noughts, crosses; board, cell
    forced = observed[_ULTIMATE_FORCED : _ULTIMATE_FORCED + 9]

    def fill(state: pyspiel.State, planes: NDArray[np.float32]) -> None:
        observe(state, 0)
        by_board = planes.reshape(5, 3, 3, 3, 3).transpose(0, 1, 3, 2, 4)  # plane, board's row and column, cell's
        by_board[:2] = marks.reshape(2, 3, 3, 3, 3)
        won = marks[:, :, _ULTIMATE_LINES].all(-1).any(-1)
        by_board[2:4] = won.reshape(2, 3, 3, 1, 1)
        by_board[4] = forced.reshape(3, 3, 1, 1)

    return (5, 9, 9), fill


def tiles_observation(game: pyspiel.Game) -> Observation:
    """2048: a plane for each number on a tile, instead of the numbers themselves."""
    observe, observed = _observer(game)
    board = observed.reshape(4, 4)
    largest = int(game.get_parameters()["max_tile"]).bit_length() - 1
    numbers = np.exp2(np.arange(1, largest + 1, dtype=np.float32))[:, None, None]

    def fill(state: pyspiel.State, planes: NDArray[np.float32]) -> None:
        observe(state, 0)
        planes[:] = board == numbers

    return (largest, 4, 4), fill


_MAEDN_MOVER = 228
"""Index of the players to move in OpenSpiel's observation of Mensch ärgere dich nicht."""


def maedn_observation(game: pyspiel.Game) -> Observation:
    """OpenSpiel's observation, which shows the player to move, and in a chance state the player who rolls."""
    observe, observed = _observer(game)

    def fill(state: pyspiel.State, numbers: NDArray[np.float32]) -> None:
        observe(state, 0)
        numbers[:] = observed
        if is_chance(state):
            numbers[_MAEDN_MOVER + maedn_roller(state)] = 1.0

    return (len(observed),), fill


def yacht_observation(game: pyspiel.Game) -> Observation:
    """OpenSpiel's observation, in a chance state without the dice that are rolled again."""
    observe, observed = _observer(game)
    given = game.get_parameters()
    dice, sides = given["num_dice"], given["dice_sides"]

    def fill(state: pyspiel.State, numbers: NDArray[np.float32]) -> None:
        observe(state, 0)
        numbers[:] = observed
        if not is_chance(state):
            return
        again = yacht_rolled_again(state, dice)
        values = str(state).split("\n", 2)[1].split(" ")[1:]
        numbers[:sides] = 0.0
        for i, value in enumerate(values):
            if not again >> i & 1 and value != "0":
                numbers[int(value) - 1] += 1.0

    return (len(observed),), fill


def stones_and_gems_observation(game: pyspiel.Game) -> Observation:
    """OpenSpiel's planes; in a chance state, which OpenSpiel shows as empty, those of the state after its outcome."""
    observe, observed = _observer(game)
    planes_of = tuple(game.observation_tensor_shape())
    board = observed.reshape(planes_of)

    def fill(state: pyspiel.State, planes: NDArray[np.float32]) -> None:
        observe(state.child(0) if is_chance(state) else state, 0)
        planes[:] = board

    return planes_of, fill
