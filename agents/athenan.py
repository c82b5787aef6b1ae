"""The `athenan` bot: a trained agent as a `pyspiel.Bot`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter

import pyspiel

from agents.bot import BaseBot
from agents.kind import AgentKind
from agents.parameters import ThinkingParameters, read_parameters
from agents.run_specs import parse_run_spec
from athenan_spiel.errors import AgentError, shown
from athenan_spiel.games import same_game
from athenan_spiel.play.agent import Agent
from athenan_spiel.search.algorithms import parse_search
from athenan_spiel.search.drive import Clock
from athenan_spiel.search.walk import Requests


@dataclass(frozen=True, kw_only=True)
class AthenanParameters(ThinkingParameters):
    """Parameters of `load_bot("athenan", ...)`."""

    checkpoint: str
    """Folder of a run or of one of its checkpoints, or an agent file."""
    matches: int | None = None
    """Checkpoint after this number of games; None: the newest."""
    best: bool = False
    """Selects the best network of the run by rating, if training has kept one."""
    search: str | None = None
    """Search: `ubfm_k`, `ubfm_s`, `ubfm`, `descent`, `alphabeta` or `mcts`, or for networks with a policy `puct`,
    `gumbel` or `exit`; see `athenan_spiel.search.algorithms`. None: the run's search if it needs a policy, else
    `ubfm_k`."""
    proofs: bool = True
    """Give a part of each move's time limit to compiled proof search; see `play.prover`."""
    outcome: str = ""
    """Custom outcomes, "module:name" separated by commas, that may be imported; see `load_agent`."""


class AthenanBot(BaseBot):
    """`Agent` as a `pyspiel.Bot`, for both of OpenSpiel's `evaluate_bots`.

    It depends on the state only, so `inform_action` is optional. Its policy gives all probability to the action that it
    plays, unless a temperature is set. `pickle` and `copy.deepcopy` treat it like an `Agent`.

    Args:
        agent: chooses the actions; must not be used by others.
        temperature: the policy is a softmax over the root's values, proven results first (`athenan_spiel.search.policy`
            has the formula), and the action is drawn from it. None: the agent's decision chooses.

    Raises:
        AgentError: the temperature is not positive.
    """

    budget = property(attrgetter("agent.budget"), doc="Budget of a move.")
    match_seconds = property(attrgetter("agent.match_seconds"), doc="Seconds for all moves of a game, or None.")
    match_increment = property(attrgetter("agent.match_increment"), doc="Seconds that each own move adds to it.")
    ponders = property(attrgetter("agent.ponders"), doc="Whether it ponders.")
    evaluator = property(attrgetter("agent.evaluator"), doc="Evaluator of its searches.")

    def __init__(self, agent: Agent, temperature: float | None = None) -> None:
        super().__init__()
        self._made_of = agent, temperature
        self.agent = agent
        self.temperature = temperature
        if temperature is not None:
            agent.decision = agent.soft_policy(temperature)

    def stop_pondering(self) -> None:
        """Stops pondering; see `Agent.stop_pondering`."""
        self.agent.stop_pondering()

    def thinks(self, state: pyspiel.State, clock: Clock | None = None) -> Requests[int]:
        """Returns `step` as a generator, for a driver that answers its requests; see `play.player.AskingPlayer`."""
        return self.agent.thinks(state, clock)

    def for_game(self, number: int) -> AthenanBot:
        """Returns this bot for one game of a series; see `play.player.PerGamePlayer`."""
        return AthenanBot(self.agent.for_game(number), self.temperature)

    def step(self, state: pyspiel.State) -> int:
        """Returns the action to play in `state`."""
        return self.agent.step(state)

    def step_with_policy(self, state: pyspiel.State) -> tuple[list[tuple[int, float]], int]:
        """Returns the policy in `state`, and the action to play."""
        return self.agent.policy(state, self.temperature), self.agent.step(state)

    def get_policy(self, state: pyspiel.State) -> list[tuple[int, float]]:
        """Returns (action, probability) for each legal action."""
        return self.agent.policy(state, self.temperature)

    def restart(self) -> None:
        """Starts a new game."""
        self.agent.restart()

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        """Ends pondering: another player chose `action` in `state`."""
        self.agent.inform_action(state, player_id, action)

    def clone(self) -> AthenanBot:
        """Returns an independent bot that continues from the same state."""
        return AthenanBot(self.agent.clone(), self.temperature)


def load_athenan(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> AthenanBot:
    """Returns a search with the network of a run; see `AthenanParameters`. It plays either colour.

    Raises:
        AgentError: a parameter is unknown, missing or of a wrong type, the search is unknown, or the run learned
            another game.
        BudgetError: a limit is not positive.
        CheckpointError: the folder is not a run, or its checkpoint cannot be used.
        ConfigError: the run's outcome cannot be imported, or its import is not allowed.
    """
    parameters = read_parameters(AthenanParameters, "athenan", params)
    budget = parameters.budget
    if parameters.search is not None:
        parse_search(parameters.search)  # before the checkpoint is read
    if parameters.best and parameters.matches is not None:
        raise AgentError(f"bot 'athenan' takes matches or best, not both; got {parameters.matches} matches")
    from athenan_spiel.training.loading import load_agent  # imports torch

    agent = load_agent(
        parameters.checkpoint,
        checkpoint="best" if parameters.best else parameters.matches,
        budget=budget,
        match_seconds=parameters.match_seconds,
        match_increment=parameters.match_increment,
        ponder=parameters.ponder,
        proofs=parameters.proofs,
        seed=parameters.seed,
        search=parameters.search,
        outcome=tuple(filter(None, parameters.outcome.split(","))),
    )
    if not same_game(agent.game, game):
        raise AgentError(f"{shown(parameters.checkpoint)} learned {str(agent.game)!r} and cannot play {str(game)!r}")
    return AthenanBot(agent, parameters.temperature)


ATHENAN = AgentKind(
    name="athenan",
    example="runs/bt6@0.5s",
    about="newest checkpoint of a run, or agent file; runs/bt6#576, runs/bt6#best: another checkpoint; "
    "runs/bt6:alphabeta@200i: another search",
    load=load_athenan,
    parse=parse_run_spec,
    limits=("seconds", "iterations", "evaluations", "match_seconds", "match_increment"),
)
"""Specs of this kind may also be paths of folders."""
