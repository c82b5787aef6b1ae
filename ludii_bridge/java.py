"""The transport that is real: Ludii in this process's Java, called through jpype.

Only Ludii's public classes are used, those that other frameworks use too: `GameLoader`, `LudiiGameWrapper`,
`LudiiStateWrapper`, and the game, context and move objects behind them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ludii_bridge import jvm
from ludii_bridge.catalogue import Catalogue, Menu, Source
from ludii_bridge.errors import LudiiError
from ludii_bridge.installation import Jar, Java
from ludii_bridge.java_ai import JavaThinker
from ludii_bridge.operations import Operations
from ludii_bridge.picture import Stack, draw
from ludii_bridge.sites import Layout, SiteTensor
from ludii_bridge.transport import Position, Traits

_LEAST_ACTIONS = 2048
"""Declared for any game; the most legal moves that the sweep met on a board of few sites were 864."""


class JavaTransport:
    """Ludii, with Java started.

    Args:
        jar: Ludii's.
        java: the runtime.
        memory: the most that Java's objects may take, such as "2g".

    Raises:
        LudiiError: Java cannot start, or runs in this process already without Ludii.
    """

    def __init__(self, jar: Jar, java: Java, memory: str) -> None:
        self._jpype = jvm.start(java, jar.path, memory)
        self.version = jar.version
        self.catalogue = Catalogue(jar.games)
        try:
            self._loader = self._jpype.JClass("other.GameLoader")
        except TypeError as error:
            raise LudiiError(
                "Java was started in this process by something else and cannot see Ludii: load ludii_bridge first"
            ) from error

    def menu(self, source: Source) -> Menu:
        """The options and rulesets of a game."""
        return _menu(self._compile(source, ()))

    def load(self, source: Source, options: Sequence[str]) -> JavaRules:
        """Compile a game with these options."""
        return JavaRules(self._jpype, self._compile(source, options))

    def _compile(self, source: Source, options: Sequence[str]) -> Any:
        jvm.check_process()
        return jvm.translated(self._load, f"{source.name} cannot be loaded")(source, options)

    def _load(self, source: Source, options: Sequence[str]) -> Any:
        chosen = self._jpype.java.util.ArrayList(list(options))
        if source.is_file:
            game = self._loader.loadGameFromFile(self._jpype.java.io.File(source.path), chosen)
        else:
            game = self._loader.loadGameFromName(source.path, chosen)
        if game is None:
            raise LudiiError(f"{source.name} cannot be loaded: Ludii made no game of it")
        return game


def _menu(game: Any) -> Menu:
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
        if not ruleset.optionSettings().isEmpty()  # those are planned, not written
    }
    return Menu(options, rulesets)


class JavaRules:
    """One compiled game of Ludii's."""

    def __init__(self, jpype: Any, game: Any) -> None:
        self.jpype = jpype
        self.game = game
        self.wrapper: Any = None
        self.operations: Any = None
        self.seen = False
        """A tensor was asked for: children are made with theirs."""
        self.moves_wear_out = False
        """The meta-rules of a few games change a move as they apply it: it can be applied only once."""
        self.components: tuple[tuple[str, int], ...] = ()
        """Name and owner of each kind of piece, from number 1."""
        self.traits = jvm.translated(self._look, "Ludii cannot describe this game")()

    def _look(self) -> Traits:
        game = self.game
        name, players, longest = str(game.name()), int(game.players().count()), int(game.getMaxMoveLimit())
        faults = _faults(game)
        if faults:  # some such games have no board to make tensors of
            return Traits(name=name, players=players, faults=faults, longest=longest)
        self.layout = Layout(game)
        names = [str(component.name()) for component in list(game.equipment().components())[1:]]
        self.sites = SiteTensor(self.jpype, game, self.layout, names)
        self.wrapper = (
            self.jpype.JClass("utils.LudiiGameWrapper")(game) if _suits_ludiis_tensor(game, self.layout) else None
        )
        shape, channels = self.sites.shape, self.sites.channels
        if self.wrapper is not None:
            shape = cast(tuple[int, int, int], tuple(map(int, self.wrapper.stateTensorsShape())))
            channels = tuple(map(str, self.wrapper.stateTensorChannelNames()))
        self.operations = Operations(self.jpype, game, self.wrapper, math.prod(shape))
        self.moves_wear_out = bool(game.metaRules().automove() or game.metaRules().gravityType() is not None)
        self.components = tuple(
            (str(component.name()), int(component.owner())) for component in list(game.equipment().components())[1:]
        )
        return Traits(
            name=name,
            players=players,
            faults=(),
            longest=longest,
            shape=shape,
            channels=channels,
            distinct_moves=self._distinct_moves(),
            hashed=_is_hashed(game),
            scored=bool(game.requiresScore()),
        )

    def _distinct_moves(self) -> int:
        """A number that legal moves rarely exceed: 49 ways to each site if pieces move, and as many as kinds if not.

        Where a move is a long series of choices, on a small board too, there are hundreds more.
        """
        sites, kinds = len(self.layout.places), int(self.game.numComponents())
        own = int(self.wrapper.numDistinctActions()) if self.wrapper is not None else 49 * sites
        return max(own, kinds * sites + 2, _LEAST_ACTIONS)

    @property
    def geometry(self) -> Mapping[str, NDArray[np.float64]]:
        """Where the sites of the board are; see `LudiiGame.geometry`."""
        count = len(self.layout.centres)
        places = [self.layout.places[site] for site in range(count)]
        if self.wrapper is not None:
            columns, rows = self.wrapper.tensorCoordsX(), self.wrapper.tensorCoordsY()
            places = [(int(columns[site]), int(rows[site])) for site in range(count)]
        return {"centres": self.layout.centres, "planes": np.array(places, np.float64)}

    def limit(self, moves: int) -> None:
        """End every match after that many moves as a draw."""
        self.game.setMaxMoveLimit(moves)

    def start(self) -> JavaPosition:
        """The position in which matches begin."""
        jvm.check_process()
        return jvm.translated(self._start, f"{self.traits.name} cannot be started")()

    def thinker(self, name: str) -> JavaThinker:
        """One of Ludii's AIs for one match."""
        jvm.check_process()
        return JavaThinker(self.jpype, self.game, name)

    def _start(self) -> JavaPosition:
        trial = self.jpype.JClass("other.trial.Trial")(self.game)
        context = self.jpype.JClass("other.context.Context")(self.game, trial)
        self.game.start(context)
        return JavaPosition(self, context)


def _faults(game: Any) -> tuple[str, ...]:
    """Why OpenSpiel cannot play `game` as a game of turns and perfect information."""
    if game.hasSubgames():
        return ("it is a match of several games",)
    found = {
        "it has chance": game.isStochasticGame(),
        "it hides information": game.hiddenInformation(),
        "its players move at the same time": game.isSimultaneousMoveGame(),
        "it is a simulation": game.isSimulationMoveGame(),
        "it is a puzzle of deduction": game.isDeductionPuzzle(),
    }
    return tuple(reason for reason, holds in found.items() if holds)


def _is_hashed(game: Any) -> bool:
    """The rules use nothing of a state but what is in `JavaPosition.key`, as far as Ludii's own flags tell."""
    others = (
        game.usesVote(),
        game.usesNote(),
        game.usesValueMap(),
        game.usesRememberingValues(),
        game.usesPendingValues(),
        game.requiresVisited(),
        game.requiresBet(),
        game.requiresTeams(),
        game.hasSequenceCapture(),
        game.hasTrack(),
        game.hasLargePiece(),
        game.hasLargeStack(),
        game.hasDominoes(),
        game.hasCard(),
        game.isBoardless(),
    )
    return not any(map(bool, others))


class JavaPosition(Position):
    """One of Ludii's contexts, and what is known of it already.

    A search asks for one child after the other. The first is made alone; when a second one is wanted, Java makes all
    that are left in few crossings, and they wait here until they are fetched.
    """

    def __init__(
        self,
        rules: JavaRules,
        context: Any,
        facts: int | None = None,
        tensor: NDArray[np.float32] | None = None,
        row: int | None = None,
    ) -> None:
        self._rules = rules
        self._operations: Operations = rules.operations
        self._found = context
        self._row = row
        self._facts: int = facts if facts is not None else self._operations.facts(context)
        self._tensor = tensor
        self._moves: Any = None
        self._count: int | None = None
        self._asked = 0
        self._ready: list[JavaPosition | None] = []

    @property
    def _context(self) -> Any:
        """Ludii's state, fetched from the array of it and its siblings when it is needed first."""
        if self._row is not None:
            self._found, self._row = self._found[self._row], None
        return self._found

    @property
    def over(self) -> bool:
        """The match has ended."""
        return bool(self._facts & 1)

    @property
    def mover(self) -> int:
        """The player to move."""
        return self._facts >> 1

    @property
    def utilities(self) -> tuple[float, ...]:
        """1 for a win, -1 for a loss, for each player."""
        if not self.over:
            return (0.0,) * self._rules.traits.players
        ranks = self._rules.jpype.JClass("other.RankUtils").agentUtilities(self._context)
        return tuple(float(x) for x in ranks[1:])

    @property
    def moves(self) -> int:
        """How many moves are legal."""
        if self._count is None:
            self._count = 0 if self.over else len(self._legal())
        return self._count

    @jvm.translated
    def _legal(self) -> Any:
        if self._moves is None:
            self._moves = self._operations.ordered_moves(self._context)
        return self._moves

    @property
    def context(self) -> Any:
        """Ludii's state; it must not be changed."""
        return self._context

    @jvm.translated
    def number_of(self, move: Any) -> int | None:
        """The number of the legal move that does what `move` does, a move of Ludii's; None if there is none."""
        words = move.toTrialFormat(None)
        same = (i for i, legal in enumerate(self._legal()) if legal.toTrialFormat(None).equals(words))
        return next(same, None)

    def child(self, move: int) -> JavaPosition:
        """The position after a legal move."""
        if self._ready and (waiting := self._ready[move]) is not None:
            self._ready[move] = None
            return waiting
        return self._make_child(move)

    @jvm.translated
    def _make_child(self, move: int) -> JavaPosition:
        self.shared = True
        if self._rules.moves_wear_out:
            return self._child_of_fresh_move(move)
        self._asked += 1
        if self._asked == 2:
            self._make_children()
            return self.child(move)
        return JavaPosition(self._rules, self._operations.child(self._context, self._legal()[move]))

    @jvm.translated
    def advance(self, move: int) -> JavaPosition:
        """The position after a legal move, made of this one."""
        if self._rules.moves_wear_out:
            return self._child_of_fresh_move(move)
        return JavaPosition(self._rules, self._operations.advance(self._context, self._legal()[move]))

    def _child_of_fresh_move(self, move: int) -> JavaPosition:
        context = self._rules.jpype.JClass("other.context.Context")(self._context)
        context.trial().clearLegalMoves()
        moves = self._operations.ordered_moves(context)
        return JavaPosition(self._rules, self._operations.advance(context, moves[move]))

    def _make_children(self) -> None:
        """Make all children, in as few crossings as the buffers allow."""
        moves = self._legal()
        rows = self._operations.rows
        for first in range(0, len(moves), rows):
            made = self._operations.children(self._context, moves, first, tensors=self._rules.seen)
            facts = (2 * made.movers + made.overs).tolist()
            tensors = made.tensors if made.tensors is not None else [None] * len(facts)
            self._ready += [
                JavaPosition(self._rules, made.contexts, fact, tensor, row)
                for row, (fact, tensor) in enumerate(zip(facts, tensors, strict=True))
            ]

    def observe(self, out: NDArray[np.float32]) -> None:
        """Write the tensor into `out`."""
        if self._tensor is None:
            self._look(out)
        else:
            out[:] = self._tensor

    @jvm.translated
    def _look(self, out: NDArray[np.float32]) -> None:
        if self._rules.wrapper is None:
            self._rules.sites.observe(self._context, self.mover, out)
        else:
            self._rules.seen = True
            self._operations.observe(self._context, out)

    @jvm.translated
    def describe_moves(self) -> list[str]:
        """The legal moves in Ludii's notation."""
        if self.over:
            return []
        legal = list(self._legal())
        texts = [self._text(move, decisions=True) for move in legal]
        often = Counter(texts)
        return [
            text if often[text] == 1 else self._text(move, decisions=False)
            for text, move in zip(texts, legal, strict=True)
        ]

    def _text(self, move: Any, *, decisions: bool) -> str:
        """What a move does, in words: only what the player decides, or all."""
        actions = list(_single_actions(move))
        chosen = [action for action in actions if action.isDecision()] if decisions else []
        return ", ".join(dict.fromkeys(str(x.toTurnFormat(self._context, True)) for x in chosen or actions))

    @jvm.translated
    def describe(self) -> str:
        """The position for a person."""
        layout = self._rules.layout
        picture = draw(self._stacks(), layout.places, layout.width, layout.height, self._rules.components)
        scores = self.scores()
        return "\n".join([picture, f"score {' : '.join(f'{x:g}' for x in scores)}"] if scores else [picture])

    def _stacks(self) -> dict[int, Stack]:
        """What stands on each site that is not empty, from the bottom."""
        found = self._rules.sites.read(self._context)
        there = {site: int(found["what"][site]) for site in self._rules.layout.places if found["what"][site]}
        return {
            site: Stack(self._levels(site, top, found), int(found["count"][site]), int(found["state"][site]))
            for site, top in there.items()
        }

    def _levels(self, site: int, top: int, found: Mapping[str, NDArray[np.int32]]) -> tuple[int, ...]:
        """The pieces on a site from the bottom up."""
        levels = int(found["sizeStack"][site]) if "sizeStack" in found else 1
        if levels <= 1:
            return (top,)
        number = next(i for i, (first, n) in enumerate(self._rules.layout.containers) if first <= site < first + n)
        game = self._rules.game
        kind = game.board().defaultSite() if number == 0 else self._rules.jpype.JClass("game.types.board.SiteType").Cell
        container = self._context.containerState(number)
        return tuple(int(container.what(site, level, kind)) for level in range(levels))

    @jvm.translated
    def key(self) -> tuple[int, ...]:
        """Ludii's hash of the state, and what else decides what comes or is seen."""
        context = self._context
        state, trial = context.state(), context.trial()
        players = range(1, self._rules.traits.players + 1)
        numbers = [int(state.fullHash(context)), self._facts, int(state.counter()), int(state.numTurn())]
        numbers += [int(state.currentPhase(player)) for player in players]
        numbers += [int(state.playerToAgent(player)) for player in players]
        numbers += map(int, self.scores() or ())
        for back in range(1, min(2, int(trial.numMoves()) - int(trial.numInitialPlacementMoves())) + 1):
            move = trial.getMove(int(trial.numMoves()) - back)
            numbers += [int(move.fromNonDecision()), int(move.toNonDecision())]
        for earlier in (trial.previousState(), trial.previousStateWithinATurn()):
            numbers.append(int(earlier.size()))
            numbers += sorted(int(x) for x in earlier.toArray())
        return tuple(numbers)

    def scores(self) -> tuple[float, ...] | None:
        """The points of each player, or None where the game keeps none."""
        if not self._rules.traits.scored:
            return None
        return tuple(float(self._context.score(player)) for player in self._colours())

    @jvm.translated
    def pieces(self) -> tuple[int, ...]:
        """How many pieces each player has."""
        if self._rules.game.isStacking():
            owned = self._context.state().owned()
            return tuple(sum(map(len, filter(None, owned.positions(player)))) for player in self._colours())
        found = self._rules.sites.read(self._context)
        there = list(self._rules.layout.places)
        who, count = found["who"][there], np.maximum(found["count"][there], 1)
        return tuple(int(count[who == player].sum()) for player in self._colours())

    def _colours(self) -> list[int]:
        """For each player Ludii's number of the side that is theirs now."""
        agents = [int(self._context.state().playerToAgent(i + 1)) for i in range(self._rules.traits.players)]
        return [agents.index(player + 1) + 1 for player in range(len(agents))]


def _single_actions(move: Any) -> Iterator[Any]:
    """The actions of a move, those of the moves inside it included."""
    for action in move.actions():
        if hasattr(action, "actions"):
            yield from _single_actions(action)
        else:
            yield action


def _suits_ludiis_tensor(game: Any, layout: Layout) -> bool:
    """Ludii's tensor shows each site of the game in a place of its own, and does not fail.

    It counts the board's cells where pieces stand on vertices or edges, and puts all hands but the last one into the
    board's corner where they are columns.
    """
    board = game.board()
    on_cells = str(board.defaultSite()) == "Cell"
    hands = len(layout.containers) - 1
    several = sum(map(bool, (game.isCellGame(), game.isVertexGame(), game.isEdgeGame()))) > 1
    counted = on_cells or (
        hands == 0 and not game.isStacking() and not game.requiresCount() and not game.requiresLocalState()
    )
    same = int(board.numSites()) == len(layout.centres)
    return counted and same and hands <= 1 and not several and layout.flat
