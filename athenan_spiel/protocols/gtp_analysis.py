"""Search result as a line for GUIs, in the format of Leela Zero's `lz-analyze`.

Each move has `info move D4 visits 120 winrate 6123 value 0.2246 proven no order 0 pv D4 C3`. Order 0 is the move that
the agent's decision selects. The others follow by (completion, value, visits), best first. Values are the mover's.
`winrate` is 10,000 times the expected score, `value` is in units of the run's outcome, and `proven` is `win`, `draw`,
`loss` or `no`.
"""

from __future__ import annotations

import pyspiel

from athenan_spiel.protocols.vertices import Vertices
from athenan_spiel.search.result import SearchResult
from athenan_spiel.search.walk import principal_variation

LONGEST_LINE = 40
"""Maximum number of moves of a variation."""
_PROVEN = {1: "win", 0: "draw", -1: "loss"}


def analysis(vertices: Vertices, state: pyspiel.State, result: SearchResult, scale: float, most: int) -> str:
    """Returns a search result of `state` in one line.

    Args:
        scale: outcome's value of a certain win.
        most: maximum number of moves.
    """
    sign = 1 if state.current_player() == 0 else -1

    def worth(i: int) -> tuple[int, float, int]:
        return sign * int(result.completions[i]), sign * float(result.values[i]), int(result.visits[i])

    actions = result.actions.tolist()
    order = sorted(range(len(actions)), key=lambda i: (actions[i] == result.action, *worth(i)), reverse=True)
    return " ".join(
        _info(vertices, state, result, i, rank, worth(i), scale) for rank, i in enumerate(order[: max(1, most)])
    )


def _info(
    vertices: Vertices,
    state: pyspiel.State,
    result: SearchResult,
    i: int,
    rank: int,
    worth: tuple[int, float, int],
    scale: float,
) -> str:
    completion, value, visits = worth
    resolved = bool(result.resolved[i])
    share = float(completion) if resolved else min(1.0, max(-1.0, value / scale))
    here, line = state.clone(), []
    for action in principal_variation(result.node, i)[:LONGEST_LINE]:
        line.append(vertices.vertex(here, action))
        here.apply_action(action)
    return (
        f"info move {line[0]} visits {visits} winrate {round(5000 * (1 + share))} value {value:.4f} "
        f"proven {_PROVEN[completion] if resolved else 'no'} order {rank} pv {' '.join(line)}"
    )
