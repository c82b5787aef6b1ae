"""The transport through jpype to Ludii in this process's Java.

It uses Ludii's public classes for other frameworks: `GameLoader`, `LudiiGameWrapper`, `LudiiStateWrapper`, and their
game, context and move objects.
"""

from __future__ import annotations

import functools
import random
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludii_bridge import errors, jvm
from ludii_bridge.catalogue import Catalogue, Menu, Source
from ludii_bridge.dice import Dice, dice_of
from ludii_bridge.errors import LudiiError
from ludii_bridge.generator import install
from ludii_bridge.installation import Jar, Java
from ludii_bridge.java_ai import JavaMatchAI, recommended_ai
from ludii_bridge.keys import Keys
from ludii_bridge.operations import Operations
from ludii_bridge.outlines import MoveSites, Outlines
from ludii_bridge.picture import printable
from ludii_bridge.position import JavaPosition
from ludii_bridge.programs import Programs, Types
from ludii_bridge.sites import Layout, SiteReader, other_kinds
from ludii_bridge.stochastic import StochasticOperations, StochasticPosition, rolls_in_conditions
from ludii_bridge.tensors import LudiiTensor, SiteTensor, Tensor, suits_ludiis_tensor
from ludii_bridge.transport import Traits

_FULL = 0.99
"""Fraction of Java's old generation that counts as full."""
_LEAST_ACTIONS = 2048
"""Minimum number of declared actions; the sweep found at most 864 legal moves on a board of few sites."""
_RANDOM_EFFECT = re.compile(r"\(random\b")
"""Ludeme that chooses moves at random, by real numbers."""
_PROBE_DRAWS = 2**14
"""Length of the script of the random game that shows which site types hold pieces."""
_MOST_OUTCOMES = 4096
"""Maximum number of outcomes of a chance state."""
_ROLLS_PER_MOVE, _DRAWS_PER_MOVE = 16, 256
"""Bounds for the chance states per move, of games with and without dice."""


class JavaTransport:
    """Ludii, with Java started.

    Args:
        jar: Ludii's.
        java: the runtime.
        memory: maximum heap size, such as "2g".

    Raises:
        LudiiError: Java cannot start, or already runs in this process without Ludii.
    """

    def __init__(self, jar: Jar, java: Java, memory: str) -> None:
        self._jpype = jvm.start(java, jar.path, memory)
        self.version = jar.version
        self.catalogue = Catalogue(jar.games)
        try:
            self._loader = jvm.translated(self._jpype.JClass, f"{str(jar.path)!r} is damaged")("other.GameLoader")
        except TypeError as error:
            raise LudiiError(
                "Java was started in this process by something else and cannot see Ludii: load ludii_bridge first"
            ) from error

    def menu(self, source: Source) -> Menu:
        """Returns the options and rulesets of a game."""
        return menu_of(self._jpype, self._compile(source, ()))

    def load(self, source: Source, options: Sequence[str]) -> JavaRules:
        """Compiles a game with these options."""
        return JavaRules(self._jpype, self._compile(source, options))

    def _compile(self, source: Source, options: Sequence[str]) -> Any:
        jvm.check_process()
        return jvm.translated(self._load, "cannot be loaded", game=source.name)(source, options)

    def _load(self, source: Source, options: Sequence[str]) -> Any:
        chosen = self._jpype.java.util.ArrayList(list(options))
        memory = jvm.old_generation(self._jpype)
        memory.resetPeakUsage()
        with jvm.overheard(self._jpype) as said:
            try:
                if source.is_file:
                    game = self._loader.loadGameFromFile(self._jpype.java.io.File(source.path), chosen)
                else:
                    game = self._loader.loadGameFromName(source.path, chosen)
            except self._jpype.JException as error:
                if "InvocationTargetException" in str(error):  # whose cause Ludii's compiler does not report
                    usage = memory.getPeakUsage()
                    if int(usage.getUsed()) >= _FULL * int(usage.getMax()):
                        raise LudiiError(jvm.OUT_OF_MEMORY) from error
                    if cause := jvm.first_cause(said()):
                        raise LudiiError.of(source.name, f"cannot be loaded: {cause}") from error
                raise
        if game is None:
            raise LudiiError.of(source.name, "cannot be loaded: Ludii returned no game")
        return game


def menu_of(jpype: Any, game: Any) -> Menu:
    """Returns the options and rulesets of a compiled game."""
    description = game.description()
    options: dict[str, list[str]] = {}
    for category in description.gameOptions().categories():
        for option in category.options():
            headings = [str(heading) for heading in option.menuHeadings()]
            if len(headings) == 2:
                options.setdefault(headings[0], []).append(headings[1])
    rulesets = {
        str(ruleset.heading()): [str(option) for option in ruleset.optionSettings()]
        for ruleset in description.rulesets()
        if not ruleset.optionSettings().isEmpty()  # an empty ruleset is only planned
    }
    defaults = dict(
        str(option).split("/", 1) for option in description.gameOptions().allOptionStrings(jpype.java.util.ArrayList())
    )
    return Menu(options, rulesets, {category: defaults[category] for category in options})


class JavaRules:
    """One compiled Ludii game."""

    def __init__(self, jpype: Any, game: Any) -> None:
        self.jpype = jpype
        self.game = game
        self.wrapper: Any = None
        """Ludii's `LudiiGameWrapper`, if its tensor suits the game."""
        self.operations: Any = None
        self.utilities = jpype.JClass("other.RankUtils").agentUtilities
        """context -> 0 and the utility of each agent."""
        self._reading = threading.Lock()
        self.moves_wear_out = False
        """The meta-rules of a few games change a move when it is applied, so it can be applied only once."""
        self.components: tuple[tuple[str, int], ...] = ()
        """Name and owner of each piece type, from number 1."""
        self.traits = jvm.translated(self._describe, "Ludii cannot describe this game")()

    def _describe(self) -> Traits:
        game = self.game
        name, players, longest = printable(str(game.name())), int(game.players().count()), int(game.getMaxMoveLimit())
        faults = _faults(game)
        if faults:  # some unsupported games have no board, so no tensor
            return Traits(name=name, players=players, faults=faults, longest=longest)
        self.layout = Layout(game, self._other_kinds())
        fields = ["what", "who", "count", "state", *(["sizeStack"] if game.isStacking() else [])]
        self._reader = SiteReader(self.jpype, game, self.layout, fields, 1)
        programs, types = Programs(self.jpype), Types(self.jpype)
        self._read = programs.face(types.consumer, programs.bound(self._reader.program(programs, types), 0)).accept
        self.components = tuple(
            (printable(str(component.name())), int(component.owner()))
            for component in list(game.equipment().components())[1:]
        )
        self.dice = self._find_dice()
        if self._chance_outcomes() > _MOST_OUTCOMES:
            return Traits(name=name, players=players, faults=(errors.OUTCOMES,), longest=longest)
        names = [name for name, _ in self.components]
        tensor: Tensor = SiteTensor(self.jpype, game, self.layout, names, self.dice)
        if suits_ludiis_tensor(game, self.layout):
            self.wrapper = self.jpype.JClass("utils.LudiiGameWrapper")(game)
            tensor = LudiiTensor(self.jpype, self.wrapper)
        self.moves_wear_out = bool(game.metaRules().automove() or game.metaRules().gravityType() is not None)
        whole = self.moves_wear_out or bool(game.usesVote())
        if self._has_chance:
            self.operations = StochasticOperations(self.jpype, game, tensor, whole_moves=whole, dice=self.dice)
        else:
            self.operations = Operations(self.jpype, game, tensor, whole_moves=whole)
        self._keys = Keys(self.jpype, game)
        return Traits(
            name=name,
            players=players,
            faults=(),
            longest=longest,
            shape=tensor.shape,
            channels=tensor.channels,
            distinct_moves=self._distinct_moves(),
            hashed=self._keys.complete,
            scored=bool(game.requiresScore()),
            chance_outcomes=self._chance_outcomes(),
            chances_per_move=0 if not self._has_chance else _ROLLS_PER_MOVE if self.dice else _DRAWS_PER_MOVE,
        )

    @property
    def _has_chance(self) -> bool:
        return bool(self.game.isStochasticGame())

    @functools.cached_property
    def rolls_in_conditions(self) -> bool:
        """See `StochasticGame`."""
        return rolls_in_conditions(self.game)

    def _other_kinds(self) -> list[str]:
        """Returns `other_kinds`, which plays a random game, with the same draws each time."""
        if not self._has_chance:
            return other_kinds(self.jpype, self.game)
        source, rng = install(self.jpype), random.Random(0)
        draws = [rng.randrange(2**31) for _ in range(_PROBE_DRAWS)]
        with source.follow(source.script(draws, lenient=True)):
            return other_kinds(self.jpype, self.game)

    def _find_dice(self) -> Dice | None:
        if not self.game.hasHandDice():
            return None
        source = install(self.jpype)
        context = self._new_context()
        with source.follow(source.script(lenient=True)):
            self.game.start(context)
        return dice_of(self.game, context)

    def _chance_outcomes(self) -> int:
        if not self._has_chance:
            return 0
        return _MOST_OUTCOMES if self.dice is None else len(self.dice.outcomes)

    def _distinct_moves(self) -> int:
        """A number that legal moves rarely exceed: 49 ways to each site if pieces move, and as many as kinds if not.

        Where a move is a long series of choices, on a small board too, there are hundreds more.
        """
        sites, kinds = len(self.layout.places), int(self.game.numComponents())
        own = int(self.wrapper.numDistinctActions()) if self.wrapper is not None else 49 * sites
        return max(own, kinds * sites + 2, _LEAST_ACTIONS)

    @property
    def menu(self) -> Menu:
        """Options and rulesets of the game."""
        return jvm.translated(menu_of, "cannot be described", game=self.traits.name)(self.jpype, self.game)

    @functools.cached_property
    def sides(self) -> tuple[tuple[str, tuple[int, int, int]], ...]:
        """See `LudiiGame.sides`."""
        return jvm.translated(self._read_sides, "has no readable sides", game=self.traits.name)()

    def _read_sides(self) -> tuple[tuple[str, tuple[int, int, int]], ...]:
        context, graphics = self._new_context(), self.game.metadata().graphics()
        defaults = self.jpype.JClass("util.SettingsColour").ORIGINAL_PLAYER_COLOURS
        sides = []
        for player in range(1, self.traits.players + 1):
            name = graphics.playerName(context, player)
            colour = graphics.playerColour(context, player) or defaults[player]
            rgb = (int(colour.getRed()), int(colour.getGreen()), int(colour.getBlue()))
            sides.append(("" if name is None else str(name), rgb))
        return tuple(sides)

    @property
    def geometry(self) -> Mapping[str, NDArray[np.float64]]:
        """See `LudiiGame.geometry`."""
        count = len(self.layout.centres)
        places = [self.layout.places[site] for site in range(count)]
        if self.wrapper is not None:
            columns, rows = self.wrapper.tensorCoordsX(), self.wrapper.tensorCoordsY()
            places = [(int(columns[site]), int(rows[site])) for site in range(count)]
        own = {"centres": self.layout.centres, "planes": np.array(places, np.float64)}
        return {**own, **self.outlines.arrays}

    @property
    def site_names(self) -> Sequence[str]:
        """See `LudiiGame.site_names`."""
        return self.outlines.names

    @functools.cached_property
    def outlines(self) -> Outlines:
        """Outlines of all sites, created on the first request."""
        return jvm.translated(Outlines, "cannot be drawn", game=self.traits.name)(self.game, self.layout)

    @functools.cached_property
    def move_sites(self) -> MoveSites:
        """Reader of the sites of moves, created on the first request."""
        return MoveSites(self.jpype, self.game, self.outlines)

    def sites(self, context: Any) -> dict[str, NDArray[np.int32]]:
        """Returns the fields of `SiteReader` for each site of a state."""
        with self._reading:
            self._read(context)
            return {field: rows[0].copy() for field, rows in self._reader.found.items()}

    def key(self, context: Any) -> tuple[int, ...]:
        """See `JavaPosition.key`."""
        with self._reading:
            return self._keys.key(context)

    def limit(self, moves: int) -> None:
        """Ends every game after that number of moves as a draw."""
        self.game.setMaxMoveLimit(moves)

    def start(self) -> JavaPosition:
        """Returns the initial position."""
        jvm.check_process()
        return jvm.translated(self._start, "cannot be started", game=self.traits.name)()

    @property
    def recommended_ai(self) -> str:
        """See `LudiiGame.recommended_ai`."""
        return recommended_ai(self.jpype, self.game)

    def match_ai(self, name: str) -> JavaMatchAI:
        """Returns one of Ludii's AIs for one game."""
        jvm.check_process()
        return JavaMatchAI(self.jpype, self.game, name)

    def _start(self) -> JavaPosition:
        if self._has_chance:
            return StochasticPosition.start(self)
        context = self._new_context()
        self.game.start(context)
        return JavaPosition.of(self, context)

    def _new_context(self) -> Any:
        """Returns a Ludii state before the start."""
        return self.jpype.JClass("other.context.Context")(self.game, self.jpype.JClass("other.trial.Trial")(self.game))


def _faults(game: Any) -> tuple[str, ...]:
    """Returns the reasons why `game` is not supported, without the number of players."""
    if game.hasSubgames():
        return (errors.SEVERAL,)
    found = {
        errors.CHANCE: game.isStochasticGame() and _draws_more(game),
        errors.HIDDEN: game.hiddenInformation(),
        errors.SIMULTANEOUS: game.isSimultaneousMoveGame(),
        errors.SIMULATION: game.isSimulationMoveGame(),
        errors.DEDUCTION: game.isDeductionPuzzle(),
    }
    return (*(reason for reason, holds in found.items() if holds), *_owner_faults(game))


def _draws_more(game: Any) -> bool:
    """Returns whether the rules draw cards, dominoes or other random numbers than integers below a bound."""
    drawn = bool(game.hasCard() or game.hasDominoes() or game.metaRules().automove())
    return drawn or _RANDOM_EFFECT.search(str(game.description().expanded())) is not None


def _owner_faults(game: Any) -> list[str]:
    """Returns an error if a piece belongs to a player whom the game doesn't have, as placing it would fail."""
    players = int(game.players().count())
    of_all = players + 1  # Ludii's number of the owner of shared pieces
    pieces = [(str(piece.name()), int(piece.owner())) for piece in list(game.equipment().components())[1:]]
    return [f"its piece {name!r} is of player {owner}, of {players}" for name, owner in pieces if owner > of_all][:1]
