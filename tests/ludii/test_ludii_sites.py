"""Games whose pieces stand on several kinds of sites: cells and edges, vertices and cells, and so on."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest

pytestmark = pytest.mark.usefixtures("ludii")

MORPION = Path(__file__).parents[2] / "examples" / "ludii" / "morpion_solitaire.lud"
HELD = {
    "game=ConHex": ["Cell", "Vertex"],
    "game=Guerrilla Checkers": ["Vertex", "Cell"],
    "game=Quoridor": ["Cell", "Edge"],
    "game=Triple Tangle": ["Vertex", "Cell", "Edge"],
    f"file={MORPION}": ["Vertex", "Edge"],
}
"""The board's main kind of site, and those that hold pieces beside it."""


def load(parameters: str) -> Any:
    return pyspiel.load_game(f"ludii({parameters},max_length=40)")


def ranks(values: list[float]) -> list[int]:
    """For each value how many smaller ones there are, equal ones counted once."""
    rounded = np.round(values, 4)
    return [int(rank) for rank in np.searchsorted(np.unique(rounded), rounded)]


def board(game: Any, kinds: list[str]) -> dict[str, list[tuple[int, int]]]:
    """The column and the row of each site of the board by Ludii's coordinates of all these kinds of sites."""
    import jpype

    kind_of = jpype.JClass("game.types.board.SiteType")
    topology = game.rules.game.board().topology()
    sites = {kind: list(topology.getGraphElements(kind_of.valueOf(kind))) for kind in kinds}
    together = [site.centroid() for kind in kinds for site in sites[kind]]
    columns = ranks([float(centre.getX()) for centre in together])
    places = iter(zip(columns, ranks([float(centre.getY()) for centre in together]), strict=True))
    return {kind: [next(places) for _ in sites[kind]] for kind in kinds}


@pytest.mark.parametrize("parameters", HELD)
def test_the_tensor_shows_the_pieces_on_each_kind_of_site(parameters: str) -> None:
    import jpype

    kind_of = jpype.JClass("game.types.board.SiteType")
    game, kinds = load(parameters), HELD[parameters]
    names = [name for name, _ in game.rules.components]
    places = board(game, kinds)
    state = game.new_initial_state()
    rng = random.Random(1)
    seen: set[str] = set()
    while not state.is_terminal():
        planes = np.array(state.observation_tensor(0)).reshape(game.observation_tensor_shape())
        container = state.position.context.containerState(0)
        expected = np.zeros_like(planes)
        for kind in kinds:
            often: Counter[tuple[int, int]] = Counter()
            for number, place in enumerate(places[kind]):
                often[place] += 1
                if piece := int(container.what(number, kind_of.valueOf(kind))):
                    where = f"{kind.lower()}{f' ({often[place]})' if often[place] > 1 else ''}"
                    channel = names[piece - 1] if kind == kinds[0] else f"{names[piece - 1]} on the {where}"
                    expected[(game.channels.index(channel), *place)] = 1
                    seen.add(kind)
        of_pieces = [i for i, channel in enumerate(game.channels) if channel.split(" on the ")[0] in names]
        hands = len(game.rules.layout.areas) > 1 and game.rules.layout.areas[1].container > 0
        width = max(column for some in places.values() for column, _ in some) + 1
        assert hands or width == planes.shape[1]
        np.testing.assert_array_equal(planes[of_pieces, :width], expected[of_pieces, :width])
        state.apply_action(rng.choice(state.legal_actions()))
    assert seen.issuperset(kinds[1:])


def test_walls_are_drawn_between_the_cells() -> None:
    state = load("game=Quoridor").new_initial_state()
    wall = next(action for action in state.legal_actions() if state.action_to_string(action) == "81-Edge 169")
    empty, built = (str(each).splitlines()[:18] for each in (state, state.child(wall)))
    assert "".join(empty[1].split()) == "|.|.|.|.|p|.|.|.|.|".replace("|", "\N{MIDDLE DOT}")
    changed = [(x, y) for y, row in enumerate(empty) for x, mark in enumerate(row) if built[y][x] != mark]
    assert [built[y][x] for x, y in changed] == ["R"]
    assert all(empty[y][x] == "\N{MIDDLE DOT}" for x, y in changed)


def test_other_games_have_their_main_kind_of_site_alone() -> None:
    """Cells of hands are no cells of the board."""
    for name in ("Nine Men's Morris", "Surakarta", "Hex", "Bao"):
        layout = load(f"game={name}").rules.layout
        assert len(layout.further) == 0
        assert [area.container for area in layout.areas] == list(range(len(layout.areas)))
