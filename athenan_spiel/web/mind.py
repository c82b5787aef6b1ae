"""What a page shows of a search: a value in words, the worth of each action on the board, and why not another one.

Values are player 0's throughout; what is shown says for whom. A value is measured by the size of the outcome's large
values (`Outcome.scale`); what is proven is said as such, and never as a number.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyspiel

from athenan_spiel.drawing import mind
from athenan_spiel.drawing.board import Worth
from athenan_spiel.drawing.mind import ActionMind, Judgement, ghosts, line_text
from athenan_spiel.search.result import SearchResult, of_actions, of_state
from athenan_spiel.search.walk import principal_variation
from athenan_spiel.web.table import Option

__all__ = ["ActionMind", "Judgement", "ghosts", "line_text", "of_actions", "of_state", "why_not", "worths"]


def worths(
    minds: Sequence[ActionMind], options: Sequence[Option], pressed: int, scale: float, mover: int
) -> dict[int, Worth]:
    """What is written on the sites that may be pressed next: the best of the actions that go on there.

    Args:
        minds: as `of_actions` gives them.
        options: the actions that are left.
        pressed: sites of them that were pressed already.
    """
    sites = {option.action: option.sites for option in options}
    return mind.worths(minds, sites, scale, mover, pressed=pressed)


def why_not(result: SearchResult, state: pyspiel.State, action: int) -> str:
    """Why an action is not the one to play, by the line that the search expects after it."""
    rows = {row.action: row for row in of_actions(result, state)}
    mover = state.current_player()
    row, best = rows[action], rows[result.action]
    worth = f"{row.name}: {row.judgement.text(mover)} for the player to move, looked at {row.judgement.visits} times"
    if action == best.action:
        return f"{worth}; it is the move to play"
    index = int((result.actions == action).nonzero()[0][0])
    line = principal_variation(result.node, index)
    expected = f"after {line_text(line, state)}" if len(line) > 1 else "no answer to it was looked at"
    return f"{worth}, {expected}; {best.name} is {best.judgement.text(mover)}"
