"""Review beside the board: button, accuracy of each side, and the list of bad moves."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from nicegui import events, ui

from athenan_spiel.games.facts import side_name
from athenan_spiel.web.analysis import GRADES
from athenan_spiel.web.live import Live
from athenan_spiel.web.live_game import LiveGame
from athenan_spiel.web.moves_panel import SELECTED_NODE
from athenan_spiel.web.opponents import MAX_MOVE_SECONDS, MIN_MOVE_SECONDS

REVIEW_SECONDS = 1.0
"""Default time per position of a review, in seconds."""
MAX_LISTED_MISTAKES = 30
"""Maximum number of bad moves in the list; the worst are shown."""


class ReviewPanel:
    """Part of a page that starts a review and shows its result.

    Args:
        match: game that is reviewed.
        run_action: runs an action and shows its error.
    """

    def __init__(self, match: LiveGame, run_action: Callable[[Callable[[], object]], None]) -> None:
        self._match = match
        self._run_action = run_action
        with ui.row().classes("review-row"):
            self._button = ui.button("Review game", icon="fact_check", on_click=self._toggle).props("dense no-caps")
            self._button.tooltip("Search each position of this line, and mark the moves that lost expected score")
            self._seconds = ui.number(
                "Seconds per position", value=REVIEW_SECONDS, min=MIN_MOVE_SECONDS, max=MAX_MOVE_SECONDS, step=0.5
            )
            self._seconds.props("dense outlined").classes("seconds")
        self._summary = Live().classes("review")
        self._summary.on("click", self._select, js_handler=SELECTED_NODE)

    def draw(self) -> None:
        """Shows the review so far."""
        self._button.text = "Stop review" if self._match.is_reviewing else "Review game"
        self._summary.set_content(review_html(self._match))

    def _toggle(self) -> None:
        match = self._match
        if match.is_reviewing:
            self._run_action(match.stop_review)
        else:
            self._run_action(lambda: match.start_review(self._seconds.value))

    def _select(self, event: events.GenericEventArguments) -> None:
        if type(event.args) is int:
            self._run_action(lambda: self._match.go_to(event.args))


def review_html(match: LiveGame) -> str:
    """Returns the accuracy of each side and the worst moves, each a button that shows the position after it."""
    review, game = match.review, match.game
    if review is None:
        return ""
    names = [name for name, _, _ in reversed(GRADES)]
    rows = []
    for player in range(game.num_players()):
        side = review.summary(player)
        accuracy = "-" if side.accuracy is None else f"{side.accuracy:.1f} %"
        cells = "".join(f"<td>{side.counts[name]}</td>" for name in names)
        rows.append(f"<tr><th>{escape(side_name(game, player))}</th><td>{accuracy}</td>{cells}</tr>")
    titles = "".join(f"<th>{name[:-1]}ies</th>" if name.endswith("y") else f"<th>{name}s</th>" for name in names)
    head = f"<thead><tr><th>side</th><th>accuracy</th>{titles}</tr></thead>"
    bad = [(node, found) for node in review.nodes if (found := match.judgement(node)) is not None and found.grade]
    worst = sorted(bad, key=lambda each: -each[1].lost)[:MAX_LISTED_MISTAKES]
    items = []
    for node, found in sorted(worst, key=lambda each: each[0].ply):
        loser = side_name(game, found.player)
        before, after = (each.text(found.player) for each in (found.before, found.after))
        items.append(
            f'<li><button data-node="{node.number}" class="{found.grade}" title="Show the position after it">'
            f"{escape(f'{node.ply}. {node.name}{found.mark}')}</button> "
            f"{escape(f'{loser} lost {found.lost:.1f} %, from {before} to {after}; best was {found.best}')}</li>"
        )
    more = f"<li>and {len(bad) - len(worst)} more</li>" if len(bad) > len(worst) else ""
    return f"<table>{head}<tbody>{''.join(rows)}</tbody></table><ul>{''.join(items)}{more}</ul>"
