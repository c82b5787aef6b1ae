"""The part of a report on the opponents of [fixed]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from athenan_spiel.arena.tables import code, markdown_table
from athenan_spiel.experiments.fixed_statistics import FixedShare
from athenan_spiel.experiments.markdown import ends
from athenan_spiel.experiments.settings import Experiment
from athenan_spiel.experiments.statistics import MEAN


def fixed_json(share: FixedShare) -> dict[str, Any]:
    """A share as JSON values; `wins_minus_losses` is the papers' measure."""
    return {
        "game": share.game,
        "variant": share.variant,
        "opponent": share.opponent,
        "stage": share.stage,
        "points": round(share.estimate, 6),
        **ends(share.interval),
        "wins_minus_losses": round(2 * share.estimate - 1, 6),
        "repetitions": share.repetitions,
        "matches": share.matches,
        "forfeits": share.forfeits,
    }


def fixed_parts(experiment: Experiment, shares: Sequence[FixedShare]) -> list[str]:
    """The paragraphs: what was played, a table for each opponent, and the plots."""
    pool = experiment.fixed
    assert pool is not None, "the experiment has a [fixed]"
    last = [share for share in shares if share.stage == experiment.protocol.stages]
    parts = ["## Against fixed opponents", _about(experiment)]
    for opponent in pool.opponents:
        told = [share for share in last if share.opponent == opponent.name]
        if told:
            word = f" ({code(opponent.word)})" if opponent.name != opponent.word else ""
            parts += [f"### {code(opponent.name)}{word}", _table(opponent.variants, opponent.games, told)]
            if forfeits := sum(share.forfeits for share in told if share.game != MEAN):
                matches = sum(share.matches for share in told if share.game != MEAN)
                parts.append(f"**{forfeits} of these {matches} matches ended as a player failed**, see matches.jsonl.")
    if last:
        parts.append("![](fixed.png)")
    return parts


def fixed_tables(experiment: Experiment, shares: Sequence[FixedShare]) -> str:
    """The tables of the last stage, as a terminal shows them."""
    pool = experiment.fixed
    tables = []
    for opponent in () if pool is None else pool.opponents:
        told = [s for s in shares if s.stage == experiment.protocol.stages and s.opponent == opponent.name]
        if told:
            table = _table(opponent.variants, opponent.games, told)
            tables.append(f"against {opponent.name}:\n{table}")
    return "\n\n".join(tables)


def _about(experiment: Experiment) -> str:
    pool = experiment.fixed
    assert pool is not None
    config = pool.config
    whom = "each network of the last stage" if config.stages == "last" else "each network of every stage"
    openings = (
        f"beginning with {config.opening_plies} random plies, each opening with both colours"
        if config.opening_plies
        else "half with each colour"
    )
    plays = "as its variant says" if pool.play is None else f"with {pool.play.algorithm}"
    interval = (
        f"the {experiment.protocol.confidence:.0%} interval by the stratified bootstrap over repetitions"
        if experiment.repetitions > 1
        else f"the {experiment.protocol.confidence:.0%} interval of the one network, by its matches, and no more "
        "than that"
    )
    return (
        f"Against each of these opponents {whom} has played {config.matches} matches, {openings}; it plays {plays}. "
        f"The tables are of the last stage. In parentheses: {interval}. The papers count wins minus losses, which is "
        "twice the points minus 100 %."
    )


def _table(variants: Sequence[str], games: Sequence[str], shares: Sequence[FixedShare]) -> str:
    """Games by variants, the best of each row in bold, and the mean over games."""
    found = {(share.game, share.variant): share for share in shares}
    rows = []
    for game in (*games, MEAN):
        known = [found[game, name].estimate for name in variants if (game, name) in found]
        if not known:
            continue
        cells = [_cell(found.get((game, name)), max(known), len(known)) for name in variants]
        rows.append([game if game == MEAN else code(game), *cells])
    return markdown_table(["", *map(code, variants)], rows)


def _cell(share: FixedShare | None, best: float, among: int) -> str:
    if share is None:
        return ""
    estimate = f"**{share.estimate:.1%}**" if share.estimate == best and among > 1 else f"{share.estimate:.1%}"
    interval = share.interval
    return estimate if interval is None else f"{estimate} ({100 * interval.low:.0f}–{100 * interval.high:.0f})"
