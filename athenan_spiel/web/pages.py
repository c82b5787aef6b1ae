"""The pages by their addresses: a match, the runs of a folder, one run or several, a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from importlib import resources
from pathlib import Path
from urllib.parse import quote, urlencode

import pyspiel
from fastapi import Request
from fastapi.responses import RedirectResponse
from nicegui import Client, ui

from agents import AgentWord, parse_word
from athenan_spiel.errors import AthenanError
from athenan_spiel.games import load_game
from athenan_spiel.web.match_page import MatchPage
from athenan_spiel.web.opponents import YOU
from athenan_spiel.web.reports import list_reports, read_report
from athenan_spiel.web.run_page import RunPage
from athenan_spiel.web.runs import RunEntry, list_runs
from athenan_spiel.web.site import Offer, Site
from athenan_spiel.web.style import SHEET
from athenan_spiel.web.visits import Visit, Visits

KEYS = resources.files("athenan_spiel.web").joinpath("board.js").read_text(encoding="utf-8")
"""The script of all pages."""
SECONDS = 1.0
"""A move of a run that the list of runs lets one play against."""
COMPARED = 8
"""Runs that one page compares at most."""


def add_pages(site: Site, visits: Visits) -> None:
    """Make the pages of a site."""

    @ui.page("/")
    def home() -> RedirectResponse | None:
        if site.offer is not None:
            return _begun(site.offer, visits)
        runs = _runs_of(site)
        if len(runs) == 1 and site.runs == runs[0].path:
            return RedirectResponse(f"/run/{quote(runs[0].name)}")
        with framed("Runs"):
            _list(site, runs)
        return None

    @ui.page("/match/{name}")
    def match(name: str, client: Client) -> None:
        visit = visits.find(name)
        if visit is None:
            _tell("No such match", "This match is not kept any more: begin another one.")
            return
        with framed(title_of(visit.match.game)):
            MatchPage(visit)
        _stay(client, visit)

    @ui.page("/run/{name}")
    def run(name: str) -> None:
        _show_runs(site, [name])

    @ui.page("/compare")
    def compare(request: Request) -> None:
        _show_runs(site, request.query_params.getlist("run")[:COMPARED])

    @ui.page("/play/{name}")
    def play(name: str) -> RedirectResponse | None:
        found = [entry for entry in _runs_of(site) if entry.name == name and entry.game is not None]
        if not found:
            _tell("No such run", f"There is no run {name[:80]!r} that can be played here.")
            return None
        try:
            return _begun(_offer(found[0], _runs_of(site)), visits)
        except (AthenanError, RuntimeError) as error:  # Ludii's errors are of the latter kind
            _tell("This run cannot be played", str(error).split("\n")[0])
            return None

    @ui.page("/report/{name}")
    def report(name: str) -> None:
        found = [path for path in _reports_of(site) if path.name == name]
        if not found:
            _tell("No such report", f"There is no report {name[:80]!r} here.")
            return
        with framed(name):
            try:
                for part in read_report(found[0]):
                    if part.picture:
                        ui.image(part.picture).classes("picture")
                    else:
                        ui.markdown(part.text)
            except OSError as error:
                ui.label(f"The report cannot be read: {error.strerror}").props('role="alert"')


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
        _tell("No match now", str(error))
        return None
    return RedirectResponse(f"/match/{name}")


def _offer(run: RunEntry, runs: Sequence[RunEntry]) -> Offer:
    """A match against a run; the others of its game may be chosen in the page, too."""
    start = load_game(str(run.game)).new_initial_state()
    others = [other for other in runs if other.game == run.game and other.name != run.name]
    words = [_word(entry) for entry in (run, *others)]
    seats = (words[0].text,) if start.num_players() == 1 else (YOU, words[0].text)
    return Offer(start, words, seats, SECONDS)


def _word(run: RunEntry) -> AgentWord:
    return parse_word(str(run.path) if len(run.path.parts) > 1 else f"./{run.path}")


def _runs_of(site: Site) -> list[RunEntry]:
    return [] if site.runs is None else list_runs(site.runs)


def _reports_of(site: Site) -> list[Path]:
    return [] if site.runs is None else list_reports(site.runs)


def _list(site: Site, runs: Sequence[RunEntry]) -> None:
    """The runs of a folder, to look at, to play and to compare, and its reports."""
    chosen: set[str] = set()

    def compare() -> None:
        if not 2 <= len(chosen) <= COMPARED:
            ui.notify(f"choose from 2 to {COMPARED} runs to compare", type="warning")
            return
        ui.navigate.to(f"/compare?{urlencode([('run', name) for name in sorted(chosen)])}")

    def choose(name: str, wanted: bool) -> None:
        (chosen.add if wanted else chosen.discard)(name)

    if not runs:
        ui.label(f"There are no runs in {site.runs}: train one, such as by athenan train connect_four")
    with ui.element("div").classes("runs"):
        for entry in runs:
            with ui.row().classes("run"):
                box = ui.checkbox().props(f'dense aria-label="Compare {escape(entry.name)}"')
                box.on_value_change(lambda event, name=entry.name: choose(name, bool(event.value)))
                ui.link(entry.name, f"/run/{quote(entry.name)}")
                ui.label(entry.game or f"cannot be read: {entry.problem}").classes("game")
                if entry.game is not None:
                    ui.link("play", f"/play/{quote(entry.name)}").props(
                        f'aria-label="Play against {escape(entry.name)}"'
                    )
    if len(runs) > 1:
        ui.button("Compare", on_click=compare).props("outline no-caps")
    if reports := _reports_of(site):
        ui.label("Reports").classes("status")
        for path in reports:
            ui.link(path.name, f"/report/{quote(path.name)}")


def _show_runs(site: Site, names: Sequence[str]) -> None:
    found = [entry for entry in _runs_of(site) if entry.name in names]
    if not found:
        _tell("No such run", "There is no run of that name here.")
        return
    with framed(" and ".join(entry.name for entry in found)):
        if len(found) == 1 and found[0].game is not None:
            ui.link("Play against it", f"/play/{quote(found[0].name)}")
        RunPage(found)


def _tell(title: str, message: str) -> None:
    with framed(title):
        ui.label(message).props('role="alert"')


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
