"""`athenan replay`: shows a saved game, board by board."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.table import Table

from athenan_spiel.cli.console import output, print_json, say
from athenan_spiel.cli.exit_codes import DONE
from athenan_spiel.cli.options import LudiiMemory
from athenan_spiel.cli.parsing import parse
from athenan_spiel.errors import ArenaError, ConfigError, printable, shown

if TYPE_CHECKING:
    import pyspiel

    from athenan_spiel.arena.record import SavedMatch

LISTED = 1_000
"""Maximum number of games in a list."""
HELP = "Enter: the next board; p: the previous board; a number: the board after that ply; q: quit."


@dataclass(frozen=True, kw_only=True)
class ReplayArguments:
    """Show a game saved by `athenan eval --save` or by a tournament. A file with several games is listed.

    At a terminal, Enter shows the next board, p the previous one, a number the board after that ply, and q quits.
    Elsewhere all boards are printed. A game is checked before it is shown: a game with an illegal move or a wrong
    result is refused.

    Example: athenan replay runs/tournaments/connect_four/matches.jsonl --match 3
    """

    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """File with one game per line."""
    match: int | None = None
    """Number of the game in the file, from 1; default: the only game."""
    all: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print all boards at once, at a terminal too."""
    pgn: Annotated[str | None, tyro.conf.arg(metavar="FILE")] = None
    """New PGN file for a game of Chess, which is written instead of shown; default: not written."""
    sgf: Annotated[str | None, tyro.conf.arg(metavar="FILE")] = None
    """New SGF file for a game of Go or Hex, which is written instead of shown; default: not written."""
    ludii_memory: LudiiMemory = None
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print the game and the names of its moves as one JSON document."""


def run(words: Sequence[str]) -> int:
    """Run `athenan replay` with these words; returns the exit code."""
    arguments = parse(ReplayArguments, words, "athenan replay")
    if arguments.match is not None and arguments.match < 1:
        raise ConfigError(f"--match must be at least 1, got {shown(arguments.match)}")
    matches = _matches(arguments.file, arguments.match)
    if len(matches) > 1:
        output().print(_listed(matches))
        say(f"show one with: --match NUMBER{'' if len(matches) < LISTED else f' (these are the first {LISTED:,})'}")
        return DONE
    ((number, match),) = matches
    try:
        match.require_true()
    except ArenaError as error:
        raise ArenaError(f"{printable(arguments.file)}, game {number} is inconsistent: {error}") from None
    if arguments.pgn is not None:
        _write(arguments.pgn, _pgn(match))
    if arguments.sgf is not None:
        _write(arguments.sgf, _sgf(match))
    if arguments.pgn is arguments.sgf is None:
        _show(match, arguments)
    return DONE


def _sgf(match: SavedMatch) -> str:
    """Return the game as SGF.

    Raises:
        ConfigError: it is a game of neither Go nor Hex.
    """
    from athenan_spiel.games import load_game
    from athenan_spiel.protocols import sgf

    game, result, forfeit = load_game(match.game), match.result, match.result.forfeit
    if not sgf.is_written(game):
        raise ConfigError(f"SGF is for games of Go and Hex, got {match.game!r}")
    resigned = forfeit is not None and forfeit.resigned
    ending = sgf.result_of(game, result.returns, resigned=resigned, forfeited=forfeit is not None and not resigned)
    return sgf.written(game, result.history, match.players, ending)


def _pgn(match: SavedMatch) -> str:
    """Return the game as PGN.

    Raises:
        ConfigError: it is not a game of Chess.
    """
    from athenan_spiel.games import load_game
    from athenan_spiel.protocols import pgn

    result, names = match.result, [*match.players, "?"]
    comment = pgn.termination(result.forfeit)
    return pgn.written(load_game(match.game), result.history, (names[0], names[1]), result.returns, comment=comment)


def _write(path: str, text: str) -> None:
    """Write `text` into a new file.

    Raises:
        ConfigError: `path` exists or is invalid.
        OSError: the file cannot be written.
    """
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigError(f"expected the name of a new file, got {shown(path)}, which exists") from None
    except ValueError as error:  # a NUL character
        raise ConfigError(f"expected the name of a new file, got {shown(path)}: {error}") from None


def _matches(path: str, wanted: int | None) -> list[tuple[int, SavedMatch]]:
    """Return the game with the number `wanted`, or the first `LISTED` games, each with its number.

    Raises:
        ArenaError: the file cannot be read, or a line is not a saved game.
        ConfigError: the file has no game, or fewer than `wanted`.
    """
    from athenan_spiel.arena.record import read_matches

    found, number = [], 0
    for number, match in enumerate(read_matches(Path(path)), 1):
        if wanted in (None, number):
            found.append((number, match))
        if wanted == number or len(found) == LISTED:
            break
    if not number:
        raise ConfigError(f"expected a file of saved games, got {printable(path)}, which has none")
    if not found:
        raise ConfigError(f"--match must be from 1 to {number} for {printable(path)}, got {shown(wanted)}")
    return found


def _listed(matches: Sequence[tuple[int, SavedMatch]]) -> Table:
    table = Table()
    table.add_column("number", justify="right")
    most = max(2, *(len(match.players) for _, match in matches))
    columns = ("first player", "second player") if most == 2 else [f"player {player}" for player in range(most)]
    for name in ("game", *columns, "result"):
        table.add_column(name)
    table.add_column("plies", justify="right")
    for number, match in matches:
        players = [*match.players, *[""] * most][:most]
        plies = str(len(match.result.history))
        table.add_row(str(number), printable(match.game), *map(printable, players), result_of(match), plies)
    return table


def result_of(match: SavedMatch) -> str:
    """Return the winner as text, with more than two players also the returns, and the reason of a forfeit."""
    returns, forfeit = match.result.returns, match.result.forfeit
    if len(returns) == 1:
        return f"score {returns[0]:g}" if forfeit is None else "forfeited"
    winners = match.result.winners
    if not winners:
        return "a draw"
    if len(returns) > 2:
        return _result_of_many(match)
    winner = printable(match.players[winners[0]])
    if forfeit is None:
        return f"{winner} won"
    reason = "the other resigned" if forfeit.resigned else f"the other forfeited: {printable(forfeit.reason)}"
    return f"{winner} won, as {reason}"


def _result_of_many(match: SavedMatch) -> str:
    from athenan_spiel.drawing.state_picture import returns_text
    from athenan_spiel.games import load_game
    from athenan_spiel.games.facts import side_name

    forfeit = match.result.forfeit
    if forfeit is None:
        return returns_text(load_game(match.game), match.result.returns)
    reason = "resigned" if forfeit.resigned else f"forfeited: {printable(forfeit.reason)}"
    return f"{side_name(load_game(match.game), forfeit.player_id)} {reason}"


def _show(match: SavedMatch, arguments: ReplayArguments) -> None:
    boards = list(_boards(match))
    if arguments.json:
        names = [move for _, _, move in boards[1:]]
        print_json({**match.to_json(), "moves": names, "result": result_of(match)})
        return
    seconds = dict(enumerate(match.result.move_seconds, match.result.opening_plies + 1))
    console = output()
    print(_heading(match))
    if not console.is_terminal or arguments.all:
        for ply, board in enumerate(boards):
            print(_board(match, ply, board, seconds.get(ply)))
        print(result_of(match))
        return
    print(HELP)
    for ply in _requested_plies(len(boards) - 1):
        print(_board(match, ply, boards[ply], seconds.get(ply)))
        if ply == len(boards) - 1:
            print(result_of(match))


def _boards(match: SavedMatch) -> Iterator[tuple[str, int | None, str]]:
    """Yields the board after each ply, from 0, with the player that moved and the name of the move."""
    from athenan_spiel.games import load_game
    from athenan_spiel.games.chance import is_chance, outcome_name

    state: pyspiel.State = load_game(match.game).new_initial_state()
    yield str(state), None, ""
    for action in match.result.history:
        mover = state.current_player()
        name = outcome_name(state, action) if is_chance(state) else state.action_to_string(mover, action)
        state.apply_action(action)
        yield str(state), mover, name


def _heading(match: SavedMatch) -> str:
    from athenan_spiel.games import load_game
    from athenan_spiel.games.facts import side_name

    game = load_game(match.game)
    players = " against ".join(
        f"{printable(name)} ({side_name(game, i)}{'' if name == spec else f', {printable(spec)}'})"
        for i, (name, spec) in enumerate(zip(match.players, _specs(match), strict=True))
    )
    return f"{printable(match.game)}: {players}, {len(match.result.history)} plies"


def _specs(match: SavedMatch) -> Sequence[str]:
    return match.specs if match.colour == 0 else match.specs[::-1]


def _board(match: SavedMatch, ply: int, board: tuple[str, int | None, str], seconds: float | None) -> str:
    from athenan_spiel.games import load_game
    from athenan_spiel.games.facts import side_name

    text, mover, move = board
    if mover is None:
        return f"\n{text}"
    if ply <= match.result.opening_plies:
        return f"\nply {ply}, of the opening: {move}\n{text}"
    if mover < 0:
        return f"\nply {ply}, chance: {move}\n{text}"
    time = "" if seconds is None else f", {seconds:.2f} s"
    name = printable(match.players[mover])
    who = name if len(match.players) < 3 else f"{name} ({side_name(load_game(match.game), mover)})"
    return f"\nply {ply}: {who} plays {move}{time}\n{text}"


def _requested_plies(last: int) -> Iterator[int]:
    """Yield the plies that the user requests, starting with 0, until the user quits."""
    ply = 0
    while True:
        yield ply
        while True:
            try:
                answer = input(f"ply {ply} of {last}> ").strip().lower()
            except EOFError:
                return
            if answer in ("q", "quit"):
                return
            if answer in ("", "n", "next") and ply < last:
                ply += 1
                break
            if answer in ("", "n", "next"):
                return
            if answer in ("p", "previous") and ply > 0:
                ply -= 1
                break
            if answer.isascii() and answer.isdigit() and len(answer) < 10 and int(answer) <= last:
                ply = int(answer)
                break
            print(HELP)
