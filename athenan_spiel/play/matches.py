"""Matches between two players: a single one, or a series in which each random opening is played with both colours.
A game for one player is played by itself.

Whatever has the three methods of `Player` can play: every `pyspiel.Bot`, and an `Agent`. A match asks its players
in the order of OpenSpiel's own `evaluate_bots`, and checks each answer, so an illegal move is an error that names
the player and not a broken state. In a series such an error, or any other of a player's, may cost it the match instead.
"""

from __future__ import annotations

import numbers
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyspiel

from athenan_spiel.arguments import require_callable, require_kind, require_whole
from athenan_spiel.errors import AgentError, AthenanError, ConfigError, printable, shown
from athenan_spiel.games import given_game

DRAWS_PER_OPENING = 20
"""So many draws in a row that find no new opening mean that there is none left."""
MOST_MATCHES = 1_000_000
"""Openings that are drawn before the first match, at most: all are held in memory."""
SHOWN = 8
"""So many actions of a list stand in an error."""


class Player(Protocol):
    """What a match needs of a player; `pyspiel.Bot` has it."""

    def restart_at(self, state: pyspiel.State) -> None:
        """A new match begins at `state`."""

    def step(self, state: pyspiel.State) -> int:
        """The legal action to play in `state`, where this player is to move."""

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        """`player_id`, another player, chose `action` in `state`."""


@dataclass(frozen=True)
class Forfeit:
    """How a match was lost by failing, not by playing.

    Attributes:
        player_id: who failed.
        reason: in a line, what its error said.
    """

    player_id: int
    reason: str


@dataclass(frozen=True)
class MatchResult:
    """A finished match.

    Attributes:
        history: all actions, those of the opening included.
        opening_plies: how many actions at the beginning were the opening's.
        returns: `state.returns()` at the end, one number a player; after a forfeit -1 for who failed, 1 for the other.
        seconds: what each player took for its moves, one number a player.
        forfeit: None where the match was played to its end.
    """

    history: tuple[int, ...]
    opening_plies: int
    returns: tuple[float, ...]
    seconds: tuple[float, ...]
    forfeit: Forfeit | None = None

    @property
    def opening(self) -> tuple[int, ...]:
        """The actions that were played before the players were asked."""
        return self.history[: self.opening_plies]

    def points(self, player_id: int) -> float:
        """1 if `player_id` has won, 1/2 for a draw, 0 if it has lost."""
        worth = self.returns[player_id]
        return 0.5 * (1 + (worth > 0) - (worth < 0))


@dataclass(frozen=True)
class Tally:
    """Wins, draws and losses of one player."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    @property
    def matches(self) -> int:
        """How many matches were counted."""
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> float:
        """Share of the points, in [0, 1]: (wins + draws / 2) / matches.

        Raises:
            ZeroDivisionError: no match was counted.
        """
        return (self.wins + 0.5 * self.draws) / self.matches

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.wins + other.wins, self.draws + other.draws, self.losses + other.losses)


@dataclass(frozen=True)
class Series:
    """Matches of a contender against an opponent, in the order played, seen from the contender.

    Attributes:
        results: the finished matches.
        colours: in each, the contender's player id; it alternates, as two matches share an opening.
    """

    results: tuple[MatchResult, ...] = field(default=())
    colours: tuple[int, ...] = field(default=())

    def as_player(self, player_id: int) -> Tally:
        """The contender's tally where it was `player_id`."""
        points = [r.points(c) for r, c in zip(self.results, self.colours, strict=True) if c == player_id]
        return Tally(points.count(1.0), points.count(0.5), points.count(0.0))

    @property
    def tally(self) -> Tally:
        """The contender's tally over both colours."""
        return self.as_player(0) + self.as_player(1)

    @property
    def wins(self) -> int:
        """Matches that the contender won."""
        return self.tally.wins

    @property
    def draws(self) -> int:
        """Drawn matches."""
        return self.tally.draws

    @property
    def losses(self) -> int:
        """Matches that the contender lost."""
        return self.tally.losses

    @property
    def points(self) -> float:
        """The contender's share of the points, in [0, 1]."""
        return self.tally.points

    @property
    def points_by_opening(self) -> dict[tuple[int, ...], list[float]]:
        """The contender's points, match by match, for each opening that was played."""
        groups: dict[tuple[int, ...], list[float]] = {}
        for result, colour in zip(self.results, self.colours, strict=True):
            groups.setdefault(result.opening, []).append(result.points(colour))
        return groups

    def forfeits(self) -> tuple[list[str], list[str]]:
        """The reasons of the matches that the contender forfeited, and of those that the opponent did."""
        found: tuple[list[str], list[str]] = [], []
        for result, colour in zip(self.results, self.colours, strict=True):
            if result.forfeit is not None:
                found[result.forfeit.player_id != colour].append(result.forfeit.reason)
        return found

    @property
    def seconds(self) -> tuple[float, float]:
        """What the contender and the opponent took for all their moves."""
        contender = sum(r.seconds[c] for r, c in zip(self.results, self.colours, strict=True))
        return contender, sum(sum(r.seconds) for r in self.results) - contender

    def extended(self, result: MatchResult, colour: int) -> Series:
        """This series and one more match, in which the contender was player `colour`."""
        return Series((*self.results, result), (*self.colours, colour))


def play_match(game: pyspiel.Game | str, players: Sequence[Player], *, opening: Sequence[int] = ()) -> MatchResult:
    """Play one match; `players[i]` is player i, and the first actions are those of `opening`.

    The players are told of the opening by `restart_at` with the state after it.

    Raises:
        UnsupportedGameError: the game is none, or outside what the algorithms assume.
        AgentError: a player chose an action that is not legal, is none, or there are not as many as the game has.
        ConfigError: the opening holds such an action.
    """
    match = _Match(given_game(game), players, opening)
    match.play()
    return match.result()


class _Match:
    """A match in progress; see `play_match`."""

    def __init__(self, game: pyspiel.Game, players: Sequence[Player], opening: Sequence[int]) -> None:
        _require_players(game, players)
        self._players = players
        self._state = _after(game, opening)
        self._opening_plies = len(opening)
        self._seconds = [0.0] * len(players)
        self.asked: int | None = None
        """The player whose turn it is to do something: an error that comes meanwhile is its own."""

    def play(self) -> None:
        """Ask the players until the end.

        Raises:
            AgentError: a player chose an action that is not legal.
        """
        state = self._state
        for i, player in enumerate(self._players):
            self.asked = i
            player.restart_at(state.clone())
        while not state.is_terminal():
            mover = self.asked = state.current_player()
            start = time.perf_counter()
            action = self._players[mover].step(state.clone())
            self._seconds[mover] += time.perf_counter() - start
            if not _is_legal(state, action):
                raise AgentError(_complaint(state, f"player {mover} ({type(self._players[mover]).__name__})", action))
            for i, player in enumerate(self._players):
                self.asked = i
                if i != mover:
                    player.inform_action(state.clone(), mover, action)
            self.asked = None  # what fails in applying a legal action is the game
            state.apply_action(action)

    def result(self, failure: Exception | None = None) -> MatchResult:
        """The match as it has ended, or as who was asked has lost it by a failure."""
        returns, forfeit = self._state.returns(), None
        if failure is not None:
            assert self.asked is not None
            returns = [1.0] * len(self._players)
            returns[self.asked] = -1.0
            forfeit = Forfeit(self.asked, _reason(failure))
        history, seconds = tuple(self._state.history()), tuple(self._seconds)
        return MatchResult(history, self._opening_plies, tuple(returns), seconds, forfeit)


def _reason(failure: Exception) -> str:
    """What an error says, on one line; its type too, where it is none that is raised to be read."""
    text = " ".join(str(failure).split())
    expected = isinstance(failure, AthenanError) or type(failure).__name__ == "LudiiError"
    return printable(text if expected and text else f"{type(failure).__name__}: {text}")


def _require_players(game: pyspiel.Game, players: Sequence[Player]) -> None:
    """Raise `AgentError` unless `players` are as many as the game has, each with the methods of one."""
    if not isinstance(players, Sequence) or len(players) != game.num_players():
        raise AgentError(f"expected a list of {game.num_players()} players, got {shown(players)}")
    for i, player in enumerate(players):
        if not all(callable(getattr(player, name, None)) for name in ("restart_at", "step", "inform_action")):
            raise AgentError(f"expected a bot or an agent as player {i}, got {shown(player)}")


def _is_legal(state: pyspiel.State, action: object) -> bool:
    """Whether `action` is a whole number, and legal."""
    return isinstance(action, numbers.Integral) and action in state.legal_actions()


def _after(game: pyspiel.Game, opening: Sequence[int]) -> pyspiel.State:
    require_kind("the opening", opening, Sequence, ConfigError)
    state = game.new_initial_state()
    for action in opening:
        if not _is_legal(state, action):
            raise ConfigError(_complaint(state, "the opening", action))
        state.apply_action(action)
    return state


def _complaint(state: pyspiel.State, who: str, action: object) -> str:
    legal, history = state.legal_actions(), state.history()
    choices = ", ".join(map(str, legal[:SHOWN])) + (", ..." if len(legal) > SHOWN else "")
    past = ("..., " if len(history) > SHOWN else "") + ", ".join(map(str, history[-SHOWN:]))
    return f"{who} must choose a legal action, [{choices}], after [{past}]; got {shown(action)}"


def random_openings(game: pyspiel.Game, count: int, plies: int, rng: random.Random) -> list[tuple[int, ...]]:
    """`count` openings of `plies` random actions each, none of which ends the match.

    An opening comes back only when no other seems to be left, as players without chance would repeat their match.

    Raises:
        ConfigError: `count` is more than `MOST_MATCHES`, `plies` is negative, or every opening of that length seems to
            end the match.
    """
    require_whole("the plies of an opening", plies, ConfigError)
    if count > MOST_MATCHES:
        raise ConfigError(f"matches begin with at most {MOST_MATCHES:,} openings, got {shown(count)}: play fewer")
    if plies < 0:
        raise ConfigError(f"an opening must have zero plies or more, got {shown(plies)}")
    openings: list[tuple[int, ...]] = []
    seen: set[tuple[int, ...]] = set()
    while len(openings) < count:
        drawn = (_random_opening(game, plies, rng) for _ in range(DRAWS_PER_OPENING))
        opening = next((o for o in drawn if o is not None and o not in seen), None)
        if opening is not None:
            seen.add(opening)
            openings.append(opening)
        elif seen:
            seen.clear()
        else:
            raise ConfigError(
                f"{shown(plies)} random plies must leave the match open, got only finished matches; take fewer"
            )
    return openings


def _random_opening(game: pyspiel.Game, plies: int, rng: random.Random) -> tuple[int, ...] | None:
    state = game.new_initial_state()
    for _ in range(plies):
        if state.is_terminal():
            return None
        state.apply_action(rng.choice(state.legal_actions()))
    return None if state.is_terminal() else tuple(state.history())


def play_series(
    game: pyspiel.Game | str,
    contender: Callable[[int], Player],
    opponent: Callable[[int], Player],
    matches: int,
    *,
    opening_plies: int = 2,
    seed: int = 0,
    forfeits: bool = False,
    on_match: Callable[[Series], None] | None = None,
) -> Series:
    """Play `matches` matches, half with each colour: every random opening is played twice, colours exchanged.

    Args:
        contender, opponent: given a player id, make the player of that colour; each is asked once for each colour.
        opening_plies: length of an opening in pyspiel actions (where a turn is several actions, in these).
        seed: of the openings; the players have their own.
        forfeits: a player that chooses no legal action, or raises any other error, loses that match, and the series
            goes on; else the error ends it.
        on_match: called after each match with the series so far.

    Raises:
        UnsupportedGameError: the game is none, or outside what the algorithms assume.
        ConfigError: the game is for one player, `matches` is not even and at least 2, there are too many, or
            there is no opening of that length; another number is none.
        AgentError: a player chose an action that is not legal, and this costs it more than the match; or what makes
            players is no function.
    """
    game = given_game(game)
    require_callable("contender", contender, AgentError)
    require_callable("opponent", opponent, AgentError)
    require_callable("on_match", on_match, ConfigError, or_none=True)
    openings = series_openings(game, matches, opening_plies, seed)
    sides = [(contender(0), opponent(1)), (opponent(0), contender(1))]
    series = Series()
    for opening in openings:
        for colour, players in enumerate(sides):
            match = _Match(game, players, opening)
            failure = None
            try:
                match.play()
            except Exception as raised:
                if not forfeits or match.asked is None or isinstance(raised, MemoryError):
                    raise
                failure = raised
            series = series.extended(match.result(failure), colour)
            if on_match is not None:
                on_match(series)
    return series


def series_openings(game: pyspiel.Game, matches: int, plies: int, seed: int) -> list[tuple[int, ...]]:
    """The openings of `play_series`, each for two matches.

    Raises:
        ConfigError: as `play_series`.
    """
    if game.num_players() != 2:
        raise ConfigError(f"a series needs a game for two players, got {str(game)!r}: let each agent play by itself")
    require_whole("matches", matches, ConfigError)
    if matches < 2 or matches % 2:
        raise ConfigError(f"a series plays both colours: matches must be even and at least 2, got {shown(matches)}")
    require_whole("seed", seed, ConfigError)
    return random_openings(game, matches // 2, plies, random.Random(int(seed)))


def play_by_itself(
    game: pyspiel.Game,
    player: Player,
    matches: int,
    *,
    opening_plies: int = 0,
    seed: int = 0,
    on_match: Callable[[MatchResult], None] | None = None,
) -> tuple[MatchResult, ...]:
    """Play `matches` matches of a game for one player, whose score is the match's return.

    Args:
        player: the same in all matches, so matches differ only by what is random in it, or by their openings.
        opening_plies, seed: each match begins with so many random actions.
        on_match: called with each finished match.

    Raises:
        ConfigError: the game is for two, `matches` is not at least 1, or there is no opening of that length.
        AgentError: the player chose an action that is not legal.
    """
    results = []
    for opening in lone_openings(game, matches, opening_plies, seed):
        results.append(play_match(game, [player], opening=opening))
        if on_match is not None:
            on_match(results[-1])
    return tuple(results)


def lone_openings(game: pyspiel.Game, matches: int, plies: int, seed: int) -> list[tuple[int, ...]]:
    """The openings of `play_by_itself`, one for each match.

    Raises:
        ConfigError: as `play_by_itself`.
    """
    if game.num_players() != 1:
        raise ConfigError(f"only a game for one player is played by oneself, got {str(game)!r}: play a series")
    require_whole("matches", matches, ConfigError)
    if matches < 1:
        raise ConfigError(f"matches must be at least 1, got {shown(matches)}")
    require_whole("seed", seed, ConfigError)
    return random_openings(game, matches, plies, random.Random(int(seed)))
