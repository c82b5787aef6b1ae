"""A server of matches for the tests in a browser, in a process of its own; it prints their addresses as JSON.

`python pages_server.py PORT` serves `MATCHES`; the games of Ludii are those of the tests' own transport. With the word
`ludii` after it, it serves `OF_LUDII`, which takes Java and the jar. The variable RUNS names a folder of runs.
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
    "text": ("hive", (YOU, YOU), None),
    "agents": ("tic_tac_toe", ("random", "quick"), None),
}
"""By name: the game, who plays, and how many plies before the end of a random match it begins; None: at the start."""
OF_LUDII = {
    "surakarta": ("ludii(game=Surakarta)", (YOU, "random"), 12),
    "mancala": ("ludii(game=Kalah)", (YOU, "quick"), 12),
    "hexagons": ("ludii(game=Hex,options=Board Size/5x5)", (YOU, "random"), None),
}
"""Of Ludii itself, likewise."""


def start_of(name: str, left: int | None) -> pyspiel.State:
    """The position that a match begins from."""
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
    """Say that the server listens, and where its matches are."""
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
    from athenan_spiel.web.site import Site
    from ludii_bridge import connection

    matches = MATCHES if len(sys.argv) < 3 else OF_LUDII
    if matches is MATCHES:
        connection.use(ludii_fake.FakeTransport())
    visits = GameSessions()
    words = [parse_spec("alphabeta@3i"), parse_spec("random")]
    addresses = {}
    for name, (game, seats, left) in matches.items():
        sitting = ["alphabeta@3i" if seat == "quick" else seat for seat in seats]
        seconds = 60.0 if name == "slow" else 0.1
        addresses[name] = "/match/" + visits.open(start_of(game, left), Opponents(words), sitting, seconds)
    runs = os.environ.get("RUNS")
    add_pages(Site(runs=None if runs is None else Path(runs)), visits, RunReader())
    app.timer(TICK_SECONDS, visits.tick)
    app.on_shutdown(visits.close)
    app.on_startup(lambda: tell(addresses))
    ui.run(host="127.0.0.1", port=int(sys.argv[1]), reload=False, show=False, **RUN)


main()
