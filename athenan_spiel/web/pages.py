"""Pages by address: a game, the runs of a folder, one or several runs, a report."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from html import escape
from importlib import resources
from pathlib import Path
from urllib.parse import quote

import pyspiel
from fastapi import Request
from fastapi.responses import RedirectResponse
from nicegui import Client, ui
from starlette.convertors import StringConvertor, register_url_convertor

from agents import AgentSpec
from athenan_spiel.errors import AthenanError, printable, shown
from athenan_spiel.games import load_game
from athenan_spiel.training.best import BEST
from athenan_spiel.web.game_page import REFRESH_SECONDS, GamePage
from athenan_spiel.web.opponents import YOU
from athenan_spiel.web.positions import ANALYSIS_PATH, PositionError, read_link
from athenan_spiel.web.reports import ReportReader, list_reports
from athenan_spiel.web.run_page import RUN_REFRESH_SECONDS, RunPage
from athenan_spiel.web.run_table import MAX_COMPARED_RUNS, RunTable
from athenan_spiel.web.runs import NO_ROWS, TABLE_SECONDS, RunEntry, RunReader, is_utf8
from athenan_spiel.web.sessions import GameSession, GameSessions
from athenan_spiel.web.site import Offer, SiteContent
from athenan_spiel.web.style import SHEET

BOARD_SCRIPT = resources.files("athenan_spiel.web").joinpath("board.js").read_text(encoding="utf-8")
"""Script of all pages."""
SECONDS = 1.0
"""Time per move, in seconds, of a run played from the list of runs."""
REPORT_SECONDS = 5.0
"""Time between two checks of a displayed report, in seconds."""
PATIENCE_SECONDS = 60.0
"""Maximum time, in seconds, until a page has read its files."""


class RunName(StringConvertor):
    """Name of a run in an address: any text, with slashes and line feeds."""

    regex = "(?s:.+)"


register_url_convertor("run", RunName())


def add_pages(site: SiteContent, sessions: GameSessions, runs: RunReader) -> None:
    """Adds the pages of a site.

    Args:
        runs: reads the runs of the site.
    """

    async def all_runs() -> list[RunEntry]:
        return [] if site.runs is None else await runs.list_runs(site.runs)

    @ui.page("/", response_timeout=PATIENCE_SECONDS)
    async def home() -> RedirectResponse | None:
        if site.offer is not None:
            return _start_game(site.offer, sessions)
        found = await all_runs()
        if len(found) == 1 and site.runs == found[0].path and found[0].name:
            return RedirectResponse(f"/run/{found[0].address}")
        if site.waits and site.runs is not None:
            _wait_for(site.runs, runs)
            return None
        reports = [] if site.runs is None else await asyncio.to_thread(list_reports, site.runs)
        table = await runs.table(found, whole=False)
        with framed("Runs"):
            _show_table(site, runs, table, reports)
        return None

    @ui.page("/match/{name}", response_timeout=PATIENCE_SECONDS)
    async def match(name: str, client: Client, request: Request) -> RedirectResponse | None:
        session = sessions.find(name)
        if session is None and "game" in request.query_params:  # the server was restarted
            return RedirectResponse(f"{ANALYSIS_PATH}?{request.query_params}")
        if session is None:
            _show_message("No such game", "This game is no longer stored: start a new one.", 404)
            return None
        with framed(title_of(session.match.game)):
            page = GamePage(session)
            await page.drawn()
            ui.timer(REFRESH_SECONDS, page.refresh)  # started last: NiceGUI sends the page at its first timer
        _connect(client, session)
        return None

    @ui.page(ANALYSIS_PATH, response_timeout=PATIENCE_SECONDS)
    async def analyse(request: Request) -> RedirectResponse | None:
        try:
            game, position = read_link(request.query_params)
            offer = await asyncio.to_thread(_analysis_offer, game, site.offer, await all_runs())
            board = await asyncio.to_thread(position.board, offer.start.get_game())
            name = _open(offer, sessions)
        except (AthenanError, RuntimeError) as error:  # Ludii's errors are of the latter kind
            _show_message("This link cannot be opened", str(error).split("\n")[0], 400)
            return None
        session = sessions.find(name)
        assert session is not None
        session.match.load(board)
        return RedirectResponse(f"/match/{name}")

    @ui.page("/run/{name:run}", response_timeout=PATIENCE_SECONDS)
    async def run(name: str) -> None:
        await _show_runs([entry for entry in await all_runs() if entry.name == name], runs)

    @ui.page("/compare", response_timeout=PATIENCE_SECONDS)
    async def compare(request: Request) -> None:
        names = request.query_params.getlist("run")
        if not names:
            _show_message("Compare runs", f"Choose 2 to {MAX_COMPARED_RUNS} runs to compare.")
            return
        await _show_runs(_runs_named(await all_runs(), names), runs)

    @ui.page("/play/{name:run}", response_timeout=PATIENCE_SECONDS)
    async def play(name: str, checkpoint: str = "") -> RedirectResponse | None:
        known = await all_runs()
        found = next((entry for entry in known if entry.name == name and entry.game is not None), None)
        if found is None:
            _show_message("No such run", f"There is no run {name[:80]!r} that can be played here.", 404)
            return None
        if checkpoint and all(checkpoint != entry.name for entry in await runs.checkpoints(found)):
            _show_message("No such checkpoint", f"This run has no checkpoint {checkpoint[:80]!r}.", 404)
            return None
        try:
            offer = await asyncio.to_thread(_offer_of, found, known, checkpoint)
            return _start_game(offer, sessions)
        except (AthenanError, RuntimeError) as error:  # Ludii's errors are of the latter kind
            _show_message("This run cannot be played", str(error).split("\n")[0])
            return None

    @ui.page("/report/{name}", response_timeout=PATIENCE_SECONDS)
    async def report(name: str) -> None:
        reports = [] if site.runs is None else await asyncio.to_thread(list_reports, site.runs)
        found = next((path for path in reports if path.name == name), None)
        if found is None:
            _show_message("No such report", f"There is no report {name[:80]!r} here.", 404)
            return
        reader = ReportReader(found)
        try:
            html = await asyncio.to_thread(reader.read_new)
        except OSError as error:
            _show_message(printable(name), f"The report cannot be read: {error.strerror}")
            return
        with framed(printable(name)):
            shown = ui.html(html or "", sanitize=False).classes("report")
            ui.timer(REPORT_SECONDS, lambda: _renew(shown, reader), immediate=False)


async def _renew(shown: ui.html, reader: ReportReader) -> None:
    """Shows the report again if it has changed, as while a series runs; a deleted one stays as it was."""
    with suppress(OSError):
        html = await asyncio.to_thread(reader.read_new)
        if html is not None:
            shown.content = html


def title_of(game: pyspiel.Game) -> str:
    """Returns the name of a game."""
    return str(game.get_parameters().get("game", game.get_type().long_name))


def _connect(client: Client, session: GameSession) -> None:
    """Connects a page to its session: searches end as soon as the page is closed."""
    is_here = False

    def update() -> None:
        nonlocal is_here
        if client.has_socket_connection is not is_here:
            is_here = not is_here
            (session.come if is_here else session.leave)()

    client.on_connect(update)
    client.on_disconnect(update)
    client.on_delete(update)


def _open(offer: Offer, sessions: GameSessions) -> str:
    """Starts a game. Returns the name of its session."""
    return sessions.open(offer.start, offer.opponents, offer.seats, offer.seconds, rolls=offer.rolls)


def _start_game(offer: Offer, sessions: GameSessions) -> RedirectResponse | None:
    """Starts a game and redirects to it."""
    try:
        name = _open(offer, sessions)
    except AthenanError as error:
        _show_message("No game available", str(error), 503)
        return None
    return RedirectResponse(f"/match/{name}")


def _offer_of(run: RunEntry, runs: Sequence[RunEntry], checkpoint: str = "") -> Offer:
    """Returns a game against a run; other runs of the same game may be chosen on the page.

    Args:
        checkpoint: name of a checkpoint of the run; empty: the newest.
    """
    start = load_game(str(run.game)).new_initial_state()
    others = [other for other in runs if other.game == run.game and other.name != run.name]
    specs = [_spec(run, checkpoint)]
    for spec in map(_spec, others):
        if all(spec.text != known.text for known in specs):  # runs of two folders may have the same spec
            specs.append(spec)
    players = start.num_players()
    seats = [YOU if player == 0 < players - 1 else specs[0].text for player in range(players)]
    return Offer(start, specs, seats, SECONDS)


def _analysis_offer(game: str, offer: Offer | None, runs: Sequence[RunEntry]) -> Offer:
    """Returns the analysis board of a game, on which people play all sides and roll.

    Raises:
        PositionError: neither the game of this server nor that of a run has this game string.
    """
    if offer is None or str(offer.start.get_game()) != game:
        name = game.split("(")[0]
        alike = [run for run in runs if run.game is not None and run.game.split("(")[0] == name]
        found = next((run for run in alike if game in (run.game, str(load_game(str(run.game))))), None)
        if found is None:
            raise PositionError(f"this server has no game {shown(game)}: links open its own game and those of its runs")
        offer = _offer_of(found, runs)
    start = offer.start.get_game().new_initial_state()
    return replace(offer, start=start, seats=[YOU] * start.num_players(), rolls=False)


def _spec(run: RunEntry, checkpoint: str = "") -> AgentSpec:
    """Returns the agent of a run. Its name isn't parsed, as it may look like another spec, such as `a#640`."""
    path = str(run.path) if len(run.path.parts) > 1 else f"./{run.path}"
    text = path
    which: dict[str, object] = {}
    if checkpoint:
        text = f"{text}#{checkpoint.lstrip('0') or '0'}"
        which = {"best": True} if checkpoint == BEST else {"matches": int(checkpoint)}
    return AgentSpec(printable(text), "athenan", {"checkpoint": path, **which})


def _runs_named(runs: Sequence[RunEntry], names: Sequence[str]) -> list[RunEntry]:
    """Returns the runs with these names, plain or URL-encoded."""
    found = {entry.name: entry for entry in runs} | {entry.address: entry for entry in runs if entry.is_addressable}
    chosen = {found[name].path for name in names if name in found}
    return [entry for entry in runs if entry.path in chosen]


def _address(name: str) -> str:
    return quote(name, safe="")


def _show_table(site: SiteContent, runs: RunReader, rows: str, reports: Sequence[Path]) -> None:
    """Shows the table of runs and the reports of a folder, and updates it."""
    folder = printable(str(site.runs))
    hint = ui.label(f"No runs in {folder}: train one, for example with athenan train connect_four")
    table = RunTable(rows)

    def show(rows: str) -> None:
        hint.visible = rows == NO_ROWS
        table.set_rows(rows)

    async def refresh() -> None:
        if site.runs is not None:
            show(await runs.renewed_table(site.runs))

    show(rows)
    ui.timer(TABLE_SECONDS, refresh, immediate=False)
    if reports:
        ui.label("Reports").classes("status")
        for path in reports:
            if is_utf8(path.name):
                ui.link(printable(path.name), f"/report/{_address(path.name)}")


def _wait_for(folder: Path, runs: RunReader) -> None:
    """Shows that a run has not started, and opens its page as soon as it has."""
    with framed("Waiting"), ui.column().style("overflow-wrap: anywhere"):
        ui.label(f"Waiting for a run in {printable(str(folder))}.").props('role="status"')
        ui.label(f"Start it with athenan train GAME --folder {printable(shlex.quote(str(folder)))}")

    async def check() -> None:
        found = await runs.list_runs(folder)
        if len(found) == 1 and found[0].path == folder:
            ui.navigate.to(f"/run/{found[0].address}")

    ui.timer(TABLE_SECONDS, check, immediate=False)


async def _show_runs(runs: Sequence[RunEntry], reader: RunReader) -> None:
    if not runs:
        _show_message("No such run", "There is no run of that name here.", 404)
        return
    shown = runs[:MAX_COMPARED_RUNS]
    with framed(" and ".join(run.title for run in shown)):
        if len(runs) > MAX_COMPARED_RUNS:
            ui.label(f"Only {MAX_COMPARED_RUNS} of these {len(runs)} runs are compared.")
        page = RunPage(shown, reader)
        await page.refresh()
        ui.timer(RUN_REFRESH_SECONDS, page.refresh, immediate=False)


def _show_message(title: str, message: str, status: int = 200) -> None:
    ui.context.client.status_code = status
    with framed(title):
        ui.label(printable(message)).props('role="alert"')


@contextmanager
def framed(title: str) -> Iterator[None]:
    """Adds the heading and common parts of a page."""
    ui.add_css(SHEET)
    ui.add_body_html(f"<script>{BOARD_SCRIPT}</script>")
    ui.page_title(f"{title} - athenan")
    dark = ui.dark_mode(None)
    with ui.row().classes("top"):
        ui.html(escape(title), sanitize=False, tag="h1")
        ui.link("Home", "/")
        ui.button(icon="contrast", on_click=lambda: dark.set_value(not dark.value)).props(
            'flat dense aria-label="Switch between dark and light"'
        )
    yield
