"""Report of a tournament: Markdown for people, CSV and JSON for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from athenan_spiel.arena.comparison import PairResult, SeatPairResult
from athenan_spiel.arena.ratings import PRIOR
from athenan_spiel.arena.standings import AgentResult, Standings
from athenan_spiel.arena.tables import code, cross_table, csv_text, markdown_table, return_cell, share_cell
from athenan_spiel.play.intervals import Interval

MOST_COLUMNS = 30
"""Maximum number of agents in a crosstable; for more, the results are only in pairs.csv."""


def report_files(standings: Standings) -> dict[str, str]:
    """Returns the report's texts by file name."""
    table = to_json(standings)
    return {
        "report.md": markdown(standings),
        "report.json": json.dumps(table, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
        "agents.csv": csv_text([_flat(row) for row in table["agents"]]),
        "pairs.csv": csv_text([_flat(row) for row in table["pairs"]]),
        "gains.csv": csv_text([_flat(row) for row in table["gains"]]),
    }


def to_json(standings: Standings) -> dict[str, Any]:
    """Returns all results as JSON values."""
    tournament = standings.tournament
    return {
        "tournament": tournament.to_json(),
        "complete": standings.complete,
        "matches": standings.played,
        "specs": standings.specs,
        "openings": standings.openings,
        "without_limit": list(standings.without_limit),
        "prior_draws": PRIOR,
        "agents": [_agent_json(result) for result in standings.agents],
        "pairs": [{"game": game, **pair.to_json()} for game, pair in standings.pairs],
        "means": [
            {"agent": m.agent, "games": m.games, "points": m.estimate, "interval": m.interval and m.interval.ends()}
            for m in standings.means
        ],
        "gains": [
            {
                "agent": gain.agent,
                "rather_than": gain.other,
                "gain": gain.estimate,
                "interval": gain.interval and gain.interval.ends(),
                "opponents": gain.opponents,
            }
            for gain in standings.gains
        ],
        "draw_share": {game: standings.draws[game] / len(lengths) for game, lengths in standings.lengths.items()},
        "cut": {game: standings.cut[game] for game in standings.lengths},
        "failed": list(map(str, standings.failures)),
        "plies": {game: _lengths(lengths) for game, lengths in standings.lengths.items()},
        "forfeits": {name: {"matches": count, "first": why} for name, (count, why) in standings.reasons.items()},
    }


def markdown(standings: Standings) -> str:
    """Returns the report in Markdown: settings, ratings, crosstable, pairs, gains, effort."""
    tournament = standings.tournament
    parts = [f"# {code(tournament.name)}"]
    if not standings.complete:
        parts.append("**Not finished: some games are missing.**")
    parts += [_about(standings), _agents_of(standings)]
    if standings.means:
        rows = [[code(m.agent), str(m.games), share_cell(m.estimate, m.interval)] for m in standings.means]
        table = markdown_table(["agent", "games", "points"], rows)
        parts += ["## Mean over games", _MEANS.format(confidence=f"{tournament.confidence:.0%}"), table]
    for game in tournament.games:
        results = [result for result in standings.agents if result.game == game]
        if results:
            parts += [f"## {code(game)}", *_game_parts(standings, game, results)]
    if standings.gains:
        parts += ["## Gains", _GAINS, _gains(standings)]
    for name, (count, reason) in standings.reasons.items():
        parts.append(f"Agent {code(name)} forfeited {count} games, the first as {code(reason)}.")
    if standings.failures:
        parts.append(
            f"{len(standings.failures)} games failed and have no result, the first {code(str(standings.failures[0]))}."
        )
    return "\n\n".join(part for part in parts if part) + "\n"


_MEANS = "Share of the points; in parentheses the {confidence} interval by the stratified bootstrap over openings."
_GAINS = (
    "The gain of using one agent rather than another is half of (w - l) of the one minus (w - l) of the other, in "
    "percentage points, against the opponents that both have met; w and l are the shares of games won and lost "
    "(*Minimax Strikes Back*, Definition 1)."
)
_COLOURS = "In a game for two players, each opening is played with both colours."
_SEATS = (
    "In a game for n > 2 players, each agent of a pair plays each opening alone in every seat, against n - 1 copies of "
    "the other. Agents are ranked by their mean return in the games that they play alone. The games of an opening "
    "against an opponent are one observation; the {confidence} intervals are Student's. A game counts as won for the "
    "agent whose seats have the higher mean return."
)


def _about(standings: Standings) -> str:
    tournament = standings.tournament
    seats = any(players > 2 for players in standings.players.values())
    meets = "each against each of the pool" if tournament.pool else "a round robin"
    colours = "" if seats else ", half of each pair's with each colour"
    sentences = [
        f"{len(tournament.specs)} agents, {meets} at {len(tournament.games)} game{'s'[: len(tournament.games) > 1]}; "
        f"{standings.played:,} games played{colours}.",
        _stopping(standings),
        f"Openings, {'' if seats else 'each with both colours and '}the same for all pairs: {_openings(standings)}.",
    ]
    if tournament.limit is not None:
        without = ", ".join(map(code, standings.without_limit))
        sentences.append(
            f"Limit of all agents: {tournament.limit} per move" + (f", except {without}." if without else ".")
        )
    sentences.append(
        f"Points: a win is 1, a draw 1/2, with the {tournament.confidence:.0%} interval of Wilson over openings. "
        f"Ratings: the model of Bradley and Terry in Elo points, with a prior of {PRIOR:g} drawn game for each pair "
        f"that has met; 0 is {'the mean' if tournament.anchor is None else code(tournament.anchor)}."
    )
    if seats:
        sentences += [_COLOURS] if 2 in standings.players.values() else []
        sentences.append(_SEATS.format(confidence=f"{tournament.confidence:.0%}"))
    return " ".join(sentences)


def _openings(standings: Standings) -> str:
    """Returns the origin of the openings, by game if it differs."""
    origins = standings.openings
    if len(set(origins.values())) == 1:
        return code(next(iter(origins.values())))
    return "; ".join(f"{code(game)}: {code(origin)}" for game, origin in origins.items())


def _stopping(standings: Standings) -> str:
    """Returns the declared number of games of a pair, or its stopping rule."""
    tournament = standings.tournament
    if tournament.sequential is None:
        return f"Each pair plays {tournament.matches} games, as declared in advance."
    return (
        f"Each pair plays until its sequential test decides ({tournament.sequential}), at most "
        f"{tournament.matches} matches; the points of stopped pairs are somewhat biased."
    )


def _agents_of(standings: Standings) -> str:
    pool = standings.tournament.pool
    named = {name: spec for name, spec in standings.specs.items() if name != spec}
    if not named:
        return ""
    rows = [[code(name), code(spec), "pool" if name in pool else ""] for name, spec in named.items()]
    return markdown_table(["agent", "plays as", ""], rows)


def _game_parts(standings: Standings, game: str, results: Sequence[AgentResult]) -> list[str]:
    parts, number = [ratings_table(results)], 1 + standings.tournament.games.index(game)
    if results[0].rating.elo is None:
        parts.append("No ratings yet, because no chain of games joins all agents.")
    if results[0].returns is not None:
        parts.append(f"![](returns-{number}.png)")
    elif results[0].rating.elo is not None:
        parts.append(f"![](ratings-{number}.png)")
    plies = _lengths(standings.lengths[game])
    return [
        *parts,
        *_pair_parts([pair for at, pair in standings.pairs if at == game], [result.agent for result in results]),
        "### Time and evaluations",
        f"Matches took {plies['mean']:.1f} plies on average, {plies['least']} to {plies['most']}. "
        f"{standings.draws[game] / len(standings.lengths[game]):.1%} of them were drawn; the length limit cut "
        f"{standings.cut[game]}.",
        _efforts(results),
    ]


def ratings_table(results: Sequence[AgentResult]) -> str:
    """Returns a Markdown table of the agents at a game: ratings, results and points with their intervals; with more
    than two players also mean returns over all seats and as each player."""
    seats = () if not results or results[0].returns is None else range(len(results[0].returns.seats))
    rows = [
        [
            code(r.agent),
            *(() if r.returns is None else map(return_cell, (r.returns.mean, *r.returns.seats))),
            _elo(r.rating.elo, r.rating.interval),
            str(r.tally.matches),
            f"{r.tally.wins}",
            f"{r.tally.draws}",
            f"{r.tally.losses}",
            share_cell(r.points.estimate, r.points),
            str(r.forfeits),
            str(r.resignations),
        ]
        for r in results
    ]
    returns = ["mean return", *(f"player {seat}" for seat in seats)] if seats else []
    counts = ["games", "won", "drawn", "lost", "points", "forfeited", "resigned"]
    return markdown_table(["agent", *returns, "rating", *counts], rows)


def _pair_parts(pairs: Sequence[PairResult | SeatPairResult], names: Sequence[str]) -> list[str]:
    """Returns the crosstable and the table of the pairs at a game."""
    seats = [pair for pair in pairs if isinstance(pair, SeatPairResult)]
    values, form = _alone(seats), "+.2f"
    title = "Mean return of the row, alone against copies of the column:"
    table = ["### Pairs", _seat_pairs(seats)]
    if not seats:
        two = [pair for pair in pairs if isinstance(pair, PairResult)]
        values, form = _shares(two), ".1%"
        title = "The row's share of the points against the column:"
        tests = (
            "p-values, two-sided: the sign test of won and lost games, and Wilcoxon's signed-rank test over openings."
        )
        table = ["### Pairs", tests, _pairs(two)]
    return [*([title, cross_table(names, values, form)] if len(names) <= MOST_COLUMNS else []), *table]


def _shares(pairs: Sequence[PairResult]) -> dict[tuple[str, str], float]:
    shares: dict[tuple[str, str], float] = {}
    for pair in pairs:
        shares[pair.contender, pair.opponent] = pair.points.estimate
        shares[pair.opponent, pair.contender] = 1 - pair.points.estimate
    return shares


def _alone(pairs: Sequence[SeatPairResult]) -> dict[tuple[str, str], float]:
    """Returns the mean return of one agent (row) alone against copies of another one (column)."""
    returns: dict[tuple[str, str], float] = {}
    for pair in pairs:
        returns[pair.contender, pair.opponent] = pair.contender_alone.mean.estimate
        returns[pair.opponent, pair.contender] = pair.opponent_alone.mean.estimate
    return {names: mean for names, mean in returns.items() if not math.isnan(mean)}


def _seat_pairs(pairs: Sequence[SeatPairResult]) -> str:
    players = len(pairs[0].contender_alone.seats) if pairs else 0
    rows = []
    for pair in pairs:
        names = (pair.contender, pair.opponent)
        both = zip((pair.contender_alone, pair.opponent_alone), (names, names[::-1]), strict=True)
        for result, (one, other) in both:
            means = map(return_cell, (result.mean, *result.seats))
            rows.append([f"{code(one)} – {players - 1} × {code(other)}", *means, str(pair.cut)])
    seats = [f"player {seat}" for seat in range(players)]
    return markdown_table(["alone – copies", "mean return", *seats, "cut"], rows)


def _pairs(pairs: Sequence[PairResult]) -> str:
    tested = any(pair.test is not None for pair in pairs)
    rows = [
        [
            f"{code(pair.contender)} – {code(pair.opponent)}",
            f"{pair.tally.wins}/{pair.tally.draws}/{pair.tally.losses}",
            f"{pair.moving_first.points:.1%}" if pair.moving_first.matches else "",
            f"{pair.moving_second.points:.1%}" if pair.moving_second.matches else "",
            share_cell(pair.points.estimate, pair.points),
            f"{pair.binomial_p:.2g}",
            f"{pair.wilcoxon_p:.2g}",
            str(pair.cut),
            *([_verdict(pair)] if tested else []),
        ]
        for pair in pairs
    ]
    header = ["pair", "won/drawn/lost", "moving first", "moving second", "points", "sign test", "Wilcoxon", "cut"]
    return markdown_table([*header, *(["SPRT"] if tested else [])], rows)


def _verdict(pair: PairResult) -> str:
    assert pair.test is not None, "the tournament has tests"
    return f"{pair.test.verdict or 'undecided'} after {2 * pair.test.openings}, LLR {pair.test.llr:+.2f}"


def _efforts(results: Sequence[AgentResult]) -> str:
    rows = []
    for result in results:
        spent = result.effort.counts()
        moves = max(1, spent["moves"])
        times = result.effort.times().values()
        rows.append(
            [
                code(result.agent),
                f"{spent['moves']:,}",
                *("" if seconds is None else f"{1000 * seconds:,.1f}" for seconds in times),
                f"{spent['evaluations'] / moves:,.0f}" if spent["evaluations"] else "",
                f"{spent['requests'] / moves:,.1f}" if spent["requests"] else "",
            ]
        )
    header = ["agent", "moves", "ms per move", "99 %", "longest", "evaluations per move", "batches per move"]
    return markdown_table(header, rows)


def _gains(standings: Standings) -> str:
    rows = []
    for gain in standings.gains:
        ends = "" if gain.interval is None else f" ({100 * gain.interval.low:+.1f} to {100 * gain.interval.high:+.1f})"
        versus = f"{code(gain.agent)} rather than {code(gain.other)}"
        rows.append([versus, f"{100 * gain.estimate:+.1f}{ends}", str(gain.opponents)])
    return markdown_table(["using", "gain", "opponents"], rows)


def _agent_json(result: AgentResult) -> dict[str, Any]:
    rating = result.rating
    return {
        "game": result.game,
        "agent": result.agent,
        **({} if result.returns is None else {"returns": result.returns.to_json()}),
        "rating": rating.elo,
        "rating_interval": rating.interval and rating.interval.ends(),
        "matches": result.tally.matches,
        **vars(result.tally),
        "points": result.points.estimate,
        "points_interval": result.points.ends(),
        "forfeits": result.forfeits,
        "resignations": result.resignations,
        **result.effort.counts(),
        "seconds_a_move": result.effort.times(),
    }


def _lengths(lengths: Sequence[int]) -> dict[str, float]:
    return {"mean": float(np.mean(lengths)), "least": min(lengths), "most": max(lengths)}


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Returns a row with one column for each value of nested tables."""
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            flat |= {f"{key}_{inner}": x for inner, x in _flat(value).items()}
        elif value is not None or not key.endswith(("interval", "sprt")):
            flat[key] = value
    return flat


def _elo(elo: float | None, interval: Interval | None) -> str:
    if elo is None:
        return ""
    return f"{elo:+.0f}" + ("" if interval is None else f" ({interval.low:+.0f} to {interval.high:+.0f})")
