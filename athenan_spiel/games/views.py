"""How each game looks, where that is known: its file in `facts` says it, or the game itself (`own_view`)."""

from __future__ import annotations

import pyspiel

from athenan_spiel.games.facts import facts_of
from athenan_spiel.games.own_view import own_view
from athenan_spiel.games.view import View


def view_of(game: pyspiel.Game) -> View | None:
    """How the game looks; None where that is not known."""
    view = facts_of(game.get_type().short_name).view
    return own_view(game) if view is None else view(game)
