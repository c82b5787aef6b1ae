"""Report of an experiment: Markdown for people, CSV and JSON for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from athenan_spiel.arena.tables import code, cross_table, csv_text, markdown_table, share_cell
from athenan_spiel.config import TrainingConfig
from athenan_spiel.experiments.reaching import Moments, Reached, reached, reached_against_fixed, reaching_tables
from athenan_spiel.experiments.settings import Experiment, FixedOpponent, FixedPool
from athenan_spiel.experiments.statistics import (
    MEAN,
    Difference,
    Points,
    Share,
    curve_shares,
    final_differences,
    final_shares,
    fixed_shares,
    head_to_head,
)
from athenan_spiel.play.intervals import Interval
from athenan_spiel.training.checkpoints import Counters


@dataclass(frozen=True)
class TrainingEffort:
    """Counters of a variant's trainings at a game, mean over repetitions."""

    game: str
    variant: str
    seconds: float
    matches: float
    evaluations: float
    states_learned: float

    @classmethod
    def mean_of(cls, game: str, variant: str, counters: Sequence[Counters]) -> TrainingEffort:
        """Returns the mean of the counters at the end of each training."""
        names = ("seconds", "matches", "evaluations", "states_learned")
        return cls(game, variant, *(sum(getattr(one, name) for one in counters) / len(counters) for name in names))


@dataclass(frozen=True)
class ExperimentResults:
    """All results of an experiment.

    Attributes:
        final: points of the final networks.
        differences: points of the best variant minus those of the others.
        curves: points of each stage's networks, including the last stage.
        duels: maps (row, column) to the row's share of the points against the column, mean over games.
        reached: training time until a variant is as strong as another one at its end.
        moments: shares of the training at which networks were saved.
        efforts: counters of the trainings.
        fixed: points of each stage's networks against the opponents of [fixed].
        complete: whether all trainings and games are finished.
    """

    experiment: Experiment
    final: list[Share]
    differences: list[Difference]
    curves: list[Share]
    duels: dict[tuple[str, str], float]
    reached: list[Reached]
    moments: Moments
    efforts: list[TrainingEffort]
    fixed: list[Share]
    complete: bool

    @classmethod
    def of(
        cls, points: Points, efforts: Sequence[TrainingEffort] = (), *, complete: bool, moments: Moments | None = None
    ) -> ExperimentResults:
        """Evaluate the points.

        Args:
            moments: shares of the training at which networks were saved; by default the planned ones.
        """
        met = points.plan.experiment.protocol.opponents != "none"
        moments = moments or Moments(points.plan)
        return cls(
            experiment=points.plan.experiment,
            final=final_shares(points) if met else [],
            differences=final_differences(points) if met else [],
            curves=curve_shares(points) if met else [],
            duels=head_to_head(points) if met else {},
            reached=[*(reached(points, moments) if met else []), *reached_against_fixed(points, moments)],
            moments=moments,
            efforts=list(efforts),
            fixed=fixed_shares(points),
            complete=complete,
        )

    def to_json(self) -> dict[str, Any]:
        """Returns all results as JSON values."""
        fixed = {} if self.experiment.fixed is None else {"fixed": [_share_json(share) for share in self.fixed]}
        return {
            "name": self.experiment.name,
            "complete": self.complete,
            "final": [_share_json(share) for share in self.final],
            "differences": [
                {"variant": d.variant, "other": d.other, "games": d.games, "estimate": d.estimate, **_ends(d.interval)}
                for d in self.differences
            ],
            "curves": [_share_json(share) for share in self.curves],
            "head_to_head": [{"row": row, "column": column, "points": v} for (row, column), v in self.duels.items()],
            "reached": [_reached_json(one) for one in self.reached],
            "stages": self.moments.rows(),
            "training": [vars(effort) for effort in self.efforts],
            **fixed,
        }

    def files(self) -> dict[str, str]:
        """Returns the report's files by name: report.md, and a CSV file for each table except the differences."""
        tables = {name: rows for name, rows in self.to_json().items() if isinstance(rows, list)}
        del tables["differences"]
        return {"report.md": self.markdown(), **{f"{name}.csv": csv_text(rows) for name, rows in tables.items()}}

    def markdown(self) -> str:
        """Returns the report in Markdown."""
        parts = [
            f"# {code(self.experiment.name)}",
            "" if self.complete else "**Not finished: some games are missing.**",
            *_about(self.experiment),
        ]
        if self.experiment.protocol.opponents != "none":
            parts += ["## Final points", self.final_table()]
        if self.differences:
            parts.append(self._difference_text())
        if self.final:
            parts.append("![](final.png)")
        if self.experiment.protocol.stages > 1 and self.curves:
            parts += ["## Learning curves", "![](curves.png)"]
        if self.experiment.fixed is not None:
            parts += ["## Against fixed opponents", _about_fixed(self.experiment, self.experiment.fixed)]
            parts += self._fixed_parts()
        if self.duels:
            names = [variant.name for variant in self.experiment.variants]
            parts += ["## Head to head", _HEAD_TO_HEAD, cross_table(names, self.duels)]
        if self.reached and self.experiment.protocol.stages > 1:
            legend = _REACHED + (_REACHED_BETWEEN if self.experiment.repetitions > 1 else "")
            parts += ["## Training time to equal strength", legend, *reaching_tables(self.experiment, self.reached)]
        if self.efforts:
            parts += ["## Training effort", "Means over repetitions.", self._effort_table()]
        return "\n\n".join(part for part in parts if part) + "\n"

    def tables(self) -> str:
        """Returns the tables of the last stage, for the terminal."""
        tables = [self.final_table()] if self.experiment.protocol.opponents != "none" else []
        tables += [f"against {one.name}:\n{self._fixed_table(one, shares)}" for one, shares in self._last_fixed()]
        return "\n\n".join(tables)

    def final_table(self) -> str:
        """Returns the points of the last networks among each other, games by variants."""
        names = [variant.name for variant in self.experiment.variants]
        return self._share_table(names, self.experiment.games, self.final)

    def _share_table(self, names: Sequence[str], games: Sequence[str], shares: Sequence[Share]) -> str:
        """Returns a Markdown table of games by variants with means and intervals; the best of each row is bold.

        X marks a variant that does not play a game; unknown points are empty.
        """
        known = {(share.game, share.variant): share for share in shares}
        planned = {(game, variant.name) for variant in self.experiment.variants for game in (*variant.games, MEAN)}
        rows = []
        for game in (*games, MEAN):
            row = [known[game, name].estimate for name in names if (game, name) in known]
            if game == MEAN and len(games) == 1 and not row:
                continue
            cells = []
            for name in names:
                share = known.get((game, name))
                if share is not None:
                    best = len(row) > 1 and share.estimate == max(row)
                    cells.append(share_cell(share.estimate, share.interval, best=best, decimals=0))
                else:
                    cells.append("" if (game, name) in planned else "X")
            rows.append([game if game == MEAN else code(game), *cells])
        return markdown_table(["", *map(code, names)], rows)

    def _last_fixed(self) -> Iterator[tuple[FixedOpponent, list[Share]]]:
        """Yields the opponents of [fixed] with shares of the last stage."""
        pool = self.experiment.fixed
        last = [share for share in self.fixed if share.stage == self.experiment.protocol.stages]
        for opponent in () if pool is None else pool.opponents:
            if shares := [share for share in last if share.opponent == opponent.name]:
                yield opponent, shares

    def _fixed_table(self, opponent: FixedOpponent, shares: Sequence[Share]) -> str:
        return self._share_table(opponent.variants, opponent.games, shares)

    def _fixed_parts(self) -> list[str]:
        parts, last = [], [*self._last_fixed()]
        for opponent, shares in last:
            spec = f" ({code(opponent.spec)})" if opponent.name != opponent.spec else ""
            parts += [f"### {code(opponent.name)}{spec}", self._fixed_table(opponent, shares)]
            at_games = [share for share in shares if share.game != MEAN]
            if forfeits := sum(share.forfeits for share in at_games):
                matches = sum(share.matches for share in at_games)
                parts.append(
                    f"**{forfeits} of these {matches} games ended because a player failed**, see matches.jsonl."
                )
        return [*parts, *(["![](fixed.png)"] if last else [])]

    def _difference_text(self) -> str:
        leads = [
            f"{code(d.other)} {_signed(d.estimate)}"
            + (f" ({_signed(d.interval.low)} to {_signed(d.interval.high)})" if d.interval is not None else "")
            for d in sorted(self.differences, key=lambda d: d.estimate)
        ]
        with_intervals = " with intervals of the differences," if any(d.interval for d in self.differences) else ""
        return (
            f"Lead of variant {code(self.differences[0].variant)}, which has the best mean, in percentage points,"
            f"{with_intervals} in the games that both play: {'; '.join(leads)}."
        )

    def _effort_table(self) -> str:
        rows = [
            [
                code(e.game),
                code(e.variant),
                f"{e.seconds:.0f}",
                f"{e.matches:,.0f}",
                f"{e.evaluations:,.0f}",
                f"{e.states_learned:,.0f}",
            ]
            for e in self.efforts
        ]
        return markdown_table(["game", "trained as", "seconds", "games", "evaluations", "training samples"], rows)


_HEAD_TO_HEAD = "The row's share of the points against the column, mean over the games that both play."


_REACHED = (
    "Share of the row's training after which its networks score half of the points against the column's final networks "
    "of their repetition, or as many points against a fixed opponent as those score. ≤: at the first stage or before; "
    "never: not even at the end. The network of a stage is saved after the first round that passes it; shares are the "
    "real ones, mean over repetitions (stages.csv)."
)
_REACHED_BETWEEN = " In parentheses: the interval by the bootstrap over repetitions."


def length_of(config: TrainingConfig) -> str:
    """Returns the length of a training as text."""
    limits = [f"{config.seconds:g} s"] if config.seconds is not None else []
    limits += [f"{config.matches:,} games"] if config.matches is not None else []
    return " or ".join(limits)


def _about(experiment: Experiment) -> list[str]:
    protocol, repetitions = experiment.protocol, experiment.repetitions
    lengths = ", ".join(dict.fromkeys(length_of(variant.training) for variant in experiment.variants))
    counts = f"{len(experiment.variants)} variants, {len(experiment.games)} games, {repetitions} repetitions"
    start, points = (
        f"{counts}; each training lasts {lengths}.",
        "Points are the share of games won, a draw counting half",
    )
    if protocol.opponents == "none":
        return [f"{start} {points}, in percent. Networks played no other networks."]
    plays = ", ".join(dict.fromkeys(variant.play.search.algorithm for variant in experiment.variants))
    opponents = "all repetitions" if protocol.opponents == "all" else "its own repetition"
    intervals = (
        f"In parentheses: the {protocol.confidence:.0%} interval by the stratified bootstrap ({protocol.resamples:,} "
        "resamples of the repetitions within each game); no interval if the resamples are all equal. "
    )
    return [
        f"{start} Networks play with {plays}{' of depth 1' if plays == 'minimax' else ''}.",
        f"{points}, in percent. Each final network played {protocol.matches} games against each other one of "
        f"{opponents}, "
        f"{_openings(protocol.opening_plies, 'one with each colour')}. {intervals if repetitions > 1 else ''}"
        "The mean is over the games that a variant plays; X marks the others.",
        "With one repetition there are no intervals." if repetitions == 1 else "",
    ]


def _about_fixed(experiment: Experiment, pool: FixedPool) -> str:
    config = pool.config
    opponents = "Each network of the last stage" if config.stages == "last" else "Each network of every stage"
    plays = "as its variant defines" if pool.play is None else f"with {pool.play.search.algorithm}"
    several = experiment.repetitions > 1
    by = "by the stratified bootstrap over repetitions" if several else "of this network, over its games"
    return (
        f"{opponents} played {config.matches} games against each of these opponents, "
        f"{_openings(config.opening_plies, 'half with each colour')}; it plays {plays}. The tables show the last "
        f"stage. In parentheses: the {experiment.protocol.confidence:.0%} interval {by}. The papers count wins minus "
        "losses, which is twice the points minus 100 %."
    )


def _openings(plies: int, without: str) -> str:
    return f"from {plies} random plies, each opening with both colours" if plies else without


def _signed(share: float) -> str:
    return f"{100 * share:+.1f}"


def _share_json(share: Share) -> dict[str, Any]:
    """Returns a share as JSON values; against an opponent of [fixed] with the papers' `wins_minus_losses`."""
    fixed = bool(share.opponent)
    return {
        "game": share.game,
        "variant": share.variant,
        **({"opponent": share.opponent} if fixed else {}),
        "stage": share.stage,
        "points": round(share.estimate, 6),
        **_ends(share.interval),
        **({"wins_minus_losses": round(2 * share.estimate - 1, 6)} if fixed else {}),
        "repetitions": share.repetitions,
        "matches": share.matches,
        **({"forfeits": share.forfeits} if fixed else {}),
    }


def _ends(interval: Interval | None) -> dict[str, float | None]:
    if interval is None:
        return {"low": None, "high": None, "confidence": None}
    return {"low": round(interval.low, 6), "high": round(interval.high, 6), "confidence": interval.confidence}


def _reached_json(one: Reached) -> dict[str, Any]:
    """Returns a result as JSON values; infinite or missing numbers are None."""
    numbers = {"share": one.share, "low": one.low, "high": one.high}
    finite = {name: round(value, 6) if math.isfinite(value) else None for name, value in numbers.items()}
    return {"game": one.game, "variant": one.variant, "rival": one.rival, "opponent": one.opponent, **finite}
