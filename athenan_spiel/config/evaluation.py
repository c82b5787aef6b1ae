"""Request for an evaluation: one agent, its opponents, and how the games are played."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class EvaluationRequest:
    """Describes an evaluation by plain values, so that it can be sent to another process.

    Attributes:
        agent: spec of the agent that is measured.
        opponents: specs of its opponents; may be empty in a game for one player.
        game: OpenSpiel game string; None: the game of the first run among the agents.
        matches: games against each opponent.
        opening_plies: random plies at the start of a game; None: 2, or 0 in a game for one player.
        openings: file of openings, or "balanced"; None: random openings.
        judge: spec of the agent that judges balanced openings; None: UBFM over random playouts.
        limit: limit per move, such as "0.1s", that replaces the limits of all agents that support it; None: no change.
        sprt: the Elo differences of the two hypotheses of a sequential test; None: no test.
        seed: random seed of openings, rolls and agents.
        allow_code: custom outcomes ("module:name") that may be imported for runs trained with them.
        allow_programs: commands of the engines that may be started; None: all that the specs name.
        matches_at_once: number of games played at the same time; None: chosen from the agents and the machine.
        stall_seconds: time without progress after which a process that plays is killed.
        cluster: address of a Ray cluster; None: this machine.
    """

    agent: str
    opponents: tuple[str, ...] = ()
    game: str | None = None
    matches: int = 100
    opening_plies: int | None = None
    openings: str | None = None
    judge: str | None = None
    limit: str | None = None
    sprt: tuple[float, float] | None = None
    seed: int = 0
    allow_code: tuple[str, ...] = ()
    allow_programs: tuple[str, ...] | None = None
    matches_at_once: int | None = None
    stall_seconds: float = 600.0
    cluster: str | None = None
