"""The tables of an experiment: Markdown for people, CSV and JSON for programs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from athenan_spiel.arena.tables import code, csv_text, markdown_table
from athenan_spiel.config import TrainingConfig
from athenan_spiel.experiments.fixed_report import fixed_json, fixed_parts, fixed_tables
from athenan_spiel.experiments.fixed_statistics import FixedShare
from athenan_spiel.experiments.markdown import ends
from athenan_spiel.experiments.moments import Moments
from athenan_spiel.experiments.reaching import Reached, reached, reaching_tables
from athenan_spiel.experiments.settings import Experiment
from athenan_spiel.experiments.statistics import (
    MEAN,
    Difference,
    Points,
    Share,
    curve_shares,
    final_differences,
    final_shares,
    head_to_head,
)


@dataclass(frozen=True)
class Effort:
    """What the trainings of a variant did at a game, each number a mean over its repetitions."""

    game: str
    variant: str
    seconds: float
    matches: float
    evaluations: float
    states_learned: float


@dataclass(frozen=True)
class Results:
    """All that is known of an experiment.

    Attributes:
        final: points of the final networks.
        differences: of the best variant to the others.
        curves: points of each stage's networks, the last stage included.
        duels: (row, column) → the row's share against the column, mean over games.
        reached: how soon a variant is as strong as another one is at the end.
        moments: when the networks of each stage were saved.
        efforts: of the trainings.
        fixed: points against the opponents of [fixed], of each stage's networks.
        complete: whether all trainings and matches are done.
    """

    experiment: Experiment
    final: list[Share]
    differences: list[Difference]
    curves: list[Share]
    duels: dict[tuple[str, str], float]
    reached: list[Reached]
    moments: Moments
    efforts: list[Effort]
    fixed: list[FixedShare]
    complete: bool

    @classmethod
    def of(
        cls,
        points: Points,
        efforts: Sequence[Effort],
        complete: bool,
        moments: Moments | None = None,
        fixed: Sequence[FixedShare] = (),
        reached_fixed: Sequence[Reached] = (),
    ) -> Results:
        """What the points say.

        Args:
            moments: when networks were saved; none: as it was planned.
            fixed, reached_fixed: what was found of the opponents of [fixed].
        """
        met = points.plan.experiment.protocol.opponents != "none"
        moments = moments or Moments(points.plan)
        return cls(
            experiment=points.plan.experiment,
            final=final_shares(points) if met else [],
            differences=final_differences(points) if met else [],
            curves=curve_shares(points) if met else [],
            duels=head_to_head(points) if met else {},
            reached=[*(reached(points, moments) if met else []), *reached_fixed],
            moments=moments,
            efforts=list(efforts),
            fixed=list(fixed),
            complete=complete,
        )

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "name": self.experiment.name,
            "complete": self.complete,
            "final": [_share_json(share) for share in self.final],
            "differences": [
                {
                    "variant": d.variant,
                    "other": d.other,
                    "games": d.games,
                    "estimate": d.estimate,
                    **ends(d.interval),
                }
                for d in self.differences
            ],
            "curves": [_share_json(share) for share in self.curves],
            "head_to_head": [{"row": row, "column": column, "points": v} for (row, column), v in self.duels.items()],
            "reached": [_reached_json(one) for one in self.reached],
            "stages": [{**vars(moment), "share": round(moment.share, 6)} for moment in self.moments.all()],
            "training": [vars(effort) for effort in self.efforts],
            **({"fixed": [fixed_json(share) for share in self.fixed]} if self.experiment.fixed is not None else {}),
        }

    def files(self) -> dict[str, str]:
        """The report's texts by file name."""
        return {
            "report.md": self.markdown(),
            "final.csv": csv_text([_share_json(share) for share in self.final]),
            "curves.csv": csv_text([_share_json(share) for share in self.curves]),
            "head_to_head.csv": csv_text(self.to_json()["head_to_head"]),
            "reached.csv": csv_text(self.to_json()["reached"]),
            "stages.csv": csv_text(self.to_json()["stages"]),
            "training.csv": csv_text(self.to_json()["training"]),
            **({"fixed.csv": csv_text(self.to_json()["fixed"])} if self.experiment.fixed is not None else {}),
        }

    def markdown(self) -> str:
        """The report: what was compared, final points, head to head, what the trainings did."""
        parts = [
            f"# {code(self.experiment.name)}",
            "" if self.complete else "**Not finished: some matches are missing.**",
        ]
        parts += _about(self.experiment)
        if self.experiment.protocol.opponents != "none":
            parts += ["## Final points", self.final_table()]
        if self.differences:
            parts.append(self._difference_text())
        if self.final:
            parts.append("![](final.png)")
        if self.experiment.protocol.stages > 1 and self.curves:
            parts += ["## While training", "![](curves.png)"]
        if self.experiment.fixed is not None:
            parts += fixed_parts(self.experiment, self.fixed)
        if self.duels:
            parts += ["## Head to head", _HEAD_TO_HEAD, self._duel_table()]
        if self.reached and self.experiment.protocol.stages > 1:
            told = _REACHED + (_REACHED_BETWEEN if self.experiment.repetitions > 1 else "")
            parts += ["## When as strong as at the end", told, *reaching_tables(self.experiment, self.reached)]
        if self.efforts:
            parts += ["## What the trainings did", "Means over repetitions.", self._effort_table()]
        return "\n\n".join(part for part in parts if part) + "\n"

    def tables(self) -> str:
        """The tables of the last networks, as a terminal shows them."""
        own = self.final_table() if self.experiment.protocol.opponents != "none" else ""
        return "\n\n".join(table for table in (own, fixed_tables(self.experiment, self.fixed)) if table)

    def final_table(self) -> str:
        """Games by variants in Markdown, the best of each row in bold, and the means with their intervals.

        X is where a variant takes no part; what is not known yet is empty.
        """
        taking_part = {(game, variant.name) for variant in self.experiment.variants for game in (*variant.games, MEAN)}
        shares = {(share.game, share.variant): share for share in self.final}
        names = [variant.name for variant in self.experiment.variants]
        rows = []
        for game in (*self.experiment.games, MEAN):
            known = [shares[game, name].estimate for name in names if (game, name) in shares]
            cells = []
            for name in names:
                share = shares.get((game, name))
                if share is not None:
                    cells.append(_cell(share, best=share.estimate == max(known)))
                else:
                    cells.append("" if (game, name) in taking_part else "X")
            rows.append([game if game == MEAN else code(game), *cells])
        return markdown_table(["", *map(code, names)], rows)

    def _difference_text(self) -> str:
        """By how much the best is ahead."""
        told = [
            f"{code(d.other)} {_signed(d.estimate)}"
            + (f" ({_signed(d.interval.low)} to {_signed(d.interval.high)})" if d.interval is not None else "")
            for d in sorted(self.differences, key=lambda d: d.estimate)
        ]
        with_intervals = " with intervals of the differences," if any(d.interval for d in self.differences) else ""
        return (
            f"Variant {code(self.differences[0].variant)}, which has the best mean, is ahead by these percentage "
            f"points,{with_intervals} at the games in which both take part: {'; '.join(told)}."
        )

    def _duel_table(self) -> str:
        names = [variant.name for variant in self.experiment.variants]
        rows = [
            [code(row), *(f"{self.duels[row, column]:.1%}" if (row, column) in self.duels else "" for column in names)]
            for row in names
        ]
        return markdown_table(["", *map(code, names)], rows)

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
        return markdown_table(["game", "trained as", "seconds", "matches", "states valued", "states learned"], rows)


_HEAD_TO_HEAD = "The row's share of the points against the column, mean over the games that both take part in."


_REACHED = (
    "After this share of its training the row's networks have half of the points against the final networks of the "
    "column, of their own repetition, or as many points against a fixed opponent as those have; ≤: at the first stage "
    "already; never: not even at the end. A network of a stage is that after the first round which has come so far; "
    "shares are those that really lay behind, mean over repetitions (stages.csv)."
)
_REACHED_BETWEEN = " In parentheses: the interval by the bootstrap over repetitions."


def length_of(config: TrainingConfig) -> str:
    """How long a training lasts, in words."""
    limits = [f"{config.seconds:g} s"] if config.seconds is not None else []
    limits += [f"{config.matches:,} matches"] if config.matches is not None else []
    return " or ".join(limits)


def _about(experiment: Experiment) -> list[str]:
    """What the numbers below mean."""
    protocol = experiment.protocol
    lengths = list(dict.fromkeys(length_of(variant.training) for variant in experiment.variants))
    openings = (
        f"beginning with {protocol.opening_plies} random plies, each opening with both colours"
        if protocol.opening_plies
        else "one with each colour"
    )
    intervals = (
        f"In parentheses: the {protocol.confidence:.0%} interval by the stratified bootstrap ({protocol.resamples:,} "
        "resamples of the repetitions within each game); none where the resamples show no spread. "
    )
    plays = list(dict.fromkeys(variant.play.algorithm for variant in experiment.variants))
    whom = "all repetitions" if protocol.opponents == "all" else "its own repetition"
    if protocol.opponents == "none":
        return [
            f"{_counted(experiment)}; each training lasts {', '.join(lengths)}. Points are the share of matches won, a "
            "draw counting half, in percent; networks met no other networks."
        ]
    return [
        f"{_counted(experiment)}; "
        f"each training lasts {', '.join(lengths)}. In matches, networks play with {', '.join(plays)}"
        f"{' of depth 1' if plays == ['minimax'] else ''}.",
        f"Points are the share of matches won, a draw counting half, in percent. Each final network met each other one "
        f"of {whom} in {protocol.matches} matches, {openings}; none met itself. "
        f"{intervals if experiment.repetitions > 1 else ''}"
        "The mean is over the games in which a variant takes part; X: it does not.",
        "With one repetition there is nothing to resample, so there are no intervals."
        if experiment.repetitions == 1
        else "",
    ]


def _counted(experiment: Experiment) -> str:
    """How much of everything there is; more than one of each as it was always said."""
    counts = (len(experiment.variants), "variants"), (len(experiment.games), "games")
    return ", ".join(f"{count} {name}" for count, name in (*counts, (experiment.repetitions, "repetitions")))


def _cell(share: Share, *, best: bool) -> str:
    estimate = f"**{share.estimate:.1%}**" if best else f"{share.estimate:.1%}"
    interval = share.interval
    return estimate if interval is None else f"{estimate} ({100 * interval.low:.0f}–{100 * interval.high:.0f})"


def _signed(share: float) -> str:
    return f"{100 * share:+.1f}"


def _share_json(share: Share) -> dict[str, Any]:
    return {
        "game": share.game,
        "variant": share.variant,
        "stage": share.stage,
        "points": round(share.estimate, 6),
        **ends(share.interval),
        "repetitions": share.repetitions,
        "matches": share.matches,
    }


def _reached_json(one: Reached) -> dict[str, Any]:
    """As JSON values; what is infinite or not there is None."""
    numbers = {"share": one.share, "low": one.low, "high": one.high}
    told = {name: round(value, 6) if math.isfinite(value) else None for name, value in numbers.items()}
    return {"game": one.game, "variant": one.variant, "rival": one.rival, "opponent": one.opponent, **told}
