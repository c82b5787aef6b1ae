"""Saved games: a finished game as a line of JSON that can be replayed.

1. A line contains the game, the players (names, specs, player ids), the game's number among those of its players, the
   seed, the opening, all actions, the result, and the effort of each move. The actions include the outcomes of chance,
   whose mover is -1. Variations and comments are stored with a game that has some.
2. A line from a file is trusted only if it replays: `require_true` plays the actions, and rejects illegal
   actions, impossible outcomes, unknown games, wrong movers and results that contradict the rules.
3. For a forfeited game, the rules only show that it had not ended; the forfeiting player is known only from the line.
"""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyspiel

from athenan_spiel.errors import ArenaError, AthenanError, ConfigError, shown
from athenan_spiel.games import load_game
from athenan_spiel.games.chance import CHANCE, is_chance, possible_actions
from athenan_spiel.games.validation import mover_of
from athenan_spiel.play.match import Forfeit, MatchResult, forfeited_returns
from athenan_spiel.play.move_tree import MAX_COMMENT_CHARACTERS, MAX_TREE_MOVES, NO_NOTES, MoveNotes
from athenan_spiel.play.series import Fixture, seats_of
from athenan_spiel.system.files import parse_json
from athenan_spiel.system.json_fields import MOST_NUMBER, Fields
from athenan_spiel.system.line_file import LineFile

FORMAT = 2
MOST_BYTES = 2**34
"""Maximum size of a file of games, in bytes. It is read line by line."""
MOST_LINE = 2**22
"""Maximum size of a line in bytes: a game of a hundred thousand plies."""
MOST_REPLAYED = 2_000_000
"""Maximum number of actions to replay the variations of a game."""
LONGEST_REASON = 1_000
"""Maximum length of the reason of a forfeit, in characters."""
DIGITS = 6
"""Decimals of a time in seconds."""


KEYS = (
    "format",
    "game",
    "agents",
    "specs",
    "colour",
    "number",
    "seed",
    "opening_plies",
    "actions",
    "returns",
    "forfeit",
    "movers",
    "move_seconds",
    "seconds",
    "evaluations",
    "requests",
)
"""Keys of a saved game."""
NOTES = ("variations", "comments")
"""Keys of a saved game that has variations or comments."""


@dataclass(frozen=True)
class SavedMatch:
    """A finished game and its players.

    Attributes:
        game: game string.
        agents: names of the players, the contender first; with n > 2 players, in the order of player ids.
        specs: specs of the players.
        colour: player id of the contender; 0 unless there are two players.
        number: number of the opening among the games of these players; all games of an opening share it.
        seed: seed of the series.
        result: moves and result.
        notes: variations and comments.
    """

    game: str
    agents: tuple[str, ...]
    specs: tuple[str, ...]
    colour: int
    number: int
    seed: int
    result: MatchResult
    notes: MoveNotes = NO_NOTES

    @classmethod
    def of_series(
        cls, game: str, agents: Sequence[str], specs: Sequence[str], fixture: Fixture, seed: int, result: MatchResult
    ) -> SavedMatch:
        """Returns a game of a series.

        Args:
            agents: names of the contender and the opponent, or of a single player.
            specs: their specs.
            fixture: the game's place in the series.
        """
        players, colour = len(result.returns), fixture.colour
        chosen: Sequence[int] = range(len(agents))
        if players > 2:
            ours = seats_of(colour, players)
            chosen, colour = [seat not in ours for seat in range(players)], 0
        names, words = tuple(agents[i] for i in chosen), tuple(specs[i] for i in chosen)
        return cls(game, names, words, colour, fixture.number, seed, result)

    @property
    def players(self) -> tuple[str, ...]:
        """The names in the order of player ids."""
        return self.agents if self.colour == 0 else self.agents[::-1]

    def pairing(self, pairs: Collection[tuple[str, str]] | None = None) -> tuple[str, str, int] | None:
        """Returns the contender, the opponent and the colour (`Fixture`) of a game of a series.

        Args:
            pairs: names of the contender and the opponent of each series; None: any, and an agent alone against copies
                of another one is the contender.

        Returns:
            None if the game belongs to none of the series.
        """
        players = len(self.agents)
        if players == 2:
            contender, opponent = self.agents
            return (contender, opponent, self.colour) if pairs is None or self.agents in pairs else None
        lone = [name for name, count in Counter(self.agents).items() if count == 1]
        others = set(self.agents).difference(lone)
        if len(lone) != 1 or len(others) != 1:
            return None
        one, other, seat = lone[0], others.pop(), self.agents.index(lone[0])
        if pairs is None or (one, other) in pairs:
            return one, other, seat
        return (other, one, players + seat) if (other, one) in pairs else None

    def to_json(self) -> dict[str, Any]:
        """Returns the game as JSON values."""
        result = self.result
        notes = {name: [list(note) for note in getattr(self.notes, name)] for name in NOTES}
        return {
            "format": FORMAT,
            "game": self.game,
            "agents": list(self.agents),
            "specs": list(self.specs),
            "colour": self.colour,
            "number": self.number,
            "seed": self.seed,
            "opening_plies": result.opening_plies,
            "actions": list(result.history),
            "returns": list(result.returns),
            "forfeit": _forfeit_to_json(result.forfeit),
            "movers": list(result.movers),
            "move_seconds": [round(seconds, DIGITS) for seconds in result.move_seconds],
            "seconds": [round(seconds, DIGITS) for seconds in result.seconds],
            "evaluations": list(result.evaluations),
            "requests": list(result.requests),
            **{name: found for name, found in notes.items() if found},
        }

    @classmethod
    def from_json(cls, table: Any) -> SavedMatch:
        """Returns the game of a `to_json` table, after strict checks.

        Raises:
            ValueError: the table is not a saved game.
        """
        version = table.get("format") if isinstance(table, dict) else None
        if type(version) is int and version != FORMAT:
            raise ValueError(
                f"format must be {FORMAT}, got {shown(version)}: "
                "read it with the version of athenan_spiel that saved it"
            )
        fields = Fields(table, [*KEYS, *(name for name in NOTES if isinstance(table, dict) and name in table)])
        fields.whole("format")
        agents, specs = fields.texts("agents"), fields.texts("specs")
        if not agents or len(specs) != len(agents):
            raise ValueError(f"agents and specs must be one for each player, got {shown((agents, specs))}")
        players = len(agents)
        actions, movers = fields.wholes("actions"), fields.wholes("movers", least=CHANCE)
        plies = fields.whole("opening_plies", most=len(actions))
        if len(movers) != len(actions) - plies:
            raise ValueError(f"movers must be {len(actions) - plies}, one for each action after the opening")
        result = MatchResult(
            history=actions,
            opening_plies=plies,
            returns=fields.numbers("returns", players),
            seconds=fields.numbers("seconds", players, least=0.0),
            forfeit=_forfeit(fields.table["forfeit"], players),
            movers=movers,
            move_seconds=fields.numbers("move_seconds", len(movers), least=0.0),
            evaluations=fields.wholes("evaluations", players),
            requests=fields.wholes("requests", players),
        )
        colour = fields.whole("colour", most=players - 1 if players == 2 else 0)
        number, seed = fields.whole("number"), fields.whole("seed", least=-MOST_NUMBER)
        return cls(fields.text("game"), agents, specs, colour, number, seed, result, _notes(fields, len(actions)))

    def as_cut(self, cut: bool) -> SavedMatch:
        """Returns the game with the information, absent from a line, whether the length limit ended it."""
        return replace(self, result=replace(self.result, cut=cut and self.result.forfeit is None))

    def require_true(self) -> pyspiel.State:
        """Replays the game and returns its last state.

        Raises:
            ArenaError: the rules contradict the saved game, or the game does not exist.
        """
        result = self.result
        try:
            state = _game(self.game).new_initial_state()
        except AthenanError as error:
            raise ArenaError(f"its game cannot be loaded: {error}") from None
        if state.num_players() != len(self.agents):
            raise ArenaError(f"{self.game!r} is for {state.num_players()} players, got {len(self.agents)}")
        for ply, action in enumerate(result.history, 1):
            if state.is_terminal():
                raise ArenaError(f"action {ply}, {action}, comes after the end of the game at {self.game!r}")
            if action not in possible_actions(state):
                problem = "is no outcome of chance" if is_chance(state) else "is not legal"
                raise ArenaError(f"action {ply}, {action}, {problem} at {self.game!r}")
            mover = CHANCE if is_chance(state) else mover_of(state)
            if ply > result.opening_plies and result.movers[ply - result.opening_plies - 1] != mover:
                whose = "chance" if mover == CHANCE else f"player {mover}"
                raise ArenaError(f"action {ply}, {action}, is {whose}'s at {self.game!r}, but not in 'movers'")
            state.apply_action(action)
        self._require_result(state)
        self._require_notes()
        return state

    def _require_notes(self) -> None:
        """Replays the variations, each from the start unless it continues the one before."""
        history, variations = self.result.history, self.notes.variations
        state, here, replayed = _game(self.game).new_initial_state(), 0, 0
        for number, (parent, action) in enumerate(variations, len(history) + 1):
            if here != parent:
                line, before = [], parent
                while before > len(history):
                    before, last = variations[before - len(history) - 1]
                    line.append(last)
                state = _game(self.game).new_initial_state()
                for each in (*history[:before], *reversed(line)):
                    state.apply_action(each)
                replayed += before + len(line)
                if replayed > MOST_REPLAYED:
                    raise ArenaError(f"its variations need more than {MOST_REPLAYED:,} actions to be replayed")
            if state.is_terminal() or action not in possible_actions(state):
                raise ArenaError(f"action {action} of a variation is not legal at {self.game!r}, position {parent}")
            state.apply_action(action)
            here = number

    def _require_result(self, state: pyspiel.State) -> None:
        """Check the result against the last state."""
        forfeit, returns = self.result.forfeit, list(self.result.returns)
        if forfeit is not None:
            lost = list(forfeited_returns(forfeit.player_id, len(returns)))
            if state.is_terminal() or returns != lost:
                raise ArenaError(
                    f"a game forfeited by player {forfeit.player_id} must be unfinished and return {lost}: it is not"
                )
        elif not state.is_terminal():
            raise ArenaError(f"its actions leave the game at {self.game!r} unfinished, got a result of {returns}")
        elif list(state.returns()) != returns:
            raise ArenaError(f"its actions return {list(state.returns())} at {self.game!r}, got {returns}")


def new_match_file(path: str) -> LineFile:
    """Returns a file for saved games, which is created with the first one.

    Raises:
        ConfigError: the file exists or cannot be created.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        os.unlink(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"games must be saved to a new file, got {shown(path)}: {reason}") from None
    return LineFile(Path(path), MOST_BYTES, MOST_LINE)


def read_matches(path: Path, *, follow: bool = True) -> Iterator[SavedMatch]:
    """Yields the games of the file `path`; an incomplete last line, left by a kill, is skipped.

    Args:
        follow: whether `path` may be a link.

    Raises:
        ArenaError: a line is not a saved game, or the file cannot be read.
    """
    try:
        for number, line, whole in LineFile(path, MOST_BYTES, MOST_LINE).lines(follow=follow):
            if whole:
                yield match_of(line, f"{path}, line {number}")
    except OSError as error:
        raise ArenaError(f"{path} cannot be read: {error.strerror}") from None


def match_of(line: bytes, place: str) -> SavedMatch:
    """Returns the game of a line.

    Args:
        place: position of the line, for the message.

    Raises:
        ArenaError: it is not a saved game.
    """
    try:
        return SavedMatch.from_json(parse_json(line))
    except ValueError as error:
        start = line[:60].decode(errors="replace")
        raise ArenaError(f"{place} is not a saved game: {error}; it begins with {shown(start)}") from None


@functools.lru_cache(maxsize=4)
def _game(spec: str) -> pyspiel.Game:
    return load_game(spec)


def _notes(fields: Fields, plies: int) -> MoveNotes:
    """Returns the variations and comments of a game with this number of actions."""
    table = fields.table
    variations, comments = ([*_pairs(name, table[name])] if name in table else [] for name in NOTES)
    if len(variations) > MAX_TREE_MOVES:
        raise ValueError(f"variations must have at most {MAX_TREE_MOVES:,} actions, got {len(variations):,}")
    for index, (parent, action) in enumerate(variations, plies + 1):
        if type(parent) is not int or not 0 <= parent < index or type(action) is not int:
            raise ValueError(f"variations must be pairs of an earlier position and an action, got {shown(parent)}")
    for number, text in comments:
        if type(number) is not int or not 0 <= number <= plies + len(variations) or type(text) is not str:
            raise ValueError(f"comments must be pairs of a position and a text, got {shown((number, text))}")
        if len(text) > MAX_COMMENT_CHARACTERS:
            raise ValueError(f"a comment must have at most {MAX_COMMENT_CHARACTERS:,} characters, got {len(text):,}")
    return MoveNotes(tuple(variations), tuple(comments))


def _pairs(name: str, table: Any) -> Iterator[tuple[Any, Any]]:
    if type(table) is not list:
        raise ValueError(f"{name} must be a list, got {shown(table)}")
    for pair in table:
        if type(pair) is not list or len(pair) != 2:
            raise ValueError(f"{name} must be a list of pairs, got {shown(pair)}")
        yield pair[0], pair[1]


def _forfeit_to_json(forfeit: Forfeit | None) -> dict[str, Any] | None:
    if forfeit is None:
        return None
    reason = forfeit.reason[:LONGEST_REASON]
    return {"player": forfeit.player_id, "reason": reason, "resigned": forfeit.resigned}


def _forfeit(table: Any, players: int) -> Forfeit | None:
    if table is None:
        return None
    fields = Fields(table, ("player", "reason", "resigned"))
    player, reason = fields.whole("player", most=players - 1), fields.text("reason", empty=True)
    return Forfeit(player, reason, resigned=fields.truth("resigned"))
