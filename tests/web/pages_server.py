"""Web server with games for the browser tests, run as a separate process; prints their addresses as JSON.

`python pages_server.py PORT` serves `MATCHES`; Ludii's games use the fake transport of the tests. With a further
argument `ludii`, it serves `OF_LUDII`, which needs Java and the jar. The variable RUNS names a folder of runs.
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path

import pyspiel

sys.path[:0] = [str(Path(__file__).parents[i]) for i in (1, 2)]
sys.path.insert(0, str(Path(__file__).parents[1] / "ludii"))

YOU = "you"
MATCHES = {
    "connect_four": ("connect_four", (YOU, "quick"), None),
    "another": ("connect_four", (YOU, "quick"), None),
    "analysed": ("connect_four", (YOU, "alphabeta"), None),
    "slow": ("breakthrough", (YOU, "alphabeta"), None),
    "hex": ("hex(board_size=4)", (YOU, "random"), None),
    "othello": ("othello", (YOU, "random"), 12),
    "amazons": ("amazons", (YOU, "random"), 12),
    "chess": ("chess", (YOU, YOU), None),
    "ludii": ("ludii(game=Tic-Tac-Toe)", (YOU, "quick"), None),
    "pig": ("pig(players=2)", (YOU, YOU), None),
    "seats": ("chinese_checkers(players=3)", ("random", YOU, "random"), None),
    "pig_of_three": ("pig(players=3,winscore=10)", (YOU, "random", "random"), None),
    "text": ("hive", (YOU, YOU), None),
    "linked": ("tic_tac_toe", (YOU, YOU), None),
    "commented": ("tic_tac_toe", (YOU, YOU), None),
    "reviewed": ("tic_tac_toe", (YOU, YOU), None),
    "asked": ("tic_tac_toe", (YOU, YOU), None),
    "moves": ("tic_tac_toe", (YOU, YOU), None),
    "chess_board": ("chess", (YOU, YOU), None),
    "agents": ("tic_tac_toe", ("random", "quick"), None),
}
"""Game, players, and the number of plies before the end of a random game to start at (None: at the start), by name."""
OF_LUDII = {
    "surakarta": ("ludii(game=Surakarta)", (YOU, "random"), 12),
    "mancala": ("ludii(game=Kalah)", (YOU, "quick"), 12),
    "hexagons": ("ludii(game=Hex,options=Board Size/5x5)", (YOU, "random"), None),
}
"""The same for games of Ludii itself."""


def start_of(name: str, left: int | None) -> pyspiel.State:
    """Returns the first position of a game."""
    from athenan_spiel.games import load_game

    game = load_game(name)
    state = game.new_initial_state()
    if left is None:
        return state
    rng, line = random.Random(1), []
    while not state.is_terminal():
        line.append(rng.choice(state.legal_actions()))
        state.apply_action(line[-1])
    state = game.new_initial_state()
    for action in line[:-left]:
        state.apply_action(action)
    return state


def tell(addresses: dict[str, str]) -> None:
    """Prints the addresses of the games once the server listens."""
    sys.stdout.write(json.dumps(addresses) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Serve until stopped."""
    import ludii_fake
    from nicegui import app, ui

    from agents import parse_spec
    from athenan_spiel.web.opponents import Opponents
    from athenan_spiel.web.pages import add_pages
    from athenan_spiel.web.runs import RunReader
    from athenan_spiel.web.server import RUN, TICK_SECONDS
    from athenan_spiel.web.sessions import GameSessions
    from athenan_spiel.web.site import SiteContent
    from ludii_bridge import connection

    matches = MATCHES if len(sys.argv) < 3 else OF_LUDII
    if matches is MATCHES:
        connection.use(ludii_fake.FakeTransport())
    sessions = GameSessions()
    words = [parse_spec("alphabeta@3i"), parse_spec("random")]
    addresses = {}
    for name, (game, seats, left) in matches.items():
        sitting = ["alphabeta@3i" if seat == "quick" else seat for seat in seats]
        seconds = 60.0 if name == "slow" else 0.1
        addresses[name] = "/match/" + sessions.open(start_of(game, left), Opponents(words), sitting, seconds)
    runs = os.environ.get("RUNS")
    add_pages(SiteContent(runs=None if runs is None else Path(runs)), sessions, RunReader())
    app.timer(TICK_SECONDS, sessions.tick)
    app.on_shutdown(sessions.close)
    app.on_startup(lambda: tell(addresses))
    ui.run(host="127.0.0.1", port=int(sys.argv[1]), reload=False, show=False, **RUN)


main()
