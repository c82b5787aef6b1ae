"""Openings of a tournament or an evaluation: random, read from a file, or balanced.

A balanced opening is a random one whose value is close to that of a draw. The judge computes the value. It is an agent
that reports values, or by default UBFM over the mean of random playouts, which needs no knowledge of the game.
"""

from __future__ import annotations

import io
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyspiel
from numpy.typing import NDArray

import agents
from athenan_spiel.arena.tournament_settings import OpeningsConfig
from athenan_spiel.errors import ConfigError, printable, shown
from athenan_spiel.evaluators.simple import RolloutEvaluator
from athenan_spiel.games.chance import is_chance
from athenan_spiel.games.moves import position
from athenan_spiel.outcomes import Gain
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.openings import games_per_opening, random_openings
from athenan_spiel.protocols.sgf import read_sgf
from athenan_spiel.search import UBFM, Budget
from athenan_spiel.system.files import read_file

MOST_FILE = 2**26
"""Maximum size of a file of openings, in bytes."""
PLAYOUTS, ITERATIONS = 8, 32
"""Playouts per state and search iterations of the default judge."""
TRIES = 50
"""Maximum number of random openings that are drawn for each balanced one."""

Opening = tuple[int, ...]


@dataclass(frozen=True)
class OpeningSet:
    """Openings of a game.

    Attributes:
        openings: the actions of each opening.
        told: description of their origin.
    """

    openings: tuple[Opening, ...]
    told: str


def opening_set(game: pyspiel.Game, config: OpeningsConfig, count: int, seed: int) -> OpeningSet:
    """Returns `count` openings.

    Raises:
        ConfigError: there are fewer openings; a file cannot be read, or holds an illegal move, a finished game or a
            repeated opening; the judge reports no values.
        AgentError: the judge's spec is invalid, or that agent does not play the game.
    """
    if config.kind == "file":
        assert config.file is not None, "checked"
        return openings_of_file(game, Path(config.file), count)
    if config.kind == "balanced":
        return balanced_openings(game, config, count, seed)
    openings = random_openings(game, count, config.plies, random.Random(seed))
    return OpeningSet(tuple(openings), f"{config.plies} random plies")


def openings_of_file(game: pyspiel.Game, path: Path, count: int | None = None) -> OpeningSet:
    """Returns the first `count` openings of a file, by default all: one per line, moves by name or number.

    The outcomes of chance are written like moves; a game rolls what follows its opening. Empty lines and lines that
    begin with # are skipped. A file named .sgf is one opening of Go or Hex, its main line.

    Raises:
        ConfigError: as `opening_set`.
    """
    name = printable(str(path))
    is_sgf = path.suffix.lower() == ".sgf"
    try:
        lines = iter([(1, map(str, read_sgf(game, path)))]) if is_sgf else _lines(path)
    except OSError as error:
        raise ConfigError(f"{name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"expected a text of openings, got {name}, which is not UTF-8") from None
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None
    found: dict[Opening, int] = {}
    for number, moves in lines:
        if len(found) == count:
            break
        try:
            opening = tuple(position(game, moves).history())
        except ConfigError as error:
            raise ConfigError(f"{name}{'' if is_sgf else f', line {number}'}: {error}") from None
        if opening in found:
            raise ConfigError(f"{name}, line {number} repeats the opening of line {found[opening]}: remove one")
        found[opening] = number
    each = games_per_opening(game)
    if is_sgf and count is not None and count > 1:
        raise ConfigError(
            f"{name} has one opening, for {each} games, got {each * count}: list more openings in a text file"
        )
    if count is not None and len(found) < count:
        raise ConfigError(
            f"{each * count} games need {count} openings, got {len(found)} in {name}: "
            f"play {each * len(found)} games, or add openings"
        )
    return OpeningSet(tuple(found), f"the main line of {name}" if is_sgf else f"{len(found)} openings of {name}")


def _lines(path: Path) -> Iterator[tuple[int, Iterable[str]]]:
    """Yields the number and the moves of each line, without empty lines and comments."""
    text = read_file(path, MOST_FILE, follow=True).decode("utf-8-sig")
    lines = enumerate(io.StringIO(text, newline=None), 1)
    return ((number, line.split()) for number, line in lines if line.strip() and not line.startswith("#"))


def balanced_openings(game: pyspiel.Game, config: OpeningsConfig, count: int, seed: int) -> OpeningSet:
    """Returns `count` random openings that are not proven decided, with a value at most `config.bound` from a draw's.

    Raises:
        ConfigError: there are fewer, the judge reports no values, or openings without plies end in a chance state.
        AgentError: as `opening_set`.
    """
    if config.plies == 0 and is_chance(game.new_initial_state()):
        raise ConfigError(f"balanced openings of {shown(str(game))} must have at least 1 ply, as it starts with chance")
    judge = _judge(game, config.judge, seed)
    found: list[Opening] = []
    tried = 0
    for opening in _different(game, config.plies, TRIES * count, seed):
        tried += 1
        if _is_balanced(game, judge, opening, config.bound):
            found.append(opening)
            if len(found) == count:
                break
    if len(found) < count:
        raise ConfigError(
            f"{count} openings of {config.plies} plies must have values from -{config.bound:g} to {config.bound:g}, "
            f"got {len(found)} of {tried} tried: use more plies, a larger openings.bound or fewer games"
        )
    judge_name = config.judge or f"UBFM of {ITERATIONS} iterations over {PLAYOUTS} random playouts a state"
    values = f"a value from -{config.bound:g} to {config.bound:g} by {judge_name}"
    return OpeningSet(tuple(found), f"{config.plies} random plies of {values} ({tried} tried)")


def require_openings(game: pyspiel.Game, openings: Sequence[Opening]) -> None:
    """Check that games can start with these openings.

    Raises:
        ConfigError: an action is illegal or ends the game.
    """
    for opening in openings:
        position(game, map(str, opening))


def _different(game: pyspiel.Game, plies: int, most: int, seed: int) -> Iterator[Opening]:
    seen: set[Opening] = set()
    rng = random.Random(seed)
    for _ in range(most):
        (opening,) = random_openings(game, 1, plies, rng)
        if opening not in seen:
            seen.add(opening)
            yield opening


def _is_balanced(game: pyspiel.Game, judge: Agent, opening: Opening, bound: float) -> bool:
    state = game.new_initial_state()
    for action in opening:
        state.apply_action(action)
    judge.restart()
    result = judge.think(state)
    return abs(result.value) <= bound and abs(result.completion) < 1 and abs(result.completion) <= bound


def _judge(game: pyspiel.Game, spec: str | None, seed: int) -> Agent:
    if spec is None:
        return Agent(game, UBFM(game), MeanRolloutEvaluator(seed), budget=Budget(iterations=ITERATIONS))
    parsed = agents.parse_spec(spec)
    bot = agents.make_bot(parsed, game, 0, seed) if parsed.program is None else None  # a file must not start programs
    if not isinstance(bot, agents.AthenanBot):
        problem = f"must be an agent that reports values, a run or alphabeta, got {shown(spec)}"
        raise ConfigError.at("openings.judge", problem)
    return bot.agent


class MeanRolloutEvaluator:
    """Returns the mean gain of `PLAYOUTS` random games from each state. Its history and `seed` determine them."""

    def __init__(self, seed: int) -> None:
        self._evaluators = [RolloutEvaluator(Gain(), (seed * PLAYOUTS + i) % 2**64) for i in range(PLAYOUTS)]

    def __call__(self, states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        """Returns values, float64 [N]."""
        return np.asarray(np.mean([evaluator(states) for evaluator in self._evaluators], axis=0), np.float64)
