"""Pages in a browser: whole games, moves taken back, returning visitors, keys, phone width, dark mode."""

from __future__ import annotations

import json
import random
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from installed import CHROMIUM
from serving import PATIENCE, serving

from ludii_bridge import LudiiError, installation

pytestmark = pytest.mark.browser

HERE = Path(__file__).parent
CONNECTION = ("WebSocket", "socket.io", "ERR_CONNECTION", "ERR_NETWORK")
"""Parts of a browser's messages about a lost connection."""
CAN = ".board .site.can"


@pytest.fixture(scope="module")
def runs(tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two runs, one of which has a report."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("one", "other"):
        shutil.copytree(tiny_run, folder / name)
    (folder / "other" / "report.md").write_text("# Results of the other run")
    return folder


@pytest.fixture(scope="module")
def server(runs: Path) -> Iterator[dict[str, str]]:
    """Addresses of the games of `pages_server.py`."""
    command = [sys.executable, str(HERE / "pages_server.py")]
    with serving(lambda port: [*command, str(port)], "{", RUNS=str(runs)) as (port, line, _):
        yield {name: f"http://127.0.0.1:{port}{path}" for name, path in json.loads(line).items()}


@pytest.fixture(scope="module")
def ludii_server() -> Iterator[dict[str, str]]:
    """Addresses of games of Ludii itself."""
    try:
        installation.find_jar()
        installation.find_java()
    except LudiiError as error:
        pytest.skip(f"needs Java and Ludii: {error}")
    command = [sys.executable, str(HERE / "pages_server.py")]
    with serving(lambda port: [*command, str(port), "ludii"], "{") as (port, line, _):
        yield {name: f"http://127.0.0.1:{port}{path}" for name, path in json.loads(line).items()}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visitor:
    """Browser of a visitor, with a list of its errors."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(1000 * PATIENCE)
        self.faults: list[str] = []
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", self._heard)
        self.page.goto(address)
        self.wait_for_turn()

    def _heard(self, said: Any) -> None:
        """Stores errors, except for lost connections, which a busy machine may cause and the page restores."""
        if said.type == "error" and not any(word in said.text for word in CONNECTION):
            self.faults.append(said.text)

    @property
    def status(self) -> str:
        return str(self.page.locator(".status").first.inner_text())

    @property
    def board(self) -> str:
        return str(self.page.locator(".board").first.inner_html())

    def wait_for_turn(self) -> None:
        self.page.wait_for_function(
            "() => /your turn|Finished|wins/.test((document.querySelector('.status') || {}).innerText || '')"
        )

    def wait_for_change(self, before: str) -> None:
        """Waits until the board has changed and a person is to move."""
        self.page.wait_for_function("text => document.querySelector('.board').innerHTML !== text", arg=before)
        self.wait_for_turn()

    def press(self, selector: str, number: int = 0) -> None:
        before = self.board
        self.page.locator(selector).nth(number).click()
        self.wait_for_change(before)

    def press_site(self, name: str) -> None:
        self.press(f'.board .site[aria-label^="{name}:"]')

    def choose(self, number: int) -> None:
        """Presses a button of a move. The status has its number; the board may be the same after a whole round."""
        before = self.status
        self.page.locator(".named button").nth(number).click()
        self.page.wait_for_function("text => document.querySelector('.status').innerText !== text", arg=before)
        self.wait_for_turn()

    def move(self, rng: random.Random) -> None:
        """Presses a random site or button."""
        if count := self.page.locator(".named button").count():
            self.choose(rng.randrange(count))
        elif count := self.page.locator(CAN).count():
            self.press(CAN, rng.randrange(count))
        else:
            raise AssertionError(f"nothing can be pressed: {self.status}")

    def leave(self) -> None:
        self.context.close()
        assert self.faults == []


@pytest.fixture
def visit(server: dict[str, str], browser: Any) -> Iterator[Any]:
    visitors = []

    def visits(name: str, **options: Any) -> Visitor:
        visitors.append(Visitor(browser, server[name], **options))
        return visitors[-1]

    yield visits
    for visitor in visitors:
        visitor.leave()


def start_again(visitor: Visitor) -> None:
    """Starts a new game, which asks for confirmation if there are moves."""
    has_moves = visitor.page.locator(".moves button").count() > 0
    visitor.page.get_by_label("New game").click()
    if has_moves:
        dialog = visitor.page.get_by_role("dialog")
        dialog.get_by_role("button", name="New game").click()
        dialog.wait_for(state="hidden")
    visitor.page.wait_for_function("() => /^Move 1:.*your turn/.test(document.querySelector('.status').innerText)")


def play_to_the_end(visitor: Visitor) -> None:
    """Plays random moves until the game is over."""
    rng = random.Random(3)
    for _ in range(200):
        if "your turn" not in visitor.status:
            break
        visitor.move(rng)
    assert visitor.status.startswith("Finished")


@pytest.mark.parametrize("name", ["connect_four", "hex", "othello", "amazons", "ludii"])
def test_a_game_is_played_to_its_end_by_hand(name: str, visit: Any) -> None:
    """Othello and Amazons start late, as their games are long."""
    visitor = visit(name)
    play_to_the_end(visitor)
    visitor.page.get_by_text("Finished games").click()
    visitor.page.get_by_role("button", name="1. you - ").click()
    visitor.page.wait_for_function("() => !document.querySelector('.status').innerText.startsWith('Finished')")


@pytest.mark.slow("starts Java, which takes ten seconds or more")
@pytest.mark.parametrize("name", ["surakarta", "mancala", "hexagons"])
def test_a_game_of_ludii_is_played_to_its_end(name: str, ludii_server: dict[str, str], browser: Any) -> None:
    visitor = Visitor(browser, ludii_server[name])
    play_to_the_end(visitor)
    visitor.leave()


def test_a_game_of_chess_ends_in_mate(visit: Any) -> None:
    visitor = visit("chess")
    for site in ("f2", "f3", "e7", "e5", "g2", "g4", "d8", "h4"):
        visitor.press_site(site)
    assert visitor.status == "Finished: Black wins"


def test_a_game_without_a_view_is_text_and_typed(visit: Any) -> None:
    visitor = visit("text")
    assert visitor.page.locator(".board pre").count() == 1
    name = visitor.page.locator(".named button").first.inner_text()
    for text in ("no such move", name):
        visitor.page.get_by_label("Type a move").fill(text)
        visitor.page.get_by_label("Type a move").press("Enter")
        if text != name:
            visitor.page.get_by_text("is not a legal move").first.wait_for()
    visitor.page.wait_for_function("() => document.querySelector('.status').innerText.startsWith('Move 2')")


def test_a_person_has_the_second_of_three_seats(visit: Any) -> None:
    visitor = visit("seats")
    assert visitor.status.startswith("Move 2: your turn, Blue")
    seats = visitor.page.locator(".settings .q-select").all_inner_texts()
    assert [seat.split("\n")[0] for seat in seats] == ["Red", "Blue", "Green"]
    assert visitor.page.locator('.site[aria-label$="green peg"]').count() == 10
    visitor.move(random.Random(1))
    visitor.page.get_by_label("Give each seat to the next player").click()
    visitor.page.wait_for_function("() => document.querySelector('.status').innerText.includes('Green')")


def test_a_game_of_three_ends_with_the_returns_of_all(visit: Any) -> None:
    visitor, rng = visit("pig_of_three"), random.Random(1)
    while not visitor.status.startswith("Finished"):
        visitor.move(rng)
    assert re.match(r"Finished: player [012] wins; returns of the players: (-0\.5|1), ", visitor.status)
    visitor.page.get_by_text("Finished games").click()
    visitor.page.get_by_text("1. you - random - random").wait_for()
    assert re.search(r"random\s+returns (-0\.5|1), ", visitor.page.locator(".saved").inner_text())


def test_resigning_and_a_new_game_need_a_confirmation(visit: Any) -> None:
    visitor = visit("another")
    page, dialog = visitor.page, visitor.page.get_by_role("dialog")
    start_again(visitor)
    visitor.press(CAN, 3)
    for name in ("Resign", "New game"):
        page.get_by_label(name, exact=True).click()
        dialog.get_by_role("button", name="Cancel").click()
        dialog.wait_for(state="hidden")
        assert visitor.status.startswith("Move 3")
    page.get_by_label("Resign", exact=True).click()
    dialog.get_by_role("button", name="Resign").click()
    page.wait_for_function("() => /^you resigned: Yellow wins/.test(document.querySelector('.status').innerText)")
    start_again(visitor)
    page.wait_for_function("() => document.querySelector('.status').innerText.startsWith('Move 1')")


def test_pieces_are_dragged(visit: Any) -> None:
    """A fast drag is played, although the destinations are marked only when the server has answered."""
    visitor = visit("chess", has_touch=True)
    page = visitor.page
    start_again(visitor)

    def drag(start: str, end: str) -> None:
        boxes = [page.locator(f'.board .site[aria-label^="{name}:"]').bounding_box() for name in (start, end)]
        (x0, y0), (x1, y1) = ((box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes)
        page.mouse.move(x0, y0)
        page.mouse.down()
        page.mouse.move((x0 + x1) / 2, (y0 + y1) / 2)
        assert page.locator("body > svg.athenan-board").count() == 1
        page.mouse.move(x1, y1)
        page.mouse.up()
        assert page.locator("body > svg.athenan-board").count() == 0

    before = visitor.board
    drag("e2", "e4")
    page.wait_for_function("() => document.querySelector('.status').innerText.startsWith('Move 2')")
    drag("e7", "e4")  # illegal: nothing is played
    page.wait_for_timeout(500)
    assert visitor.status.startswith("Move 2")
    page.evaluate(  # without a pause: the server has not answered
        """() => {
            const at = (name) => document.querySelector(`.board .site[aria-label^="${name}:"]`);
            const send = (type, target, name) => {
                const box = at(name).querySelector('.hit').getBoundingClientRect();
                const place = {clientX: box.x + box.width / 2, clientY: box.y + box.height / 2};
                target.dispatchEvent(new PointerEvent(type, {bubbles: true, button: 0, ...place}));
            };
            send('pointerdown', at('g8').querySelector('.hit'), 'g8');
            send('pointermove', document.body, 'g7');
            send('pointerup', document.body, 'f6');
        }"""
    )
    page.wait_for_function("() => document.querySelector('.status').innerText.startsWith('Move 3')")
    assert page.locator('.board .site[aria-label="f6: black knight"] .piece[style]').count() == 0
    assert visitor.board != before


def test_the_board_is_flipped(visit: Any) -> None:
    page = visit("chess").page
    corner = page.locator('.board .site[aria-label^="a1:"]')
    before = corner.bounding_box()
    page.get_by_label("Flip board").click()
    page.wait_for_function(
        "left => document.querySelector('.board .site[aria-label^=\"a1:\"]').getBoundingClientRect().left > left + 50",
        arg=before["x"],
    )
    after = corner.bounding_box()
    assert after["y"] < before["y"] - 50
    page.keyboard.press("f")
    page.wait_for_function(
        "left => document.querySelector('.board .site[aria-label^=\"a1:\"]').getBoundingClientRect().left < left + 5",
        arg=before["x"],
    )


def test_legal_moves_are_dots(visit: Any) -> None:
    visitor = visit("hex")
    dots, legal = visitor.page.locator(".board .target"), visitor.page.locator(CAN).count()
    assert dots.count() == legal > 0
    before = visitor.board
    visitor.page.get_by_text("Legal moves", exact=True).click()
    visitor.page.wait_for_function("text => document.querySelector('.board').innerHTML !== text", arg=before)
    assert (dots.count(), visitor.page.locator(CAN).count()) == (0, legal)


def test_a_person_rolls_and_returns_to_the_position_before_the_roll(visit: Any) -> None:
    visitor = visit("pig")
    page = visitor.page

    def wait_for_status(pattern: str) -> None:
        page.wait_for_function(
            "text => new RegExp(text).test(document.querySelector('.status').innerText)", arg=pattern
        )

    page.locator(".named button", has_text="roll").click()
    wait_for_status("your turn.*chance: Roll [1-6]$")
    page.evaluate("() => { window.kept = document.querySelector('.named button'); }")
    page.get_by_text("Automatic rolls").click()
    page.wait_for_timeout(500)
    assert page.evaluate("() => window.kept.isConnected"), "a click on an unchanged button is not lost"
    page.locator(".named button", has_text="roll").click()
    wait_for_status("^Move 4: a roll is next$")
    page.get_by_role("button", name="Roll", exact=True).click()
    wait_for_status("your turn.*chance: Roll [1-6]$")
    assert page.locator(".moves button").count() == 4
    assert page.locator(".moves .roll").count() == 2
    page.locator(".moves button", has_text="3. roll").click()
    wait_for_status("^Move 4: later moves exist")
    page.get_by_role("button", name="Continue from here").click()
    wait_for_status("^Move 4: a roll is next$")
    page.get_by_label("Type a move").fill("roll 5")
    page.get_by_label("Type a move").press("Enter")
    wait_for_status("your turn.*chance: Roll 5$")


def test_a_progress_bar_shows_the_time_left(visit: Any) -> None:
    visitor = visit("slow")
    bar = visitor.page.locator(".wait[role=progressbar]")
    visitor.page.get_by_label("Type a move").fill("a7a6")
    visitor.page.get_by_label("Type a move").press("Enter")
    visitor.page.wait_for_function("() => / s left/.test((document.querySelector('.wait') || {}).innerText || '')")
    assert bar.get_attribute("aria-label") == "alphabeta thinks"
    assert 0 <= int(bar.get_attribute("aria-valuenow")) <= 100


def test_two_agents_play_and_positions_are_chosen_in_the_chart_of_values(visit: Any) -> None:
    page = visit("agents").page
    finished = "document.querySelector('.status').innerText.startsWith('Finished')"
    page.wait_for_function(f"() => {finished}")
    chart = page.locator(".values")
    chart.focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(f"() => !{finished}")
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"() => {finished}")
    box = chart.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_function(f"() => !{finished}")
    page.get_by_label("Last position").click()
    page.wait_for_function(f"() => {finished}")


def test_finished_games_are_exported_and_imported(visit: Any, tmp_path: Path) -> None:
    page = visit("agents").page
    page.wait_for_function("() => document.querySelector('.status').innerText.startsWith('Finished')")
    page.get_by_text("Finished games").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    file = tmp_path / "matches.jsonl"
    download.value.save_as(file)
    assert json.loads(file.read_text().splitlines()[0])["game"] == "tic_tac_toe()"
    chooser = page.locator(".import input[type=file]")
    chooser.set_input_files(file)
    page.get_by_text("1 game imported").wait_for()
    file.write_text("{")
    chooser.set_input_files(file)
    page.get_by_text("line 1").wait_for()


def test_moves_are_taken_back_and_a_reload_keeps_the_game(visit: Any) -> None:
    visitor = visit("another")
    empty = visitor.board
    visitor.press(CAN, 3)
    visitor.page.wait_for_function("() => document.querySelector('.status').innerText.startsWith('Move 3')")
    visitor.page.reload()
    visitor.wait_for_turn()
    assert visitor.status.startswith("Move 3")
    visitor.page.locator(".actions tbody tr").first.wait_for()
    visitor.page.get_by_label("Take back").click()
    visitor.page.wait_for_function("() => document.querySelector('.status').innerText.startsWith('Move 1')")
    visitor.page.get_by_label("Continue from here").click()
    visitor.page.get_by_text("Values", exact=True).click()
    visitor.page.get_by_text("Expected line", exact=True).click()
    visitor.page.wait_for_function("text => document.querySelector('.board').innerHTML.length <= text", arg=len(empty))


def test_growing_parts_can_be_pressed_and_stay_unfolded(visit: Any) -> None:
    """Board, table and tree are redrawn a few times a second here; unchanged elements stay the same."""
    visitor = visit("analysed")
    page = visitor.page
    page.get_by_text("Search tree", exact=True).click()
    page.get_by_text("Analyse", exact=True).click()
    page.locator(".tree details details").first.wait_for()
    path = page.evaluate(
        """() => {
            window.kept = [document.querySelector('.board .site.can'), document.querySelector('.actions button')];
            const branch = document.querySelector('.tree details details');
            branch.querySelector('summary').click();
            return branch.dataset.path;
        }"""
    )
    visits = ".tree details > summary .visits"
    before = page.locator(visits).first.inner_text()
    page.wait_for_function(
        """([visits, before]) => document.querySelector(visits).innerText !== before
            || !document.querySelector('.wait')""",
        arg=[visits, before],
    )
    is_open = "path => [...document.querySelectorAll('.tree details')].find((x) => x.dataset.path === path)?.open"
    assert page.evaluate(is_open, path) in (True, None)
    assert page.evaluate("() => window.kept.every((x) => x.isConnected)")
    page.locator(".actions button").first.click()
    page.wait_for_function("() => /visits?[,;]/.test(document.querySelector('.reason').innerText)")
    page.get_by_label("Order by").click()
    page.get_by_role("option", name="visits").click()
    counts = """() => [...document.querySelectorAll('.tree .athenan-tree > ul > li > details > ul > li')]
        .map((row) => row.querySelector('.visits')).filter((x) => x)
        .map((x) => Number(x.innerText.replace(/\\D/g, '')))"""
    in_order = "x.length > 2 && x.every((n, i) => !i || n <= x[i - 1])"
    page.wait_for_function(f"() => {{ const x = ({counts})(); return {in_order}; }}")
    visitor.press(CAN, 0)


def test_visitors_of_one_address_share_a_game(visit: Any) -> None:
    one, other, third = visit("another"), visit("another"), visit("hex")
    before, elsewhere = other.board, third.board
    one.press(CAN, 0)
    other.wait_for_change(before)
    assert third.board == elsewhere


def test_a_game_is_played_by_keys_and_the_focus_stays(visit: Any) -> None:
    visitor = visit("another")
    page = visitor.page
    start_again(visitor)
    page.wait_for_function("() => document.querySelector('.status').innerText.startsWith('Move 1')")
    page.keyboard.press("Tab")  # tabbing from the buttons to the board would go all the way around
    page.locator(CAN).first.focus()
    here = "() => document.activeElement.dataset.site"
    first = page.evaluate(here)
    page.keyboard.press("ArrowRight")
    second = page.evaluate(here)
    assert second not in (None, first)
    before = visitor.board
    page.keyboard.press("Enter")
    visitor.wait_for_change(before)
    page.wait_for_function("() => document.activeElement.dataset.site !== undefined")


def test_variations_are_played_shown_promoted_and_deleted(visit: Any) -> None:
    """Each other move at an earlier position is a variation; keys and clicks move through the tree."""
    visitor = visit("moves")
    page = visitor.page

    def wait_for_moves(text: str, ply: int) -> None:
        """Waits for the moves, variations in brackets, and the current position."""
        page.wait_for_function(
            """([text, ply]) => {
                const lines = [...document.querySelectorAll('.moves .line')];
                const shown = lines.map((line) => {
                    const moves = [...line.querySelectorAll('button')].map((move) => move.innerText).join(' ');
                    return line.matches('.variation') ? `[${moves}]` : moves;
                }).join(' ');
                return shown === text && document.querySelector('.status').innerText.startsWith(`Move ${ply + 1}:`);
            }""",
            arg=[text, ply],
        )

    for name in ("0,0", "0,1", "0,2"):
        visitor.press_site(name)
    wait_for_moves("1. x(0,0) 2. o(0,1) 3. x(0,2)", 3)
    page.keyboard.press("ArrowLeft")  # the board was clicked, so keys don't move its focus
    page.keyboard.press("ArrowLeft")
    wait_for_moves("1. x(0,0) 2. o(0,1) 3. x(0,2)", 1)
    visitor.press_site("1,2")
    visitor.press_site("2,0")
    wait_for_moves("1. x(0,0) 2. o(0,1) [2. o(1,2) 3. x(2,0)] 3. x(0,2)", 3)
    page.keyboard.press("ArrowLeft")
    wait_for_moves("1. x(0,0) 2. o(0,1) [2. o(1,2) 3. x(2,0)] 3. x(0,2)", 2)
    visitor.press_site("2,1")
    branched = "1. x(0,0) 2. o(0,1) [2. o(1,2) 3. x(2,0)] [3. x(2,1)] 3. x(0,2)"
    wait_for_moves(branched, 3)
    page.keyboard.press("Home")
    wait_for_moves(branched, 0)
    page.keyboard.press("End")
    wait_for_moves(branched, 3)
    page.locator(".moves button", has_text="2. o(1,2)").click()
    wait_for_moves(branched, 2)
    assert page.locator(".moves .now").inner_text() == "2. o(1,2)"
    page.keyboard.press("ArrowUp")
    page.wait_for_function("() => document.querySelector('.moves .now').innerText === '2. o(0,1)'")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.querySelector('.moves .now').innerText === '3. x(2,0)'")
    page.get_by_label("Promote variation").click()
    promoted = "1. x(0,0) 2. o(1,2) [2. o(0,1) 3. x(0,2)] 3. x(2,0) [3. x(2,1)]"
    wait_for_moves(promoted, 3)
    page.reload()
    wait_for_moves(promoted, 3)
    page.locator(".moves button", has_text="2. o(0,1)").click()
    page.get_by_label("Delete from here").click()
    wait_for_moves("1. x(0,0) 2. o(1,2) 3. x(2,0) [3. x(2,1)]", 1)
    page.get_by_label("Type a move").fill("x")
    page.get_by_label("Type a move").press("Home")  # moves the cursor of the field
    wait_for_moves("1. x(0,0) 2. o(1,2) 3. x(2,0) [3. x(2,1)]", 1)


def test_a_link_opens_the_position_without_the_session(server: dict[str, str], visit: Any) -> None:
    """Also the address of the page itself, after a restart of the server has removed its game."""
    visitor = visit("linked")
    page = visitor.page
    for name in ("1,1", "0,0", "2,2"):
        visitor.press_site(name)
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("() => document.querySelector('.status').innerText.startsWith('Move 3:')")
    page.wait_for_function("() => location.search.endsWith('?game=tic_tac_toe()&moves=4,0,8&ply=2')")
    here = page.url
    page.get_by_label("Copy or load").click()
    link = page.get_by_role("textbox", name="Link to this position").input_value()
    assert link == server["linked"].split("/match/")[0] + "/analyse?game=tic_tac_toe()&moves=4,0,8&ply=2"
    assert page.get_by_role("textbox", name="Position (OpenSpiel history)").input_value() == "4, 0"
    assert page.get_by_role("textbox", name="Game (OpenSpiel history)").input_value() == "4, 0, 8"
    page.get_by_label("Copy link to this position").click()
    page.get_by_text("Copied").wait_for()
    for address in (link, re.sub("/match/[^?]*", "/match/gone", here)):
        page.goto(address)
        visitor.wait_for_turn()
        assert "/match/" in page.url
        assert not page.url.startswith(here.split("?")[0])
        assert visitor.status.startswith("Move 3: your turn")
        assert page.locator(".moves button").all_inner_texts() == ["1. x(1,1)", "2. o(0,0)", "3. x(2,2)"]


def test_comments_are_saved_with_the_game(visit: Any, tmp_path: Path) -> None:
    visitor = visit("commented")
    page = visitor.page
    for name in ("0,0", "1,0", "0,1", "1,1", "0,2"):
        visitor.press_site(name)
    comment = page.get_by_role("textbox", name="Comment")
    comment.fill("<b>three</b> in a row ")
    comment.press("Home")
    page.wait_for_function("() => document.querySelector('.moves .note')?.innerText === '<b>three</b> in a row'")
    comment.press_sequentially("So: ", delay=300)  # slower than the page sends them
    page.locator(".moves button", has_text="3.").click()
    page.wait_for_function("() => document.querySelector('.moves .now').innerText.startsWith('3.')")
    assert comment.input_value() == ""
    assert page.locator(".moves .note").inner_text() == "So: <b>three</b> in a row"
    page.get_by_text("Finished games").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    file = tmp_path / "matches.jsonl"
    download.value.save_as(file)
    assert json.loads(file.read_text())["comments"] == [[5, "So: <b>three</b> in a row "]]


def test_a_threat_and_a_hint_are_marked_on_the_board(visit: Any) -> None:
    visitor = visit("asked")
    page = visitor.page
    for name in ("0,0", "2,2", "0,1"):
        visitor.press_site(name)
    page.get_by_text("Move 4: your turn, o").wait_for()
    page.get_by_role("button", name="Threat").click()
    page.get_by_text("x threatens x(0,2), the best reply to").wait_for()
    assert page.locator('.site[data-site="2"] .threat').count() == 1
    page.keyboard.press("h")
    page.get_by_text("Hint: o(0,2)").wait_for()
    page.locator('.site[data-site="2"] .hint').wait_for()
    assert page.locator(".threat").count() == 0
    visitor.press_site("0,2")
    page.wait_for_function("() => document.querySelector('.advice').innerText === ''")
    assert page.locator(".hint").count() == 0
    for name in ("1,0", "2,0", "2,1"):
        visitor.press_site(name)
    page.get_by_role("img", name="no value yet").wait_for()


def test_a_review_marks_mistakes_and_fills_the_chart(visit: Any) -> None:
    visitor = visit("reviewed")
    page = visitor.page
    for name in ("0,0", "1,1", "0,1", "2,2", "0,2"):  # the fourth move allows a line of three
        visitor.press_site(name)
    assert page.locator(".values").count() == 0 or not page.locator(".values").is_visible()
    page.get_by_label("Seconds per position").fill("0.5")
    page.get_by_role("button", name="Review game").click()
    page.get_by_role("button", name="Stop review").wait_for()
    page.keyboard.press("Home")  # the visitor may look at other positions meanwhile
    page.get_by_role("button", name="Review game").wait_for()
    page.wait_for_function("() => document.querySelector('.moves button.blunder')?.innerText === '4. o(2,2)??'")
    assert "best was o(0,2)" in str(page.locator(".moves button.blunder").get_attribute("title"))
    page.locator(".values").wait_for()
    sides = page.locator(".review tbody tr").all_inner_texts()
    assert [side.split()[0] for side in sides] == ["x", "o"]
    assert sides[0].split()[-1] == "0"
    assert sides[1].split()[-1] == "1"
    mistake = page.locator(".review li", has_text="4. o(2,2)??")
    assert "to loss in 1; best was o(0,2)" in mistake.inner_text()
    mistake.locator("button").click()
    page.wait_for_function("() => document.querySelector('.moves .now')?.innerText.startsWith('4.')")
    page.get_by_role("img", name="win in 1 for x", exact=True).wait_for()
    page.keyboard.press("End")
    page.get_by_role("img", name="win for x", exact=True).wait_for()


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "a link needs a game"),
        ("?game=no_such_game(x=1)", "this server has no game"),
        ("?game=tic_tac_toe()&moves=4,4", "move 2, 4, is not legal"),
        ("?game=tic_tac_toe()&moves=<b>", "moves must be numbers"),
        ("?game=tic_tac_toe()&fen=x", "FEN supports chess"),
    ],
)
def test_an_invalid_link_is_explained(query: str, message: str, server: dict[str, str], browser: Any) -> None:
    page = browser.new_page()
    answer = page.goto(server["linked"].split("/match/")[0] + "/analyse" + query)
    assert answer.status == 400
    assert message in page.get_by_role("alert").inner_text()
    assert page.get_by_role("alert").inner_text().count("\n") == 0
    page.close()


def test_a_game_is_loaded_from_text(visit: Any) -> None:
    visitor = visit("chess_board")
    page = visitor.page

    def load(text: str) -> None:
        page.get_by_label("Copy or load").click()
        page.get_by_role("textbox", name="Load a game or position").fill(text)
        page.get_by_role("button", name="Load", exact=True).click()

    load('[Event "x"]\n\n1. e4 {best} e5 (1... c5) 2. Nf3 *')
    page.wait_for_function("() => document.querySelectorAll('.moves button').length === 4")
    assert page.locator(".moves .now").inner_text() == "3. Nf3"
    assert page.locator(".moves .variation").inner_text() == "2. c5"
    assert page.locator(".moves .note").inner_text() == "best"
    load("1. e4 e4")
    page.get_by_text("expected a legal move as half-move 2 of the PGN, got 'e4'").wait_for()
    page.get_by_role("button", name="Close").click()
    assert page.locator(".moves button").count() == 4
    load("4k3/P7/8/8/8/8/8/4K3 b - - 3 40")
    page.wait_for_function("() => document.querySelectorAll('.moves button').length === 0")
    visitor.press_site("e8")
    visitor.press_site("f7")
    page.get_by_label("Copy or load").click()
    assert page.get_by_role("textbox", name="Position (FEN)").input_value() == "8/P4k2/8/8/8/8/8/4K3 w - - 4 41"
    assert '[FEN "4k3/P7/8/8/8/8/8/4K3 b - - 3 40"]' in page.get_by_role("textbox", name="Game (PGN)").input_value()


SIZES = [(1280, 800), (844, 390), (390, 844)]
"""Width and height of a laptop's window, and of a phone in landscape and portrait."""


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("name", ["connect_four", "chess", "seats"])
def test_nothing_is_cut_off(name: str, width: int, height: int, visit: Any) -> None:
    visitor = visit(name, viewport={"width": width, "height": height})
    page = visitor.page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    board = page.locator(".board svg").bounding_box()
    assert board["width"] >= min(width, height) / 2
    if width > height:
        assert board["y"] + board["height"] <= height, "status and whole board are visible without scrolling"
    if height == 800:
        typed = page.get_by_label("Type a move").bounding_box()
        assert typed["y"] + typed["height"] <= height


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["match", "", "run/one", "compare?run=one&run=other", "run/nothing"])
def test_pages_follow_the_guidelines_for_accessibility(
    path: str, scheme: str, server: dict[str, str], browser: Any
) -> None:
    """WCAG 2 A and AA as axe-core checks them, among them a contrast of 4.5; but for the names of Quasar's uploader."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()
    address = server["analysed"] if path == "match" else server["analysed"].split("/match/")[0] + f"/{path}"
    page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=scheme)
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(address)
    page.locator("h1").wait_for()
    if path == "match":
        page.get_by_text("Analyse", exact=True).click()
        for name in ("Search tree", "Finished games"):
            page.get_by_text(name, exact=True).click()
        page.locator(".tree details").first.wait_for()
        page.locator(".board .value").first.wait_for()
        page.mouse.move(5, 5)
    page.wait_for_timeout(1000)  # colours of Quasar change slowly

    def violations(rules: list[str], context: dict[str, Any] | None = None) -> list[str]:
        options = {"resultTypes": ["violations"], "runOnly": rules}
        found = axe.run(page, context, options).response["violations"]
        return [f"{each['id']}: {node['html'][:200]}" for each in found for node in each["nodes"]]

    assert violations(["color-contrast"]) == []
    assert violations(["wcag2a", "wcag2aa"], {"exclude": [[".q-uploader"]]}) == []
    page.close()


def test_the_keyboard_focus_is_visible(visit: Any) -> None:
    """Also on Quasar's buttons and switches, which hide it, and on a site of the board."""
    page = visit("hex").page
    seen: dict[str, int] = {}
    for _ in range(60):
        page.keyboard.press("Tab")
        kind, width = page.evaluate(
            """() => {
                const focused = document.activeElement;
                if (focused.matches('.site')) {
                    return ['site', parseFloat(getComputedStyle(focused.querySelector('.hit')).strokeWidth) * 20];
                }
                const style = getComputedStyle(focused);
                const kind = ['q-btn', 'q-toggle'].find((name) => focused.classList.contains(name)) || focused.tagName;
                return [kind, style.outlineStyle === 'none' ? 0 : parseFloat(style.outlineWidth)];
            }"""
        )
        seen[kind] = min(seen.get(kind, 99), width)
    assert {kind: seen[kind] >= 2 for kind in ("site", "q-btn", "q-toggle", "A")} == dict.fromkeys(
        ("site", "q-btn", "q-toggle", "A"), True
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_horizontal_scrolling(scheme: str, visit: Any) -> None:
    visitor = visit("connect_four", viewport={"width": 390, "height": 844}, color_scheme=scheme)
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert visitor.page.locator(".board svg").bounding_box()["width"] > 300
    paper = visitor.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, paper[4:-1].split(","))) < 200) is (scheme == "dark")


def test_controls_have_names_for_screen_readers(visit: Any) -> None:
    visitor = visit("connect_four")
    unnamed = """() => [...document.querySelectorAll('button, .site.can, input')].filter(
        (x) => !(x.ariaLabel || x.innerText || x.labels?.length || x.getAttribute('aria-label')
            || x.closest('[aria-label]'))).map((x) => x.outerHTML.slice(0, 200))"""
    assert visitor.page.evaluate(unnamed) == []
    assert visitor.page.locator('[role="status"]').count() >= 1


def opened(browser: Any, address: str, **options: Any) -> Any:
    """Returns a page and asserts that it has no errors."""
    page = browser.new_page(**options)
    page.set_default_timeout(1000 * PATIENCE)
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    page.goto(address)
    return page


@pytest.fixture
def site(server: dict[str, str]) -> str:
    """Address of the table of runs."""
    return server["hex"].split("/match/")[0]


def test_runs_are_sorted_filtered_chosen_and_compared(site: str, browser: Any) -> None:
    page = opened(browser, site)
    titles = "[...document.querySelectorAll('.run-table tbody tr')].map((row) => row.querySelector('td a').innerText)"
    page.wait_for_function(f"() => {titles}.length === 2")
    page.locator(".spark polyline").first.wait_for()
    cells = page.locator(".run-table tbody tr").first.inner_text()
    for text in ("tic_tac_toe()", "finished"):
        assert text in cells
    for order in (["one", "other"], ["other", "one"]):
        page.get_by_role("columnheader", name="Run").click()
        page.wait_for_function(f"order => String({titles}) === String(order)", arg=order)
    assert page.get_by_text("Choose runs to compare").count() == page.locator("button.compare[disabled]").count() == 1
    page.get_by_label("Compare one").click()
    page.get_by_label("Filter by run").fill("TIC other")
    page.wait_for_function(f"() => String({titles}) === 'other'")
    page.get_by_label("Filter by run").fill("nothing of this name")
    page.get_by_text("No run matches").wait_for()
    page.get_by_label("Filter by run").fill("")
    page.get_by_label("Compare other").click()
    page.get_by_text("Compare 2 runs").click()
    page.locator(".curves svg text", has_text="Loss").first.wait_for()
    assert page.url.startswith(f"{site}/compare?run=one&run=other") or "run=other&run=one" in page.url
    page.get_by_text("Differences between the settings").click()
    page.get_by_text("All settings are equal.").wait_for()
    page.locator(".settings-of-runs .q-toggle").click()
    page.get_by_role("row", name="learner.learning_rate").wait_for()
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_runs_fit_a_phone(scheme: str, site: str, browser: Any) -> None:
    for path in ("", "/run/one", "/compare?run=one&run=other"):
        page = opened(browser, site + path, viewport={"width": 390, "height": 844}, color_scheme=scheme)
        page.locator(".run-table tbody tr, .curves svg").first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.close()


def test_curves_have_axes_smoothing_tooltips_and_zoom(site: str, browser: Any) -> None:
    page = opened(browser, f"{site}/run/one", viewport={"width": 1280, "height": 800})
    chart = page.locator(".curves .nicegui-echart").first
    for axis in ("games", "samples"):
        page.get_by_role("button", name=axis).click()
        chart.locator("text", has_text=f"{axis} learned").wait_for()
    page.locator(".curve-options .q-slider").click()
    chart.locator("text", has_text="smoothed").wait_for()
    box = chart.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    chart.locator("div", has_text="loss").first.wait_for()
    ends = "() => document.querySelector('.curves .nicegui-echart svg').innerHTML"
    before = page.evaluate(ends)
    page.mouse.move(x + 1, y)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    page.wait_for_function(f"before => ({ends})() !== before", arg=before)
    page.close()


def test_checkpoints_and_games_of_self_play_lead_to_games(site: str, browser: Any) -> None:
    page = opened(browser, f"{site}/run/other")
    page.get_by_text("Checkpoints").click()
    page.locator(".checkpoint-list").get_by_role("link", name="Play against 12 games").click()
    page.wait_for_url("**/match/**")
    page.locator(".settings", has_text="other#12").first.wait_for()
    page.goto(f"{site}/run/other")
    page.get_by_label("Game", exact=True).click()
    page.get_by_role("option", name="3", exact=True).click()
    before = page.locator(".self-play-options a").get_attribute("href")
    page.wait_for_function("before => document.querySelector('.self-play-options a').href !== before", arg=before)
    page.get_by_text("Open with analysis").click()
    page.wait_for_url("**/match/**")
    page.locator(".moves button").nth(4).wait_for()
    page.close()


def test_a_report_is_opened_from_the_table_and_from_its_run(site: str, browser: Any) -> None:
    page = opened(browser, site)
    page.get_by_label("Report of other").click()
    page.get_by_role("heading", name="Results of the other run").wait_for()
    page.go_back()
    page.get_by_role("link", name="other", exact=True).first.click()
    page.get_by_role("link", name="Report of other").click()
    page.get_by_role("heading", name="Results of the other run").wait_for()
    page.close()


def test_a_run_that_does_not_exist_yet_is_awaited(tiny_run: Path, tmp_path: Path, browser: Any) -> None:
    folder = tmp_path / "later" / "run"
    command = [sys.executable, "-m", "athenan_spiel", "watch", str(folder), "--port"]
    with serving(lambda port: [*command, str(port)], "open http", PYTHONPATH=str(HERE.parents[1])) as (port, _, _):
        page = opened(browser, f"http://127.0.0.1:{port}/")
        page.get_by_text("Waiting for a run in").wait_for()
        (tmp_path / "later").mkdir()
        shutil.copytree(tiny_run, folder)
        page.locator(".curves svg text", has_text="Loss").first.wait_for()
        assert page.url.endswith("/run/run")
        page.close()


def test_a_run_is_watched_as_it_trains(server: dict[str, str], runs: Path, browser: Any) -> None:
    """New lines of `metrics.jsonl` appear on the page, including the last self-play game."""
    page = browser.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(server["hex"].split("/match/")[0] + "/run/one")
    page.locator(".curves svg text", has_text="Loss").first.wait_for()
    page.get_by_text("ended: all games played").wait_for()
    news: list[dict[str, Any]] = [
        {"event": "run_started", "matches": 2, "seconds": 1.0, "game": "tic_tac_toe()", "network": "a network"},
        {"event": "match_finished", "matches": 1234, "length": 5, "actions": [4, 0, 8, 2, 6]},
        {"event": "round_finished", "matches": 1234, "seconds": 9.0, "search_seconds": 8.0, "evaluations": 100},
        {"event": "evaluation_finished", "opponent": '<i id="bad">', "points": 0.75, "low": 0.5, "high": 0.9},
    ]
    with (runs / "one" / "metrics.jsonl").open("a") as file:
        file.writelines(json.dumps(record) + "\n" for record in news)
    page.get_by_text("1,234 games in 9 s; running").wait_for()
    page.get_by_text("0 games left").wait_for()
    stones = "[...document.querySelectorAll('.self-play .site')].filter((x) => !/: empty$/.test(x.ariaLabel))"
    page.wait_for_function(f"() => {stones}.length === 5")
    chart = page.locator(".curves .nicegui-echart", has_text="Strength")
    box = chart.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    chart.get_by_text('against <i id="bad">').first.wait_for()
    chart.get_by_text("75 (50 to 90)").wait_for()
    assert page.locator("#bad").count() == 0
    page.close()


def test_an_unknown_game_is_reported(server: dict[str, str], browser: Any) -> None:
    page = browser.new_page()
    page.goto(server["hex"].rsplit("/", 1)[0] + "/nothing")
    page.get_by_text("start a new one").wait_for()
    page.close()
