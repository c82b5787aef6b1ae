"""Page of a game: board, controls and analysis, drawn by NiceGUI."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from typing import Any

import pyspiel
from nicegui import background_tasks, events, ui

from athenan_spiel.drawing.board import Overlay, board_svg
from athenan_spiel.drawing.evaluations import NodeEvaluation, candidate_marks, named_text, variation_stones
from athenan_spiel.drawing.state_picture import listed, numbers_text, side_text
from athenan_spiel.drawing.view import View
from athenan_spiel.errors import AthenanError
from athenan_spiel.games.chance import has_chance
from athenan_spiel.games.rows import winners_of
from athenan_spiel.play.move_tree import MAX_TREE_MOVES
from athenan_spiel.search.result import action_evaluations, state_evaluation
from athenan_spiel.web.analysis import Analysis
from athenan_spiel.web.analysis_panel import AnalysisPanel
from athenan_spiel.web.interactive_board import InteractiveBoard, MoveOption
from athenan_spiel.web.live import Live, bar_html
from athenan_spiel.web.live_game import WaitProgress
from athenan_spiel.web.moves_panel import MovesPanel, add_button
from athenan_spiel.web.opponents import MAX_MOVE_SECONDS, MIN_MOVE_SECONDS, YOU
from athenan_spiel.web.position_dialog import PositionDialog
from athenan_spiel.web.positions import link_query
from athenan_spiel.web.review_panel import ReviewPanel
from athenan_spiel.web.saved_panel import SavedPanel
from athenan_spiel.web.sessions import GameSession

REFRESH_SECONDS = 0.15
"""Seconds between two checks for changes."""
ADDRESS_SECONDS = 1.0
"""Minimum time between two changes of a page's address, in seconds; browsers limit their number."""
MAX_BOARD_VALUES = 24
"""Maximum number of action values on the board; the best are shown."""
MAX_MOVE_BUTTONS = 60
"""Maximum number of buttons for moves without a site on the board."""
_PRESSED = """(event) => {
    const site = event.target.closest('.site.can');
    if (site && (event.type === 'click' || event.key === 'Enter' || event.key === ' ')) {
        event.preventDefault();
        emit(Number(site.dataset.site));
    }
}"""
"""Handler of clicks and keys on a site."""


class GamePage:
    """View of a session in one browser.

    The board is drawn in another thread, since a large one takes a second.

    Args:
        session: session to show.
    """

    def __init__(self, session: GameSession) -> None:
        self._session = session
        self._match = session.match
        self._version = -1
        self._query: str | None = None
        self._addressed_at = 0.0
        self._drawn_moves: tuple[Sequence[MoveOption], bool] | None = None
        self._is_stale = False
        self._drawing: asyncio.Task[None] | None = None
        self._is_flipped = False
        self._on_confirmation: Callable[[], object] = lambda: None
        self._build()
        self.refresh()

    def _build(self) -> None:
        with ui.element("div").classes("match"):
            with ui.element("section").classes("board-side").props('aria-label="Board"'):
                self._status = ui.label().classes("status").props('role="status" aria-live="polite"')
                self._progress = Live().classes("progress")
                self._bar = Live().classes("value-bar")
                self._board = Live().classes("board")
                self._board.on("click", self._pressed, js_handler=_PRESSED)
                self._board.on("keydown", self._pressed, js_handler=_PRESSED)
                self._board.on("sitepress", self._pressed, js_handler="(event) => emit(event.detail)")
                self._named_moves = ui.row().classes("named")
                self._build_controls()
            with ui.element("section").classes("analysis-side").props('aria-label="Agent"'):
                self._moves = MovesPanel(self._match, self._run_action)
                self._build_settings()
                self._analysis = AnalysisPanel(self._match, self._run_action, lambda: bool(self._raw.value))
                self._review = ReviewPanel(self._match, self._run_action)
                self._saved = SavedPanel(self._session, self._run_action)

    def _build_controls(self) -> None:
        match = self._match
        with ui.row().classes("controls"):
            self._button("undo", "Take back", match.take_back)
            self._button("first_page", "First position", lambda: match.show(0), key="Home")
            self._button("chevron_left", "One move back", lambda: match.step(-1), key="ArrowLeft")
            self._button("chevron_right", "One move forward", lambda: match.step(1), key="ArrowRight")
            self._button("last_page", "Last position", lambda: match.step(MAX_TREE_MOVES), key="End")
            self._button("play_arrow", "Continue from here", match.continue_here)
            if match.board.view is not None:
                self._button("swap_vert", "Flip board", self._flip, key="f")
            self._button("flag", "Resign", self._ask_to_resign)
            self._button("refresh", "New game", self._ask_for_new_game)
            self._button("ios_share", "Copy or load", PositionDialog(match).show)
            self._button("lightbulb", "Hint", lambda: match.ask("hint"), key="h")
            self._button("crisis_alert", "Threat", lambda: match.ask("threat"), key="x")
        self._advice = ui.label().classes("advice").props('role="status" aria-live="polite"')
        with ui.dialog() as self._dialog, ui.card():
            self._question = ui.label()
            with ui.row():
                self._confirmation = ui.button(on_click=self._confirmed).props("dense no-caps")
                ui.button("Cancel", on_click=self._dialog.close).props("flat dense no-caps autofocus")
        self._move = ui.input("Type a move").props("dense outlined clearable").classes("typed")
        self._move.on("keydown.enter", self._play_typed_move)

    def _build_settings(self) -> None:
        match = self._match
        names = [YOU, *self._session.opponents.names]
        with ui.row().classes("settings"):
            self._seats = [
                ui.select(names, value=seat, label=self._side(player), on_change=self._change_seats).props(
                    "dense outlined"
                )
                for player, seat in enumerate(match.seats)
            ]
            if len(self._seats) == 2:
                self._button("swap_horiz", "Swap sides", lambda: match.set_seats(match.seats[::-1]))
            elif len(self._seats) > 2:
                turned = "Give each seat to the next player"
                self._button("rotate_right", turned, lambda: match.set_seats((match.seats[-1], *match.seats[:-1])))
            seconds = ui.number(
                "Seconds per move", value=match.seconds, min=MIN_MOVE_SECONDS, max=MAX_MOVE_SECONDS, step=0.1
            )
            seconds.props("dense outlined debounce=600").classes("seconds")
            seconds.on_value_change(lambda event: self._run_action(lambda: match.set_seconds(event.value)))
        with ui.row().classes("switches"):
            self._dots = ui.switch("Legal moves", value=True, on_change=self._draw)
            self._dots.tooltip("Mark where you may play")
            self._values = ui.switch("Values", value=True, on_change=self._draw)
            self._values.tooltip("Show the values of the best moves on the board, coloured by their loss")
            self._line = ui.switch("Expected line", value=True, on_change=self._draw)
            self._line.tooltip("Show the next moves that the agent expects")
            self._raw = ui.switch("Raw values", on_change=self._draw_all)
            self._raw.tooltip("Show values in units of the outcome instead of expected scores")
            self._analyse = ui.switch("Analyse", on_change=lambda event: match.analyse(bool(event.value)))
            self._analyse.tooltip("Analyse the position during your turn")
            if has_chance(match.game):
                rolls = ui.switch("Automatic rolls", value=match.rolls)
                rolls.on_value_change(lambda event: match.roll_by_itself(bool(event.value)))
                rolls.tooltip("The program rolls; otherwise press Roll, or type the outcome of real dice")
            if len(match.seats) == 2:
                ponder = ui.switch(
                    "Ponder", value=match.ponders, on_change=lambda event: match.ponder(bool(event.value))
                )
                ponder.tooltip("The agent thinks during your turn, from its next move on")

    def _button(self, icon: str, name: str, act: Callable[[], object], *, key: str | None = None) -> None:
        add_button(self._run_action, icon, name, act, key=key)

    def _flip(self) -> None:
        self._is_flipped = not self._is_flipped
        self._draw()

    def _confirm(self, question: str, name: str, act: Callable[[], object]) -> None:
        """Asks a question, and runs the action if the button `name` is pressed."""
        self._question.text, self._confirmation.text, self._on_confirmation = question, name, act
        self._dialog.open()

    def _confirmed(self) -> None:
        self._dialog.close()
        self._run_action(self._on_confirmation)

    def _ask_to_resign(self) -> None:
        if self._match.is_yours and len(self._match.seats) > 1:
            self._confirm("Resign this game?", "Resign", self._match.resign)
        else:
            self._match.resign()

    def _ask_for_new_game(self) -> None:
        """Starts a new game; if there are moves, after a confirmation."""
        if self._match.board.tree.root.children:
            question = "Start a new game? All moves of this one are dropped."
            self._confirm(question, "New game", self._match.restart)
        else:
            self._match.restart()

    def _side(self, player: int) -> str:
        return side_text(self._match.game, player, is_drawn=self._match.board.view is not None)

    def _run_action(self, act: Callable[[], object]) -> None:
        """Runs an action and shows its error."""
        try:
            act()
        except AthenanError as error:
            ui.notify(str(error).split("\n")[0], type="warning")
        self.refresh()

    def _pressed(self, event: events.GenericEventArguments) -> None:
        site = event.args
        if type(site) is int and self._match.board.view is not None:
            self._run_action(lambda: self._match.press(site))

    def _play_typed_move(self) -> None:
        text = (self._move.value or "").strip()
        options = self._match.board.options()
        found = [x for x in options if x.name == text] or [x for x in options if x.name.lower() == text.lower()]
        if len(found) != 1:
            ui.notify(f"{text!r} is not a legal move", type="warning")
            return
        self._move.value = ""
        self._run_action(lambda: self._match.play(found[0].action))

    def _change_seats(self) -> None:
        seats = [str(seat.value) for seat in self._seats]
        if seats != list(self._match.seats):
            self._run_action(lambda: self._match.set_seats(seats))

    def refresh(self) -> None:
        """Draws what has changed."""
        self._update_address()
        self._progress.set_content(_progress(self._match.progress))
        if self._version == self._match.version:
            return
        self._version = self._match.version
        if self._match.error is not None:
            ui.notify(self._match.error, type="negative", multi_line=True)
            self._match.error = None
        for select, seat in zip(self._seats, self._match.seats, strict=True):
            select.value = seat
        self._analyse.value = self._match.analyses
        self._draw_all()
        self._review.draw()
        self._saved.draw()

    def _draw_all(self) -> None:
        self._draw()
        self._analysis.draw()

    def _update_address(self) -> None:
        """Puts the position into the address of the page, so it can be opened after a restart of the server."""
        now = time.monotonic()
        if now - self._addressed_at < ADDRESS_SECONDS or not ui.context.client.has_socket_connection:
            return
        self._addressed_at = now
        query = link_query(self._match.board)
        if query != self._query:
            self._query = query
            ui.navigate.history.replace("?" + (query or ""))

    async def drawn(self) -> None:
        """Waits until the board is drawn."""
        if self._drawing is not None:
            await self._drawing

    def _draw(self) -> None:
        """Starts to draw the board and the text around it; later changes are drawn afterwards."""
        self._is_stale = True
        if self._drawing is None or self._drawing.done():
            self._drawing = background_tasks.create(self._draw_board(), name="drawing a board")

    async def _draw_board(self) -> None:
        while self._is_stale and not self._board.is_deleted:
            self._is_stale = False
            board, is_yours = self._match.board, self._match.is_yours
            copy, may_roll = board.copy(), self._match.may_roll and not self._match.rolls
            advice = self._match.advice
            status, viewer, known = self._status_text(), self._match.viewer, self._match.board_analysis
            value = self._match.values()[len(board.moves)]
            if known is not None and known.line != self._match.line and self._match.progress is None:
                known = None  # an earlier analysis stays on the board while the next one is awaited
            if value is None and known is not None and known.line == self._match.line:
                value = state_evaluation(known.result, known.state, viewer)
            picture = await asyncio.to_thread(self._picture, copy, known, is_yours=is_yours)
            board.take_options(copy)
            if not self._board.is_deleted:
                self._status.text = status
                self._advice.text = "" if advice is None else advice.text
                self._bar.set_content(_bar(self._match.game, value, viewer, raw=bool(self._raw.value)))
                self._board.set_content(picture)
                self._moves.draw()
                self._draw_named_moves(copy.named() if is_yours else [], may_roll=may_roll)

    def _picture(self, board: InteractiveBoard, analysis: Analysis | None, *, is_yours: bool) -> str:
        board.options()
        if board.view is None:
            return f"<pre>{escape(str(board.state))}</pre>"
        view = board.view.flipped() if self._is_flipped else board.view
        return board_svg(view, board.state, self._overlay(board, analysis, is_yours=is_yours))

    def _draw_named_moves(self, options: Sequence[MoveOption], *, may_roll: bool) -> None:
        """Draws the buttons of moves; unchanged buttons stay, so a click on them isn't lost."""
        if self._drawn_moves == (options, may_roll):
            return
        self._drawn_moves = (options, may_roll)
        self._named_moves.clear()
        with self._named_moves:
            if may_roll:
                ui.button("Roll", icon="casino", on_click=partial(self._run_action, self._match.roll)).props(
                    "dense no-caps"
                )
            for option in options[:MAX_MOVE_BUTTONS]:
                act = partial(self._run_action, partial(self._match.play, option.action))
                ui.button(option.name, on_click=act).props("outline dense no-caps")
            if len(options) > MAX_MOVE_BUTTONS:
                ui.label(f"and {len(options) - MAX_MOVE_BUTTONS} more; type the move")

    def _overlay(self, board: InteractiveBoard, analysis: Analysis | None, *, is_yours: bool) -> Overlay:
        """Returns what is drawn on the board besides the pieces."""
        view = board.view
        assert view is not None
        overlay: dict[str, Any] = {
            "last": board.last_sites(),
            "chosen": board.chosen,
            "win": view.winning_sites(board.state),
        }
        if (advice := self._match.advice) is not None and not board.chosen:
            overlay["threat" if advice.is_threat else "hint"] = advice.sites
        if is_yours:
            overlay["can"] = board.targets() | set(board.chosen)
            overlay["targets"] = board.dots() if self._dots.value else ()
            overlay["drags"] = board.drags()
        if analysis is not None:
            overlay |= self._analysis_marks(board, view, analysis)
        return Overlay(**overlay)

    def _analysis_marks(self, board: InteractiveBoard, view: View, analysis: Analysis) -> dict[str, Any]:
        """Returns the candidate moves and the expected line; of an earlier position only the candidates, pale."""
        is_stale = analysis.line != tuple(board.state.history())
        marks: dict[str, Any] = {"is_stale": is_stale}
        if self._values.value:
            reader = self._match.viewer
            actions = action_evaluations(analysis.result, analysis.state, reader)[:MAX_BOARD_VALUES]
            pressed = 0 if is_stale else len(board.chosen)
            if is_stale:
                sites = {each.action: view.action_sites(analysis.state, each.action) for each in actions}
            else:
                sites = {option.action: option.sites for option in board.left()}
            raw = bool(self._raw.value)
            found = candidate_marks(actions, sites, pressed=pressed, reader=reader, raw=raw, is_path=view.is_path)
            marks |= {"labels": found.labels, "arrows": found.arrows}
        if self._line.value and not board.chosen and not is_stale:
            first = 2 if self._values.value else 1
            line = analysis.result.principal_variation
            marks["variation"] = variation_stones(line, board.state, view, first=first)
        return marks

    def _status_text(self) -> str:
        note = "" if self._match.board.view is None else self._match.board.view.note(self._match.board.state)
        rolls = ", ".join(self._match.board.last_rolls())
        return self._turn_text() + (f"; chance: {rolls}" if rolls else "") + (f" ({note})" if note else "")

    def _turn_text(self) -> str:
        match, board = self._match, self._match.board
        ply = f"Move {len(match.line) + 1}"
        if (forfeit := match.forfeit) is not None:
            others = [player for player in range(len(match.seats)) if player != forfeit.player_id]
            won = f"{self._side(others[0])} wins" if len(others) == 1 else "the other players share the win"
            return f"{forfeit.reason}: {won}"
        if board.is_over:
            returns = board.state.returns()
            if len(returns) == 1:
                return f"Finished with a score of {returns[0]:g}"
            return f"Finished: {self._result_text(returns)}"
        if board.is_chance:
            return f"{ply}: {match.waiting_for}"
        side = self._side(board.state.current_player()) if len(match.seats) > 1 else ""
        if match.is_yours:
            moves_pieces = not board.moves and len(board.option(board.state.legal_actions()[0]).sites) > 1
            hint = "; select a piece, then its destination" if moves_pieces else ""
            return f"{ply}: your turn{side and f', {side}'}{hint}"
        return f"{ply}: {side and f'{side}, '}{match.waiting_for}"

    def _result_text(self, returns: Sequence[float]) -> str:
        """Returns the winners, with more than two players also the returns."""
        winners = winners_of(returns)
        if not winners:
            return "a draw"
        sides = listed(map(self._side, winners))
        won = f"{sides} wins" if len(winners) == 1 else f"{sides} share the first place"
        return won if len(returns) == 2 else f"{won}; returns of the players: {numbers_text(returns)}"


def _bar(game: pyspiel.Game, evaluation: NodeEvaluation | None, viewer: int = 0, *, raw: bool = False) -> str:
    """Returns the expected score of `viewer` in a position as a bar that starts at the left."""
    if evaluation is None:
        return '<div class="bar" role="img" aria-label="no value yet"><span></span></div>'
    share = evaluation.expected_score(viewer)
    proven = " proven" if evaluation.is_proven else ""
    text = named_text(game, evaluation, viewer, raw=raw)
    return (
        f'<div class="bar{proven}" role="img" aria-label="{escape(text)}"><i style="width:{100 * share:.1f}%"></i>'
        f"<span>{escape(text)}</span></div>"
    )


def _progress(progress: WaitProgress | None) -> str:
    """Returns a progress bar for what the game waits for."""
    if progress is None:
        return ""
    return bar_html(progress.what, progress.share, "" if progress.left is None else f"{progress.left:.1f} s left")
