"""How the games of a session ended: which the limit on their length cut off, and the warning if none was won."""

from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path

import pyspiel
import pytest
from rich.console import Console
from run_events import match, progress, rolled_back, started
from training_runs import TINY, of_type

from athenan_spiel.training import train
from athenan_spiel.training.callbacks import LinePrinter, LiveView, ProgressBar, RunSummary
from athenan_spiel.training.events import Event, MatchFinished, NothingDecided, RoundFinished, SettingsAdapted
from athenan_spiel.training.results import (
    ENOUGH_AT_END,
    ENOUGH_GAMES,
    OWN_OUTCOME,
    DecisiveGames,
    cut_off_share,
    decisive_share,
)

pytestmark = pytest.mark.usefixtures("forked_workers")

OWARE = pyspiel.load_game("oware")
DRAWN = dataclasses.replace(match(1), returns=(0.0, 0.0))
CUT = dataclasses.replace(DRAWN, length=1000, cut_off=True)


def test_random_quoridor_reaches_its_limit(tmp_path: Path) -> None:
    """OpenSpiel's own limit, at 324 moves."""
    events: list[Event] = []
    config = dataclasses.replace(
        TINY,
        matches=2,
        search=dataclasses.replace(TINY.search, iterations=1, longest_descent=1),
        exploration=dataclasses.replace(TINY.exploration, schedule="constant", exploitation=0.0, completed=False),
    )
    train("quoridor(board_size=3)", config, tmp_path / "run", callbacks=[events.append])
    for event in of_type(events, MatchFinished):
        limit = pyspiel.load_game("quoridor(board_size=3)").max_game_length()
        assert event.cut_off == (event.length == limit and event.returns == (0.0, 0.0))


def warned(
    games: list[MatchFinished], outcome: str = "additive_depth", *, at_end: bool = False
) -> NothingDecided | None:
    results = DecisiveGames(OWARE)
    for game in games:
        results(game)
    warning = results.warning(at_end=at_end)
    assert warning is None or results.warning(at_end=True) is None, "it comes once"
    return warning


def test_it_warns_if_no_game_was_won() -> None:
    found = warned([CUT] * 6 + [DRAWN] * 2)
    assert found == NothingDecided(
        matches=1,
        games=8,
        cut_off_share=0.75,
        length_limit=1000,
        advice=f"give more --time, or {OWN_OUTCOME}",
    )
    assert warned([CUT] * (ENOUGH_GAMES - 1)) is None
    assert warned([CUT] * ENOUGH_AT_END, at_end=True) is not None
    assert warned([CUT] * (ENOUGH_AT_END - 1), at_end=True) is None
    assert warned([CUT] * 20 + [match(1)]) is None
    assert warned([dataclasses.replace(match(1), returns=(0.0,))] * 20) is None, "a score of one player"


def test_a_rollback_forgets_the_games() -> None:
    results = DecisiveGames(OWARE)
    for event in [*[CUT] * 7, rolled_back(0), CUT]:
        results(event)
    assert results.warning() is None


def test_shares_of_a_round() -> None:
    games = [CUT, DRAWN, match(1), match(2, -1.0)]
    assert (decisive_share(games), cut_off_share(games)) == (0.5, 0.25)


def test_a_run_records_the_shares(tmp_path: Path) -> None:
    events: list[Event] = []
    run = train("tic_tac_toe", TINY, tmp_path / "run", callbacks=[events.append])
    rounds = of_type(events, RoundFinished)
    games = of_type(events, MatchFinished)
    assert [r.cut_off_share for r in rounds] == [0.0] * 4
    assert sum((r.decisive_share or 0.0) * 3 for r in rounds) == pytest.approx(decisive_share(games) * 12)
    lines = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    assert all(line["cut_off"] is False for line in lines if line["event"] == "match_finished")
    assert all("decisive_share" in line for line in lines if line["event"] == "round_finished")


WARNING = NothingDecided(matches=8, games=8, cut_off_share=1.0, length_limit=300, advice="give more --time")
ADAPTED = SettingsAdapted(
    matches=0,
    seconds=24.0,
    random_length=17.0,
    length_in_play=40.0,
    matches_at_once=4,
    evaluations_per_move=500,
    longest_descent=68,
)


def test_all_displays_show_the_warning_and_new_settings() -> None:
    texts = []
    for make in (
        lambda file: LinePrinter(file),
        lambda file: ProgressBar(file),
        lambda file: LiveView(Console(file=file, force_terminal=True, width=200)),
    ):
        file = io.StringIO()
        callback = make(file)
        for event in (started(), progress(), ADAPTED, WARNING):
            callback(event)
        if isinstance(callback, LiveView):
            callback._live.stop()
        texts.append(file.getvalue())
    for text in texts:
        assert (
            "none of 8 games was won, 100% were cut off after 300 moves, so little is learned: give more --time" in text
        )
        assert (
            "games take too long for the time limit: after 24 s no games have ended (those in play: 40 moves so far, "
            "random ones take 17); from now on 4 games at once, 500 eval" in text
        )


def test_the_summary_counts_games_that_were_cut_off() -> None:
    summary = RunSummary()
    for event in (started(), CUT, DRAWN, match(3)):
        summary(event)
    assert summary.results_text == "1 won, 2 drawn, 0 lost by the first player, 1 cut off by the limit on length"
    summary(rolled_back(0))
    summary(match(1))
    assert summary.results_text == "1 won, 0 drawn, 0 lost by the first player"
