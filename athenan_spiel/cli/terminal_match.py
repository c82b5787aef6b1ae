"""A game in the terminal, played by people against agents, against each other, or alone.

A person may take moves back. The game then continues from the earlier position, which is a new game for agents.
In a game with chance the program rolls, or a person does. Rolls before a person's move stay when it is taken back.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyspiel

from agents import AthenanBot, HumanBot
from agents.human import Command, in_columns
from athenan_spiel.cli.waiting import Waiting
from athenan_spiel.drawing.state_picture import listed, numbers_text, sentence, side_text
from athenan_spiel.errors import MatchAbandonedError, shown
from athenan_spiel.games import given_game
from athenan_spiel.games.chance import draw_outcome, is_chance, mover_after_chance, outcome_name, possible_actions
from athenan_spiel.games.moves import move_called, move_names
from athenan_spiel.play.match import MatchResult, play_match
from athenan_spiel.search import MCTS, UBFM
from athenan_spiel.search.result import action_evaluations

if TYPE_CHECKING:
    from athenan_spiel.play.agent import Agent
    from athenan_spiel.search import SearchResult


MAX_LISTED_OUTCOMES = 40
"""Maximum number of outcomes in a list."""
_METHODS: Mapping[type, str] = {MCTS: "MCTS", UBFM: "UBFM"}
"""Searches of agents without a network, besides alpha-beta, by their classes."""


class _TakenBackError(Exception):
    """A person takes moves back: the game continues after `history`."""

    def __init__(self, history: Sequence[int]) -> None:
        super().__init__()
        self.history = tuple(history)


class TerminalMatch:
    """One game at the terminal.

    Args:
        start: initial position.
        agents: bots by player id; all other players are people.
        advise: creates the agent for hints.
        dice: random generator of the outcomes of chance.
        asks: whether a person rolls, or types the outcome of real dice.
        tell: prints lines of text.
        width: width of the terminal, in characters.
        raw: show values in units of the outcome instead of expected scores.
    """

    def __init__(
        self,
        start: pyspiel.State,
        agents: Mapping[int, pyspiel.Bot],
        *,
        advise: Callable[[], Agent],
        dice: random.Random | None = None,
        asks: bool = False,
        tell: Callable[[str], object] = print,
        width: int = 80,
        raw: bool = False,
    ) -> None:
        self._raw = raw
        self._game = given_game(start.get_game())
        self._start = start
        self._agents = agents
        self._people = [player for player in self._players if player not in agents]
        self._remarked: list[int] = []
        self._advise = advise
        self._adviser: Agent | None = None
        self._tell = self._say
        self._print = tell
        self._waiting: Waiting | None = None
        self._dice = dice or random.Random()
        self._asks = asks
        self._told_roll: list[int] = []
        replies = "reply to it" if len(self._players) < 3 else "replies to it"
        self._human = _Person(
            self._wait_for_answer,
            self._tell_last_roll,
            tell=self._say,
            width=width,
            prompt=self._prompt,
            commands=[
                Command("hint", "shows the move that an agent would play for you", self._hint),
                Command("undo", f"takes back your last move and the {replies}", self._undo),
            ],
            remark=self._remark,
        )

    def play(self) -> MatchResult:
        """Play to the end.

        Raises:
            MatchAbandonedError: a person ended the game.
            AthenanError, LudiiError: the agent failed.
        """
        self._tell(self._introduction())
        self._wait_for(self._start)
        players = [self._agents.get(player, self._human) for player in self._players]
        opening = tuple(self._start.history())
        while True:
            try:
                return play_match(self._game, players, opening=opening, draw=self._draw)
            except _TakenBackError as taken:
                opening = taken.history
            finally:
                self._stop_waiting()

    def ending(self, result: MatchResult) -> str:
        """Return the last position and the winner as text."""
        state = self._game.new_initial_state()
        for action in result.history:
            state.apply_action(action)
        if len(self._players) == 1:
            outcome = f"{'You have' if self._people else 'The agent has'} scored {result.returns[0]:g}."
        else:
            winners = result.winners
            outcome = "A draw." if not winners else f"{self._subject(winners[0])} won."
            if len(winners) > 1:
                outcome = f"{sentence(listed(map(self._named, winners)))} share the first place."
            if self._are_many:
                outcome = f"{outcome} Returns of the players: {numbers_text(result.returns)}."
            outcome = outcome if result.forfeit is None else f"{sentence(result.forfeit.reason)}. {outcome}"
        return f"\n{state}\n{outcome}"

    @property
    def _players(self) -> range:
        return range(self._game.num_players())

    @property
    def _are_many(self) -> bool:
        return len(self._players) > 2

    def _subject(self, player: int) -> str:
        """Return the player and the verb "to have" as text."""
        if [player] == self._people:
            return "You have"
        return f"{sentence(self._agent_named(player) if player in self._agents else self._named(player))} has"

    def _agent_named(self, player: int) -> str:
        return self._named(player) if self._are_many else "the agent"

    def _named(self, player: int) -> str:
        return side_text(self._game, player)

    def _introduction(self) -> str:
        """Return the sides and the first mover as text."""
        mover = mover_after_chance(self._start)
        begins = "a roll decides who begins" if mover is None else f"{self._named(mover)} begins"
        help_ = "`?` lists the possible inputs."
        if len(self._players) == 1:
            return help_ if self._people else "The agent plays by itself."
        agents = f", and the agent plays {listed(map(self._named, sorted(self._agents)))}" if self._agents else ""
        if len(self._people) > 1:
            return f"{sentence(listed(map(self._named, self._people)))} share the terminal{agents}; {begins}. {help_}"
        (person,) = self._people
        you = self._named(person)
        if mover == person:
            begins = "you begin"
        elif mover is not None and not self._are_many:
            begins = "the agent begins"
        if self._are_many:
            you = f"{you}{agents}"
        return f"You are {you}; {begins}. {help_}"

    def _say(self, text: str) -> None:
        self._stop_waiting()
        self._print(text)

    def _wait_for_answer(self, state: pyspiel.State, action: int) -> None:
        """Show that the agent thinks, if it is to move after an action."""
        self._wait_for(state.child(action))

    def _wait_for(self, state: pyspiel.State) -> None:
        """Show that the agent thinks, if it is to move."""
        self._stop_waiting()
        if state.is_terminal() or is_chance(state):
            return
        if (player := state.current_player()) in self._agents:
            self._waiting = Waiting(f"{self._agent_named(player)} thinks", _seconds_of(self._agents[player]))
            self._waiting.start()

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None

    def _draw(self, state: pyspiel.State) -> int:
        """Return the outcome of a chance state, and print its name."""
        self._stop_waiting()
        outcome = self._human.roll(state) if self._asks else None
        if outcome is None:
            outcome = draw_outcome(state, self._dice.random())
        self._tell(f"Chance: {outcome_name(state, outcome)}.")
        self._told_roll = [*state.history(), outcome]
        self._wait_for(state.child(outcome))
        return outcome

    def _tell_last_roll(self, state: pyspiel.State) -> None:
        """Print the outcome that led to `state`, unless it was just printed."""
        history = state.history()
        if not history or history == self._told_roll:
            return
        before = self._game.new_initial_state()
        for action in history[:-1]:
            before.apply_action(action)
        if is_chance(before):
            self._tell(f"Chance: {outcome_name(before, history[-1])}.")

    def _prompt(self, player: int) -> str:
        self._stop_waiting()
        return "Your move: " if len(self._people) == 1 else f"Move of {self._named(player)}: "

    def _remark(self, state: pyspiel.State, action: int) -> str | None:
        mover, line = state.current_player(), [*state.history(), action]
        if mover in self._people or line == self._remarked:
            return None  # a person typed the move, or it was remarked on for another person
        self._remarked = line
        move = f"{sentence(self._agent_named(mover))} plays {state.action_to_string(mover, action)}"
        agent = self._agents[mover]
        result = agent.agent.result if isinstance(agent, AthenanBot) else None
        if result is None:
            return f"{move}."
        reader, name = (self._people[0], "you") if len(self._people) == 1 else (mover, self._named(mover))
        return f"{move}: {judgement(result, action, reader, self._game, name, raw=self._raw, is_played=True)}."

    def _hint(self, state: pyspiel.State) -> str:
        if self._adviser is None:
            self._adviser = self._advise()
        player = state.current_player()
        with Waiting("thinking about a hint", self._adviser.budget.seconds):
            action = self._adviser.step(state)
        for agent in self._agents.values():
            if isinstance(agent, AthenanBot):
                agent.agent.resume_pondering()  # the adviser has interrupted it, as both use one evaluator
        result = self._adviser.result
        assert result is not None, "the adviser has searched"
        name = state.action_to_string(player, action)
        method = _METHODS.get(type(self._adviser.search), "alpha-beta")
        source = "" if self._adviser.network is not None else f" ({method} without a network)"
        return f"hint{source}: {name}, {judgement(result, action, player, self._game, raw=self._raw)}"

    def _undo(self, state: pyspiel.State) -> str:
        """Interrupt the game to take moves back, or return why that is impossible."""
        history = state.history()
        replayed = self._start.clone()
        opening_plies = len(replayed.history())
        last = None
        for ply in range(opening_plies, len(history)):
            if replayed.current_player() in self._people:
                last = ply
            replayed.apply_action(history[ply])
        if last is None:
            return "you have no move to take back"
        self._tell(f"taken back: {', '.join(move_names(self._game.new_initial_state(), history)[last:])}")
        self._told_roll, self._remarked = [], []
        raise _TakenBackError(history[:last])


class _Person(HumanBot):
    """A person at the terminal, with callbacks before and after each move, who may also roll."""

    def __init__(
        self,
        after: Callable[[pyspiel.State, int], None],
        before: Callable[[pyspiel.State], None],
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self._before = before
        self._after = after

    def roll(self, state: pyspiel.State) -> int | None:
        """Returns the outcome that the person types; None: the program rolls."""
        names = {action: outcome_name(state, action) for action in possible_actions(state)}
        while True:
            answer = self._answer("Enter rolls, or type an outcome: ")
            if answer.lower() in ("", "roll"):
                return None
            if answer.lower() == "quit":
                raise MatchAbandonedError("game ended by quit")
            if answer.lower() == "undo":
                self._tell(self._commands["undo"].run(state))
                continue
            if answer.lower() in ("?", "help"):
                few = dict(list(names.items())[:MAX_LISTED_OUTCOMES])
                more = f"\nand {len(names) - len(few)} more" if len(few) < len(names) else ""
                self._tell(f"Enter rolls. The outcomes, by number or name:\n{in_columns(few, self._width)}{more}")
                continue
            outcome = move_called(answer, names)
            if outcome is not None:
                return outcome
            self._tell(f"{shown(answer)} is not an outcome (Enter rolls, `?` lists the outcomes, `quit` ends)")

    def step(self, state: pyspiel.State) -> int:
        """Returns the action that the person types."""
        self._before(state)
        action = super().step(state)
        self._after(state, action)
        return action


def _seconds_of(bot: pyspiel.Bot) -> float | None:
    """Return the time limit per move of an agent of this library."""
    return bot.budget.seconds if isinstance(bot, AthenanBot) else None


def judgement(
    result: SearchResult,
    action: int,
    player: int,
    game: pyspiel.Game,
    name: str = "you",
    *,
    raw: bool = False,
    is_played: bool = False,
) -> str:
    """Return the evaluation of `action` for `player` as text, in which the player is called `name`.

    Args:
        raw: the value in units of the outcome instead of the expected score.
        is_played: do not count this action among the moves until the end of the game.
    """
    assert result.state is not None, "an agent's result holds its state"
    found = next(x.evaluation for x in action_evaluations(result, result.state, player) if x.action == action)
    if is_played and found.moves is not None:
        found = dataclasses.replace(found, moves=found.moves - 1 or None)
    text = found.text(player, raw=raw)
    if game.num_players() == 1:
        return f"{'a proven score of' if found.is_proven else 'value'} {text}"
    if text == "draw":
        return text
    if found.is_proven:
        return f"{text} for {name}"
    return f"{'value' if raw else 'expected score'} {text} for {name}"
