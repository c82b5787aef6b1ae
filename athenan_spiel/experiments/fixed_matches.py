"""The matches of networks with the opponents of [fixed].

1. All networks of a game meet all opponents in the same openings.
2. Each match is reported as it ends, and depends on nothing but the experiment and its number, as far as no move is
   limited by time; so those that are left may be played in any order, and by any process.
3. A player that fails, as an engine may, has lost that match, with a reason.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from agents import make_bot, parse_word
from athenan_spiel.config import TrainingConfig
from athenan_spiel.experiments.matches import StoppedError, loaded_game, player_of, require_network
from athenan_spiel.experiments.plan import FixedPairing, seed_of
from athenan_spiel.experiments.settings import FixedConfig, PlayConfig
from athenan_spiel.play.match import MatchResult
from athenan_spiel.play.series import Fixture, fixtures, parts, play_together, sides_of

MATCHES_A_TASK = 20
"""Matches that a process plays in a row."""


@dataclass(frozen=True)
class FixedMatchUp:
    """A pairing with what is needed to play it.

    Attributes:
        network: the folder of the saved network.
        training: how it was trained.
        play: how it plays.
        word: the opponent's.
        numbers: of the matches that are to be played, from 1; those of an opening follow each other.
    """

    pairing: FixedPairing
    network: Path
    training: TrainingConfig
    play: PlayConfig
    word: str
    numbers: Sequence[int]

    def split(self) -> Iterator[FixedMatchUp]:
        """The same in parts, of a task each."""
        for start in range(0, len(self.numbers), MATCHES_A_TASK):
            yield dataclasses.replace(self, numbers=self.numbers[start : start + MATCHES_A_TASK])


@dataclass(frozen=True)
class FixedMatchesTask:
    """To play some matches of a pairing. Reports the row of each as it ends, a row being a match as a JSON object."""

    keeps: ClassVar[bool] = False  # what was reported is kept by who asked
    processes_option: ClassVar[str] = "--processes"
    matchup: FixedMatchUp
    config: FixedConfig
    seed: int

    def run(self, report: Callable[[dict[str, Any]], None], stop: Callable[[], bool]) -> bool:
        """Play them all, or until `stop` as one has ended."""
        matchup, pairing = self.matchup, self.matchup.pairing
        game = loaded_game(pairing.game)
        require_network(matchup.network, pairing.game, matchup.training)
        seed = seed_of(self.seed, "fixed", dataclasses.astuple(pairing))
        code = (matchup.training.outcome,)  # of the experiment's file, and allowed
        word = parse_word(matchup.word).allowing(code)
        sides = sides_of(
            lambda player: player_of(matchup.network, matchup.play, seed_of(seed, "a", player), code),
            lambda player: make_bot(word, game, player, seed_of(seed, "b", player)),
        )
        openings = seed_of(self.seed, "fixed openings", pairing.game)
        planned = fixtures(game, self.config.matches, self.config.opening_plies, openings)
        left = [planned[number - 1] for number in matchup.numbers]

        def on_result(fixture: Fixture, result: MatchResult) -> None:
            report(_row(pairing, fixture, result))
            if stop():
                raise StoppedError

        try:
            for part in parts(sides, left):
                play_together(game, sides, part, on_result, forfeits=True)
        except StoppedError:
            return False
        return True


def _row(pairing: FixedPairing, fixture: Fixture, result: MatchResult) -> dict[str, Any]:
    """A match: who was who, who began, what was played, and what came out for the network, which is a."""
    colour, forfeit = fixture.colour, result.forfeit
    failed = (
        None if forfeit is None else f"{'network' if forfeit.player_id == colour else 'opponent'}: {forfeit.reason}"
    )
    return {
        "game": pairing.game,
        **{f"{name}_a": value for name, value in dataclasses.asdict(pairing.player).items()},
        "opponent": pairing.opponent,
        "match": fixture.index + 1,
        "player_id_a": colour,
        "points_a": result.points(colour),
        "forfeit": failed,
        "opening_plies": result.opening_plies,
        "returns": list(result.returns),
        "seconds_a": round(result.seconds[colour], 4),
        "seconds_b": round(result.seconds[1 - colour], 4),
        "actions": list(result.history),
    }
