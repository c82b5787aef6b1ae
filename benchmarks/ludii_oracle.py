"""Compares the bridge with a plain loop over Ludii's `Game`, `Context` and `Trial` that plays the same games.

The loop compiles its own game and uses nothing of the bridge. At each ply the script compares the legal moves (a
multiset of Ludii's texts of each move with its consequences), the mover, the contents of the sites, the scores, whether
the game is over, and then the returns by Ludii's ranking. Games are drawn with a seed from those that the sweep found
playable; games with chance are left out. The exit code is 1 if anything differs.

    python benchmarks/ludii_oracle.py                             # a random play of each of 120 games
    python benchmarks/ludii_oracle.py --ai UCT --games 50         # the effects of an AI's choices
    python benchmarks/ludii_oracle.py --names Go Hex Fanorona
    python benchmarks/ludii_oracle.py --dry-run                   # to check that it runs

With `--ai`, an AI chooses the moves, with a few iterations each. The chosen move is applied to a copy of Ludii's state,
and the state after the bridge's action is compared with it, including Ludii's hash.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyspiel

import ludii_bridge
from common import make_parser
from ludii_bridge import LudiiError, verdicts
from ludii_bridge.ai import LudiiAI
from ludii_bridge.installation import find_jar

KINDS = ("sowing", "stacking", "captures of several pieces", "repetition", "swap")
"""Difficult properties of games, by Ludii's own flags."""


def read_arguments() -> argparse.Namespace:
    """Returns the arguments."""
    parser = make_parser(__doc__)
    parser.add_argument("--games", type=int, default=120, help="number of random games (default 120)")
    parser.add_argument("--seed", type=int, default=12, help="seed of games and moves (default 12)")
    parser.add_argument("--names", nargs="+", help="these games instead")
    parser.add_argument("--length", type=int, default=1000, help="moves after which a game is a draw (default 1000)")
    parser.add_argument("--seconds", type=float, default=20.0, help="time limit of a game (default 20)")
    parser.add_argument("--ai", default="", help="one of Ludii's AIs that counts iterations, to choose the moves")
    parser.add_argument("--iterations", type=int, default=5, help="iterations of the AI per move (default 5)")
    parser.add_argument("--dry-run", action="store_true", help="smallest counts")
    arguments = parser.parse_args()
    if arguments.dry_run:
        arguments.names, arguments.length = ["Tic-Tac-Toe", "Kalah", "Tic-Tac-Mo"], 12
    return arguments


@dataclass
class Found:
    """Comparison of one game.

    Attributes:
        name: Ludii's name.
        kinds: entries of `KINDS` that apply.
        plies: number of compared moves.
        ended: whether a terminal state was reached.
        difference: the first difference as text; empty if there was none.
    """

    name: str
    kinds: list[str] = field(default_factory=list)
    plies: int = 0
    ended: bool = False
    difference: str = ""


class DifferenceError(Exception):
    """The bridge and Ludii are in different states."""


class Plain:
    """A game played by Ludii without the bridge.

    Args:
        name: Ludii's name.
        max_length: moves after which the game is a draw.
    """

    def __init__(self, name: str, max_length: int) -> None:
        import jpype

        self.context_of = jpype.JClass("other.context.Context")
        concept = jpype.JClass("other.concept.Concept")
        path = ludii_bridge.connect().catalogue.find(name).path
        self.game = jpype.JClass("other.GameLoader").loadGameFromName(path, jpype.java.util.ArrayList())
        self.game.setMaxMoveLimit(max_length)
        self.context = self.context_of(self.game, jpype.JClass("other.trial.Trial")(self.game))
        self.game.start(self.context)
        meta, concepts = self.game.metaRules(), self.game.booleanConcepts()
        several = bool(concepts.get(concept.HopCaptureMoreThanOne.id())) or bool(self.game.hasSequenceCapture())
        of_kind = (
            bool(concepts.get(concept.Sow.id())),
            bool(self.game.isStacking()),
            several,
            meta.repetitionType() is not None,
            bool(meta.usesSwapRule()),
        )
        self.kinds = [kind for kind, holds in zip(KINDS, of_kind, strict=True) if holds]

    @property
    def over(self) -> bool:
        """Whether the game is over."""
        return bool(self.context.trial().over())

    def texts(self) -> list[str]:
        """Returns Ludii's text of each legal move with its consequences, in Ludii's order."""
        return written(self.context_of, self.game, self.context)

    def play(self, number: int) -> None:
        """Applies the legal move with that index in Ludii's order."""
        self.game.apply(self.context, self.game.moves(self.context).moves().get(number))

    @property
    def mover(self) -> int:
        """The player to move, from 0; players keep their numbers when sides are swapped."""
        state = self.context.state()
        return int(state.playerToAgent(state.mover())) - 1

    @property
    def returns(self) -> list[float]:
        """For two players the difference of their ranks; for n, from 1 for rank 1 to -1 for rank n."""
        players = range(1, int(self.game.players().count()) + 1)
        ranks = [float(self.context.trial().ranking()[int(self.context.state().playerToAgent(p))]) for p in players]
        if len(ranks) == 2:
            return [ranks[1] - ranks[0], ranks[0] - ranks[1]]
        return [round(1 - 2 * (rank - 1) / (len(ranks) - 1), 9) for rank in ranks]


def written(context_of: Any, game: Any, context: Any) -> list[str]:
    """Returns Ludii's text of each legal move, without changing the state.

    The consequences are found by applying a move, which changes it in a few games, so a copy's moves are used.
    """
    copy = context_of(context)
    copy.trial().clearLegalMoves()
    return [str(move.toTrialFormat(copy)) for move in list(game.moves(copy).moves())]


def standing(rules: Any, context: Any) -> dict[str, bytes]:
    """Returns the contents of all sites, and the scores."""
    found = {name: np.asarray(numbers).tobytes() for name, numbers in rules.sites(context).items()}
    if rules.traits.scored:
        players = range(1, rules.traits.players + 1)
        found["scores"] = bytes(str([int(context.score(player)) for player in players]), "ascii")
    return found


def require_same_standing(when: str, rules: Any, bridge: Any, plain: Any) -> None:
    """Raises `DifferenceError` unless two of Ludii's states have equal sites and scores."""
    mine, theirs = standing(rules, bridge), standing(rules, plain)
    differ = [name for name in mine if mine[name] != theirs[name]]
    require_same(f"what stands {when}", differ, [])


def require_same(what: str, bridge: Any, plain: Any) -> None:
    """Raises `DifferenceError` unless both are equal."""
    if bridge != plain:
        raise DifferenceError(f"{what}: {shown(bridge)} by the bridge, {shown(plain)} by Ludii")


def shown(value: Any) -> str:
    """Returns a value as text of at most 80 characters."""
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def compare(state: Any, plain: Plain) -> list[str]:
    """Compares a state of the bridge with Ludii's; returns Ludii's text of each legal move."""
    rules, position = state.get_game().rules, state.position
    require_same("over", state.is_terminal(), plain.over)
    require_same_standing("on the sites", rules, position.context, plain.context)
    if plain.over:
        require_same("returns", [round(x, 9) for x in state.returns()], plain.returns)
        return []
    require_same("mover", state.current_player(), plain.mover)
    copy = plain.context_of(position.context)
    mine = [str(move.toTrialFormat(copy)) for move in position._legal()]
    theirs = plain.texts()
    require_same("number of moves", len(mine), len(theirs))
    more, less = Counter(mine) - Counter(theirs), Counter(theirs) - Counter(mine)
    require_same("legal moves", sorted(more), sorted(less))
    return mine


def play(name: str, arguments: argparse.Namespace) -> Found:
    """Compares a random play of a game until it ends or the time is over."""
    found = Found(name)
    rng = random.Random(f"{arguments.seed} {name}")
    game = loaded(name, arguments.length)
    if game.max_chance_outcomes():
        raise LudiiError("it has chance, and Ludii's draws are its own")
    plain = Plain(name, game.max_game_length())
    found.kinds = plain.kinds
    state = game.new_initial_state()
    stop = time.monotonic() + arguments.seconds
    try:
        mine = compare(state, plain)
        while mine and time.monotonic() < stop:
            action = rng.randrange(len(mine))
            same = mine[:action].count(mine[action])  # moves with the same text have the same effect
            number = [i for i, text in enumerate(plain.texts()) if text == mine[action]][same]
            state.apply_action(action)
            plain.play(number)
            found.plies += 1
            mine = compare(state, plain)
        found.ended = not mine
    except DifferenceError as error:
        found.difference = str(error)
    return found


def loaded(name: str, max_length: int) -> Any:
    """Returns the bridge's game."""
    return pyspiel.load_game("ludii", {"game": name.translate(str.maketrans("()", "[]")), "max_length": max_length})


class Recorder:
    """One of Ludii's AIs, with the last move that it chose."""

    move: Any = None

    def __init__(self, ai: Any) -> None:
        self.ai = ai

    def __getattr__(self, name: str) -> Any:
        return getattr(self.ai, name)

    def selectAction(self, *arguments: Any) -> Any:  # noqa: N802  Ludii's name
        """Returns the AI's move, and stores it."""
        self.move = self.ai.selectAction(*arguments)
        return self.move


def choose(name: str, arguments: argparse.Namespace) -> Found:
    """Compares the effect of each choice in a game that one of Ludii's AIs plays."""
    import jpype

    found = Found(name)
    game = loaded(name, arguments.length)
    ludii, context_of = game.rules.game, jpype.JClass("other.context.Context")
    ai = LudiiAI(game, arguments.ai, iterations=arguments.iterations)
    state = game.new_initial_state()
    recorder: Recorder | None = None
    stop = time.monotonic() + arguments.seconds
    try:
        while not state.is_terminal() and time.monotonic() < stop:
            if recorder is None:  # the AI is created for its first choice
                ai.choose(state)
                recorder = ai._match_ai._ai = Recorder(ai._match_ai._ai)  # type: ignore[union-attr]
            action = ai.choose(state)
            expected = context_of(state.position.context)
            ludii.moves(expected)  # Ludii's own loop does this before it applies a move; it changes the hash
            ludii.apply(expected, recorder.move)
            state.apply_action(action)
            found.plies += 1
            rules, context = game.rules, state.position.context
            require_same_standing("after an AI's move", rules, context, expected)
            hashes = [int(x.state().fullHash(x)) for x in (context, expected)]
            require_same("hash after an AI's move", *hashes)
            require_same("over after an AI's move", state.is_terminal(), bool(expected.trial().over()))
        found.ended = state.is_terminal()
    except DifferenceError as error:
        found.difference = str(error)
    return found


def main() -> None:
    """Prints a line per game, and sums."""
    arguments = read_arguments()
    supported = [verdict.name for verdict in verdicts.read() if not verdict.reason]
    names = arguments.names or random.Random(arguments.seed).sample(supported, min(arguments.games, len(supported)))
    find_jar()  # raises if something is missing
    all_found, left_out = [], []
    for name in names:
        try:
            found = (choose if arguments.ai else play)(name, arguments)
        except LudiiError as error:
            left_out.append(name)
            print(f"{name}: left out, {error}", flush=True)
            continue
        all_found.append(found)
        ended = "to its end" if found.ended else "stopped"
        print(f"{name}: {found.plies} plies, {ended}{found.difference and ': ' + found.difference}", flush=True)
    print(f"\n{len(all_found)} games, {sum(found.ended for found in all_found)} of them to the end")
    print(f"{sum(found.plies for found in all_found):,} plies compared")
    if not arguments.ai:
        kinds = Counter(kind for found in all_found for kind in found.kinds)
        print(", ".join(f"{kinds[kind]} with {kind}" for kind in KINDS))
    differences = sum(bool(found.difference) for found in all_found)
    print(f"{differences} games differ; {len(left_out)} left out: {', '.join(left_out) or 'none'}")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
