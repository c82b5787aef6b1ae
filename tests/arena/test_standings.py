"""Standings of a few games against hand calculations, and their tables."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from rendered import ELEMENTS, NAMES, RENDERERS, rendered, shown

from athenan_spiel.arena.record import SavedMatch
from athenan_spiel.arena.sprt import Sprt
from athenan_spiel.arena.standings import MOST_GAINS, FailedMatch, Standings
from athenan_spiel.arena.statistics import stratified_mean
from athenan_spiel.arena.tables import csv_text
from athenan_spiel.arena.tournament_report import markdown, report_files, to_json
from athenan_spiel.arena.tournament_settings import Tournament
from athenan_spiel.play.match import Forfeit, MatchResult

GAME = "tic_tac_toe"


def match(
    a: str, b: str, number: int, colour: int, points: float, *, game: str = GAME, forfeit: Forfeit | None = None
) -> SavedMatch:
    """Returns a game in which `a` has these points; its actions don't matter."""
    worth = (2 * points - 1) * (1 if colour == 0 else -1)
    result = MatchResult((number, 1, 2), 1, (worth, -worth), (1.0, 2.0), forfeit, (1, 0), (2.0, 1.0), (10, 0), (1, 0))
    return SavedMatch(game, (a, b), ("random", "mcts:1"), colour, number, 0, result)


def both(a: str, b: str, points: list[tuple[float, float]], **options: Any) -> list[SavedMatch]:
    """Returns two games per pair of points of `a`, the first with colour 0."""
    return [match(a, b, n, c, both_[c], **options) for n, both_ in enumerate(points) for c in (0, 1)]


def tournament(**changes: Any) -> Tournament:
    given = {"name": "t", "games": (GAME,), "agents": {"a": "random", "b": "mcts:1", "c": "mcts:2"}, "matches": 4}
    return Tournament(**(given | changes))


MATCHES = [
    *both("a", "b", [(1.0, 0.5), (1.0, 0.0)]),
    *both("a", "c", [(0.0, 0.5), (0.0, 0.0)]),
    *both("b", "c", [(0.5, 0.5), (0.0, 1.0)]),
]


def test_a_pair_is_counted_by_colour() -> None:
    standings = Standings(tournament(), MATCHES, {GAME: "chosen"})
    _, pair = standings.pairs[0]
    assert (pair.contender, pair.opponent) == ("a", "b")
    assert (pair.as_first.wins, pair.as_first.draws, pair.as_first.losses) == (2, 0, 0)
    assert (pair.as_second.wins, pair.as_second.draws, pair.as_second.losses) == (0, 1, 1)
    assert pair.points.estimate == 0.625
    assert pair.binomial_p == 1.0, "two won and one lost"
    assert pair.wilcoxon_p == 1.0, "one opening is ahead by a half, the other even"
    assert standings.complete


def test_the_gain_is_that_of_definition_1() -> None:
    """Against c, a has won 0 and lost 3 of 4, b has won 1 and lost 1: (-3/4 - 0) / 2."""
    standings = Standings(tournament(), MATCHES, {GAME: "chosen"})
    gains = {(gain.agent, gain.other): gain for gain in standings.gains}
    gain = gains.get(("a", "b")) or gains["b", "a"]
    sign = 1 if gain.agent == "a" else -1
    assert sign * gain.estimate == pytest.approx((-3 / 4 - 0) / 2)
    assert gain.opponents == 1
    assert len(standings.gains) == 3


def test_the_gain_over_games_is_the_mean_of_theirs() -> None:
    other = "hex(board_size=3)"
    more = [*both("a", "c", [(1.0, 1.0), (1.0, 1.0)], game=other), *both("b", "c", [(0.0, 1.0)] * 2, game=other)]
    standings = Standings(tournament(games=(GAME, other)), [*MATCHES, *more], {GAME: "x", other: "y"})
    gain = next(gain for gain in standings.gains if {gain.agent, gain.other} == {"a", "b"})
    sign = 1 if gain.agent == "a" else -1
    assert sign * gain.estimate == pytest.approx((-3 / 8 + 1 / 2) / 2)
    assert gain.opponents == 2
    assert gain.interval is None or gain.interval.low <= gain.estimate <= gain.interval.high
    assert not standings.complete
    text = markdown(standings)
    assert "**Not finished" in text
    assert f"Openings, each with both colours and the same for all pairs: `{GAME}`: `x`; `{other}`: `y`." in text


def test_forfeits_and_resignations_are_counted_separately() -> None:
    lost = [
        match("a", "b", 0, 0, 0.0, forfeit=Forfeit(0, "it | hung")),
        match("a", "b", 0, 1, 0.0, forfeit=Forfeit(1, "gave up", resigned=True)),
        match("a", "b", 1, 0, 1.0),
    ]
    standings = Standings(tournament(), lost, {GAME: "x"})
    assert standings.reasons == {"a": (1, "it | hung")}
    (agent,) = (result for result in standings.agents if result.agent == "a")
    assert (agent.forfeits, agent.resignations) == (1, 1)
    assert "`a` forfeited 1 games, the first as `it | hung`." in markdown(standings)


def test_unconnected_agents_have_no_ratings_yet() -> None:
    four = tournament(agents=dict.fromkeys("abcd", "random"))
    standings = Standings(four, [*both("a", "b", [(1.0, 1.0)]), *both("c", "d", [(1.0, 0.0)])], {GAME: "x"})
    assert {result.rating.elo for result in standings.agents} == {None}
    text = markdown(standings)
    assert "No ratings yet, because no chain of games joins all agents." in text
    assert "![]" not in text
    nothing = Standings(four, [], {GAME: "x"})
    assert (nothing.agents, nothing.pairs, nothing.played) == ([], [], 0)
    assert "**Not finished" in markdown(nothing)
    assert report_files(nothing)["agents.csv"] == ""


def test_a_decided_pair_is_complete() -> None:
    tested = tournament(agents={"a": "random", "b": "mcts:1"}, matches=100, sequential=Sprt(elo0=0, elo1=400))
    standings = Standings(tested, both("a", "b", [(1.0, 1.0)] * 30), {GAME: "x"})
    assert standings.pairs[0][1].test is not None
    assert standings.pairs[0][1].test.verdict == "H1"
    assert standings.complete
    text = markdown(standings)
    assert "until its sequential test decides (H0 +0 Elo, H1 +400 Elo" in text
    assert "| SPRT |" in text
    assert "H1 after " in text
    assert not Standings(tested, both("a", "b", [(1.0, 0.0)]), {GAME: "x"}).complete


def test_the_test_of_a_pair_leaves_out_openings_with_a_failed_match() -> None:
    """Failed games are played again, so the pair is not complete."""
    tested = tournament(agents={"a": "random", "b": "mcts:1"}, matches=100, sequential=Sprt(elo0=0, elo1=400))
    matches = [m for m in both("a", "b", [(1.0, 1.0)] * 30) if (m.number, m.colour) != (2, 1)]
    undecided = Standings(tested, matches, {GAME: "x"})
    assert undecided.pairs[0][1].test is not None
    assert (undecided.pairs[0][1].test.openings, undecided.pairs[0][1].test.verdict) == (2, None)
    failed = FailedMatch(GAME, "a", "b", 2, "its process ended with code 3")
    decided = Standings(tested, matches, {GAME: "x"}, failures=[failed])
    assert decided.pairs[0][1].test is not None
    assert decided.pairs[0][1].test.verdict == "H1"
    assert not decided.complete
    after = FailedMatch(GAME, "a", "b", 29, "its process ended with code 3")
    assert Standings(tested, both("a", "b", [(1.0, 1.0)] * 29), {GAME: "x"}, failures=[after]).complete


def test_a_pair_is_counted_by_first_mover() -> None:
    standings = Standings(
        tournament(), MATCHES, {GAME: "chosen"}, first_movers={GAME: lambda history: 1}
    )  # as in OpenSpiel's chess
    _, pair = standings.pairs[0]
    assert (pair.moving_first, pair.moving_second) == (pair.as_second, pair.as_first)
    row = to_json(standings)["pairs"][0]
    assert row["moving_first"] == row["as_second_player"] == {"wins": 0, "draws": 1, "losses": 1}
    assert "| `a` – `b` | 2/1/1 | 25.0% | 100.0% |" in markdown(standings)


def test_all_report_formats_agree() -> None:
    named = tournament(agents={"a|b": "random", "c`d": "mcts:1"}, anchor="c`d")
    standings = Standings(named, both("a|b", "c`d", [(1.0, 0.5), (1.0, 0.0)]), {GAME: "x"}, ["a|b"])
    files = report_files(standings)
    rows = list(csv.DictReader(io.StringIO(files["agents.csv"])))
    assert {row["agent"] for row in rows} == {"a|b", "c`d"}
    (anchored,) = (row for row in rows if row["agent"] == "c`d")
    assert (anchored["rating"], anchored["rating_interval_low"]) == ("0.0", "")
    table = json.loads(files["report.json"])
    assert table == json.loads(json.dumps(to_json(standings)))
    assert table["agents"][0]["points"] == 0.625
    assert table["without_limit"] == ["a|b"]
    assert "a\\|b" in files["report.md"]
    assert "``c`d``" in files["report.md"]


@pytest.mark.parametrize("renderer", RENDERERS)
@pytest.mark.parametrize("name", NAMES)
def test_names_and_reasons_render_as_plain_text(name: str, renderer: str) -> None:
    named = tournament(name=name, games=(GAME, "hex"), agents={name: "random", "b": f"gtp:{name}"}, anchor=name)
    lost = match(name, "b", 2, 0, 0.0, forfeit=Forfeit(0, name))
    standings = Standings(named, [*both(name, "b", [(1.0, 0.5), (1.0, 0.0)]), lost], {GAME: name, "hex": "x"}, [name])
    page = rendered(markdown(standings), renderer)
    assert page.elements <= ELEMENTS
    assert page.pictures == ["ratings-1.png"]
    name = shown(name)
    assert {name, f"gtp:{name}", f"{name} – b"} <= set(page.texts)
    assert page.texts[0] == name
    assert f"{GAME}: {name}; hex: x." in next(text for text in page.texts if "Openings, each" in text)
    assert page.texts[-1] == f"Agent {name} forfeited 1 games, the first as {name}."


def test_a_large_field_reports_the_gains_of_its_best_agent() -> None:
    names = [f"n{i:02}" for i in range(32)]
    assert len(names) * (len(names) - 1) // 2 > MOST_GAINS
    field = tournament(agents=dict.fromkeys(names, "random"), pool={"p": "random"}, matches=2)
    matches = [m for i, name in enumerate(names) for m in both(name, "p", [(1.0, float(i == 7))])]
    standings = Standings(field, matches, {GAME: "x"})
    assert {gain.agent for gain in standings.gains} == {"n07"}
    assert len(standings.gains) == 31


def test_the_bootstrap_draws_within_strata() -> None:
    """Strata without spread give no interval, however different their means are."""
    estimate, interval = stratified_mean([[0.0] * 5, [1.0] * 5], 0.95, 0)
    assert (estimate, interval) == (0.5, None)
    estimate, interval = stratified_mean([[0.0, 1.0] * 50, [0.5] * 3], 0.95, 0, weights=[0.25, 0.75])
    assert estimate == pytest.approx(0.5)
    assert interval is not None
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * 0.25 * 0.5 / 10, rel=0.15)
    assert stratified_mean([[0.0, 1.0]], 0.95, 3) == stratified_mean([[0.0, 1.0]], 0.95, 3)


def test_csv_has_the_keys_of_all_rows() -> None:
    assert csv_text([{"a": 1}, {"a": 2, "b": 3}]) == "a,b\n1,\n2,3\n"
    assert csv_text([]) == ""
