"""The pages by their addresses: a match, the runs of a folder, one run or several, a report."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from importlib import resources
from pathlib import Path
from urllib.parse import quote

import pyspiel
from fastapi import Request
from fastapi.responses import RedirectResponse
from nicegui import Client, ui

from agents import AgentWord
from athenan_spiel.errors import AthenanError, printable
from athenan_spiel.games import load_game
from athenan_spiel.web.live import Live
from athenan_spiel.web.match_page import REFRESH_SECONDS, MatchPage
from athenan_spiel.web.opponents import YOU
from athenan_spiel.web.reports import list_reports, report_html
from athenan_spiel.web.run_page import LOOK_SECONDS, RunPage
from athenan_spiel.web.runs import RunEntry, RunReader, is_utf8
from athenan_spiel.web.site import Offer, Site
from athenan_spiel.web.style import SHEET
from athenan_spiel.web.visits import Visit, Visits

KEYS = resources.files("athenan_spiel.web").joinpath("board.js").read_text(encoding="utf-8")
"""The script of all pages."""
SECONDS = 1.0
"""A move of a run that the list of runs lets one play against."""
COMPARED = 8
"""Runs that one page compares at most."""
PATIENCE_SECONDS = 60.0
"""Time that a page may take until its files are read."""


def add_pages(site: Site, visits: Visits, runs: RunReader) -> None:
    """Make the pages of a site.

    Args:
        runs: Reads the runs of the site.
    """

    async def all_runs() -> list[RunEntry]:
        return [] if site.runs is None else await runs.list_runs(site.runs)

    @ui.page("/", response_timeout=PATIENCE_SECONDS)
    async def home() -> RedirectResponse | None:
        if site.offer is not None:
            return _begun(site.offer, visits)
        found = await all_runs()
        if len(found) == 1 and site.runs == found[0].path and found[0].name:
            return RedirectResponse(f"/run/{_address(found[0].name)}")
        reports = [] if site.runs is None else await asyncio.to_thread(list_reports, site.runs)
        with framed("Runs"):
            _list(site, found, reports)
        return None

    @ui.page("/match/{name}", response_timeout=PATIENCE_SECONDS)
    async def match(name: str, client: Client) -> None:
        visit = visits.find(name)
        if visit is None:
            _tell("No such match", "This match is not kept any more: begin another one.", 404)
            return
        with framed(title_of(visit.match.game)):
            page = MatchPage(visit)
            await page.drawn()
            ui.timer(REFRESH_SECONDS, page.look)  # not before: NiceGUI sends a page once a timer of it waits
        _stay(client, visit)

    @ui.page("/run/{name}", response_timeout=PATIENCE_SECONDS)
    async def run(name: str) -> None:
        await _show_runs([entry for entry in await all_runs() if entry.name == name], runs)

    @ui.page("/compare", response_timeout=PATIENCE_SECONDS)
    async def compare(request: Request) -> None:
        names = request.query_params.getlist("run")
        if not names:
            _tell("Compare runs", f"Choose from 2 to {COMPARED} runs to compare.")
            return
        await _show_runs(_chosen(await all_runs(), names), runs)

    @ui.page("/play/{name}", response_timeout=PATIENCE_SECONDS)
    async def play(name: str) -> RedirectResponse | None:
        known = await all_runs()
        found = next((entry for entry in known if entry.name == name and entry.game is not None), None)
        if found is None:
            _tell("No such run", f"There is no run {name[:80]!r} that can be played here.", 404)
            return None
        try:
            return _begun(await asyncio.to_thread(_offer, found, known), visits)
        except (AthenanError, RuntimeError) as error:  # Ludii's errors are of the latter kind
            _tell("This run cannot be played", str(error).split("\n")[0])
            return None

    @ui.page("/report/{name}", response_timeout=PATIENCE_SECONDS)
    async def report(name: str) -> None:
        reports = [] if site.runs is None else await asyncio.to_thread(list_reports, site.runs)
        found = next((path for path in reports if path.name == name), None)
        if found is None:
            _tell("No such report", f"There is no report {name[:80]!r} here.", 404)
            return
        try:
            html = await asyncio.to_thread(report_html, found)
        except OSError as error:
            _tell(printable(name), f"The report cannot be read: {error.strerror}")
            return
        with framed(printable(name)):
            ui.html(html, sanitize=False).classes("report")


def title_of(game: pyspiel.Game) -> str:
    """What a game is called; one of Ludii's by its own name."""
    return str(game.get_parameters().get("game", game.get_type().long_name))


def _stay(client: Client, visit: Visit) -> None:
    """Let a page's visitor come with its connection, and leave with it: thinking ends as soon as the page is closed."""
    is_here = False

    def look() -> None:
        nonlocal is_here
        if client.has_socket_connection is not is_here:
            is_here = not is_here
            (visit.come if is_here else visit.leave)()

    client.on_connect(look)
    client.on_disconnect(look)
    client.on_delete(look)


def _begun(offer: Offer, visits: Visits) -> RedirectResponse | None:
    """Begin a match, and lead to it."""
    try:
        name = visits.open(offer.start, offer.opponents, offer.seats, offer.seconds)
    except AthenanError as error:
        _tell("No match now", str(error), 503)
        return None
    return RedirectResponse(f"/match/{name}")


def _offer(run: RunEntry, runs: Sequence[RunEntry]) -> Offer:
    """A match against a run; the others of its game may be chosen in the page, too."""
    start = load_game(str(run.game)).new_initial_state()
    others = [other for other in runs if other.game == run.game and other.name != run.name]
    words = [_word(run)]
    for word in map(_word, others):
        if all(word.text != known.text for known in words):  # those of two folders may be printed alike
            words.append(word)
    seats = (words[0].text,) if start.num_players() == 1 else (YOU, words[0].text)
    return Offer(start, words, seats, SECONDS)


def _word(run: RunEntry) -> AgentWord:
    """The agent of a run. Its name isn't parsed, as it may look like another agent's word, such as `a#640`."""
    text = str(run.path) if len(run.path.parts) > 1 else f"./{run.path}"
    return AgentWord(printable(text), "athenan", {"checkpoint": str(run.path)})


def _chosen(runs: Sequence[RunEntry], names: Sequence[str]) -> list[RunEntry]:
    """The runs with these names, each as it is or as `_row` writes it."""
    found = {entry.name: entry for entry in runs} | {
        _address(entry.name): entry for entry in runs if entry.is_addressable
    }
    chosen = {found[name].path for name in names if name in found}
    return [entry for entry in runs if entry.path in chosen]


def _address(name: str) -> str:
    """A file's name as part of a URL."""
    return quote(name, safe="")


def _list(site: Site, runs: Sequence[RunEntry], reports: Sequence[Path]) -> None:
    """The runs of a folder, to look at, to play and to compare, and its reports."""
    if not runs:
        folder = printable(str(site.runs))
        ui.label(f"There are no runs in {folder}: train one, such as by athenan train connect_four")
    Live(runs_html(runs)).classes("runs")
    if reports:
        ui.label("Reports").classes("status")
        for path in reports:
            if is_utf8(path.name):
                ui.link(printable(path.name), f"/report/{_address(path.name)}")


def runs_html(runs: Sequence[RunEntry]) -> str:
    """The list of runs, as a form by which some are chosen to be compared; one element, as a folder may have many."""
    button = '<button class="compare">Compare</button>' if len(runs) > 1 else ""
    return f'<form action="/compare">{"".join(map(_row, runs))}{button}</form>'


def _row(run: RunEntry) -> str:
    title, game = escape(run.title), escape(run.game or f"cannot be read: {run.problem}")
    if not run.is_addressable:
        return f'<div class="run"><span>{title}</span><span class="game">its name is not UTF-8: rename it</span></div>'
    address = escape(_address(run.name))
    # A newline in a form is sent as two characters, so names are sent as they are in a URL.
    choice = f'<input type="checkbox" name="run" value="{address}" aria-label="Compare {title}">'
    play = f'<a href="/play/{address}" aria-label="Play against {title}">play</a>' if run.game is not None else ""
    return f'<div class="run">{choice}<a href="/run/{address}">{title}</a><span class="game">{game}</span>{play}</div>'


async def _show_runs(runs: Sequence[RunEntry], reader: RunReader) -> None:
    if not runs:
        _tell("No such run", "There is no run of that name here.", 404)
        return
    shown = runs[:COMPARED]
    with framed(" and ".join(run.title for run in shown)):
        if len(runs) > COMPARED:
            ui.label(f"Only {COMPARED} of these {len(runs)} runs are compared.")
        if len(shown) == 1 and shown[0].game is not None:
            ui.link("Play against it", f"/play/{_address(shown[0].name)}")
        page = RunPage(shown, reader)
        await page.look()
        ui.timer(LOOK_SECONDS, page.look, immediate=False)


def _tell(title: str, message: str, status: int = 200) -> None:
    ui.context.client.status_code = status
    with framed(title):
        ui.label(printable(message)).props('role="alert"')


@contextmanager
def framed(title: str) -> Iterator[None]:
    """A page with its heading and what all pages have."""
    ui.add_css(SHEET)
    ui.add_body_html(f"<script>{KEYS}</script>")
    ui.page_title(f"{title} - athenan")
    dark = ui.dark_mode(None)
    with ui.row().classes("top"):
        ui.html(escape(title), sanitize=False, tag="h1")
        ui.link("Home", "/")
        ui.button(icon="contrast", on_click=lambda: dark.set_value(not dark.value)).props(
            'flat dense aria-label="Dark or light"'
        )
    yield
