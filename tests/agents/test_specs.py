"""Agent specs are parsed, or refused in one line with the valid forms."""

from __future__ import annotations

from pathlib import Path

import pytest

import agents
from athenan_spiel.errors import AgentError, BudgetError


@pytest.mark.parametrize(
    ("text", "bot", "params"),
    [
        ("random", "random", {}),
        ("human", "human", {}),
        ("mcts:1000", "mcts", {"simulations": 1000}),
        ("runs/bt6", "athenan", {"checkpoint": "runs/bt6"}),
        ("/tmp/my runs/bt6/", "athenan", {"checkpoint": "/tmp/my runs/bt6/"}),
        ("./human", "athenan", {"checkpoint": "./human"}),
        ("runs/bt6@0.5s", "athenan", {"checkpoint": "runs/bt6", "seconds": 0.5}),
        ("runs/bt6@.5s", "athenan", {"checkpoint": "runs/bt6", "seconds": 0.5}),
        ("runs/bt6@2s", "athenan", {"checkpoint": "runs/bt6", "seconds": 2.0}),
        ("runs/bt6@200i", "athenan", {"checkpoint": "runs/bt6", "iterations": 200}),
        ("runs/bt6#48", "athenan", {"checkpoint": "runs/bt6", "matches": 48}),
        ("runs/bt6#48@0.5s", "athenan", {"checkpoint": "runs/bt6", "matches": 48, "seconds": 0.5}),
        (
            "runs/bt6#48:ubfm@200i",
            "athenan",
            {"checkpoint": "runs/bt6", "matches": 48, "search": "ubfm", "iterations": 200},
        ),
        ("runs/bt6#best", "athenan", {"checkpoint": "runs/bt6", "best": True}),
        (
            "runs/bt6#best:mcts@5000e",
            "athenan",
            {"checkpoint": "runs/bt6", "best": True, "search": "mcts", "evaluations": 5000},
        ),
        ("runs/bt6@60s/match", "athenan", {"checkpoint": "runs/bt6", "match_seconds": 60.0}),
        ("runs/bt6:ubfm@5m/match", "athenan", {"checkpoint": "runs/bt6", "search": "ubfm", "match_seconds": 300.0}),
        ("alphabeta(3)@.5m/match", "alphabeta", {"depth": 3, "match_seconds": 30.0}),
        ("runs/bt6@5m+2s", "athenan", {"checkpoint": "runs/bt6", "match_seconds": 300.0, "match_increment": 2.0}),
        ("alphabeta@90s+0.5s", "alphabeta", {"match_seconds": 90.0, "match_increment": 0.5}),
        ("mcts@1.5m+.5m", "mcts", {"match_seconds": 90.0, "match_increment": 30.0}),
        ("uct@90s+0s", "uct", {"match_seconds": 90.0, "match_increment": 0.0}),
        ("runs/bt6:ponder=true", "athenan", {"checkpoint": "runs/bt6", "ponder": True}),
        ("runs/bt6:proofs=false@1s", "athenan", {"checkpoint": "runs/bt6", "proofs": False, "seconds": 1.0}),
        (
            "runs/bt6:ubfm;proofs=true;ponder=false@1s",
            "athenan",
            {"checkpoint": "runs/bt6", "search": "ubfm", "proofs": True, "ponder": False, "seconds": 1.0},
        ),
        (
            "runs/bt6#48:ponder=false@1s",
            "athenan",
            {"checkpoint": "runs/bt6", "matches": 48, "ponder": False, "seconds": 1},
        ),
        (
            "runs/bt6:ubfm_s(1.4);ponder=true@20i",
            "athenan",
            {"checkpoint": "runs/bt6", "search": "ubfm_s(1.4)", "ponder": True, "iterations": 20},
        ),
        ("runs/a+b@1s+1s", "athenan", {"checkpoint": "runs/a+b", "match_seconds": 1.0, "match_increment": 1.0}),
        ("runs/bt6@5000e", "athenan", {"checkpoint": "runs/bt6", "evaluations": 5000}),
        ("./random/x@1s", "athenan", {"checkpoint": "./random/x", "seconds": 1.0}),
        ("random/x@1s", "athenan", {"checkpoint": "random/x", "seconds": 1.0}),
        ("athenan:runs/bt6@20i", "athenan", {"checkpoint": "runs/bt6", "iterations": 20}),
        ("runs/a#b/bt6", "athenan", {"checkpoint": "runs/a#b/bt6"}),
        ("runs/bt6/checkpoints/000048", "athenan", {"checkpoint": "runs/bt6/checkpoints/000048"}),
        ("runs/a@b@200i", "athenan", {"checkpoint": "runs/a@b", "iterations": 200}),
        ("runs/bt6:ubfm", "athenan", {"checkpoint": "runs/bt6", "search": "ubfm"}),
        ("runs/bt6:alphabeta@1s", "athenan", {"checkpoint": "runs/bt6", "search": "alphabeta", "seconds": 1.0}),
        ("runs/bt6:mcts(0.5)@20i", "athenan", {"checkpoint": "runs/bt6", "search": "mcts(0.5)", "iterations": 20}),
        ("runs/a:b/bt6", "athenan", {"checkpoint": "runs/a:b/bt6"}),
        ("runs/a:b/bt6:descent", "athenan", {"checkpoint": "runs/a:b/bt6", "search": "descent"}),
        ("alphabeta", "alphabeta", {}),
        ("alphabeta@1s", "alphabeta", {"seconds": 1.0}),
        ("alphabeta(3)@20i", "alphabeta", {"depth": 3, "iterations": 20}),
    ],
)
def test_words(text: str, bot: str, params: dict[str, object]) -> None:
    word = agents.parse_spec(text)
    assert word == agents.AgentSpec(text, bot, params)
    assert str(word) == text
    assert word.is_human == (text == "human")


def test_a_folder_that_is_there_needs_no_slash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AgentError):
        agents.parse_spec("bt6")
    for name in ("bt6", "bt6@home"):
        (tmp_path / name).mkdir()
        assert agents.parse_spec(name).params == {"checkpoint": name}
    assert agents.parse_spec("bt6@1s").params == {"checkpoint": "bt6", "seconds": 1.0}
    assert agents.parse_spec("bt6:mcts@1s").params == {"checkpoint": "bt6", "search": "mcts", "seconds": 1.0}
    assert agents.parse_spec("bt6#48").params == {"checkpoint": "bt6", "matches": 48}
    assert agents.parse_spec("bt6#48:mcts@1s").params == {
        "checkpoint": "bt6",
        "matches": 48,
        "search": "mcts",
        "seconds": 1.0,
    }
    (tmp_path / "bt6#48").mkdir()
    assert agents.parse_spec("bt6#48").params == {"checkpoint": "bt6#48"}
    (tmp_path / "bt6:mcts").mkdir()
    assert agents.parse_spec("bt6:mcts@1s").params == {"checkpoint": "bt6:mcts", "seconds": 1.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected an agent, such as runs/bt6@0.5s, athenan-ggp:60s/10s, alphabeta@1s, "),
        ("x" * 10_001, "expected an agent spec of at most 10,000 characters, got 10,001: 'xxx"),
        ("randon", "got 'randon': did you mean 'random'?"),
        ("mtcs:50", "got 'mtcs:50': did you mean 'mcts:50'?"),
        ("gnugo:/usr/bin/gnugo", "; got 'gnugo:/usr/bin/gnugo'"),
        ("alphabta@1s", "; got 'alphabta@1s': did you mean 'alphabeta@1s'?"),
        ("alphabeta@1m", "expected a limit after @"),
        ("alphabeta(0)", "alphabeta takes a depth from 1 to 256, such as alphabeta(3); got 'alphabeta(0)'"),
        ("alphabeta(257)", "a depth from 1 to 256"),
        ("alphabeta(2.5)@1s", "a depth from 1 to 256"),
        (
            "runs/bt6:alphabta@1s",
            "one of ubfm_s, ubfm_k, ubfm, descent, alphabeta, mcts, puct, gumbel, exit; got 'alphabta': did you mean "
            "'alphabeta'?",
        ),
        ("runs/bt6:", "expected a search"),
        ("runs/bt6:mcts(0.5", "expected a search"),
        (
            "runs/bt6:mcts(-1)",
            "mcts takes an exploration constant from zero to 1,000,000, such as mcts(0.5); got 'mcts(-1)'",
        ),
        ("runs/bt6:mcts()", "mcts takes an exploration constant"),
        ("runs/bt6:mcts(1e9)", "mcts takes an exploration constant"),
        ("runs/bt6:descent(2)", "descent takes no number; got 'descent(2)': write 'descent'"),
        ("mcts", "mcts takes simulations per move, from 1 to 1,000,000,000, such as mcts:1000, or a time"),
        ("mcts:", "from 1 to 1,000,000,000"),
        ("mcts:0", "from 1 to 1,000,000,000"),
        ("mcts:-5", "from 1 to 1,000,000,000"),
        ("mcts:1e3", "from 1 to 1,000,000,000"),
        ("mcts:٣", "from 1 to 1,000,000,000"),
        ("mcts:²", "from 1 to 1,000,000,000"),
        ("mcts:1000000001", "mcts takes simulations per move, from 1 to 1,000,000,000, such as mcts:1000, or a time"),
        ("mcts:" + "9" * 5000, "9999...9999"),
        ("mcts:1000@0.5s", "mcts takes simulations (mcts:1000) or a time, not both; got 'mcts:1000@0.5s'"),
        ("random@1s", "random takes no limit; got 'random@1s'"),
        ("random:1", "expected only a limit after random; got 'random:1'"),
        ("human:me", "expected only a limit after human; got 'human:me'"),
        (
            "ludii:UCT@50e",
            "ludii takes seconds per move (ludii@0.5s) or iterations per move (ludii@200i) or a game clock "
            "(ludii@60s/match) or a game clock with increment (ludii@5m+2s) and no other limit; got",
        ),
        (
            "runs/bt6@",
            "expected a limit after @: 0.5s, 200i (iterations) or 5000e (evaluations) per move, 60s/match or 5m+2s; "
            "got 'runs/bt6@'",
        ),
        ("runs/bt6@60s/game", "expected a limit after @"),
        ("runs/bt6@60i/match", "expected a limit after @"),
        (
            "runs/bt6:ponder=yes@1s",
            "expected a search, ponder=true, ponder=false, proofs=true or proofs=false after a run's colon, or several",
        ),
        (
            "runs/bt6:ponder=true;ubfm",
            "expected a search, ponder=true, ponder=false, proofs=true or proofs=false after a run's colon, or",
        ),
        (
            "runs/bt6:ponder=true;ponder=true",
            "expected a search, ponder=true, ponder=false, proofs=true or proofs=false after a run's colon, or",
        ),
        (
            "runs/bt6:seconds=3",
            "expected a search, ponder=true, ponder=false, proofs=true or proofs=false after a run's colon, or",
        ),
        (
            "runs/bt6:;ponder=true",
            "expected a search, ponder=true, ponder=false, proofs=true or proofs=false after a run's colon, or",
        ),
        ("runs/bt6:ufbm;ponder=true", "expected a search"),
        ("runs/bt6:ponder", "expected a search"),
        ("runs/bt6@5m+", "expected a limit after @"),
        ("runs/bt6@+2s", "expected a limit after @"),
        ("runs/bt6@5m+2", "expected a limit after @"),
        ("runs/bt6@5m+2i", "expected a limit after @"),
        ("runs/bt6@5m+-2s", "expected a limit after @"),
        ("runs/bt6@5m+2s/match", "expected a limit after @"),
        ("runs/bt6@5m+٣s", "expected a limit after @"),
        ("aei:sharp@5m+2s", "aei takes seconds per move (aei@0.5s) and no other limit; got"),
        ("alphabeta:(3)", "expected an agent, such as"),
        ("runs/bt6@fast", "expected a limit after @"),
        ("runs/bt6@1.5i", "expected a limit after @"),
        ("runs/bt6@٣i", "expected a limit after @"),
        ("runs/bt6@٣s", "expected a limit after @"),
        ("runs/bt6@" + "9" * 5000 + "i", "expected a limit after @"),
        ("runs/bt6:alphabeta(٣)", "a depth from 1 to 256"),
        ("runs/bt6:mcts(٣)", "mcts takes an exploration constant"),
        ("runs/bt6:alphabeta(" + "9" * 5000 + ")", "a depth from 1 to 256"),
        (
            "runs/bt6#",
            "expected a number of games after #, as in runs/bt6#576 for the checkpoint after 576 games, or best; got",
        ),
        ("runs/bt6#bset", "expected a number of games after #"),
        ("runs/bt6#٤٨", "expected a number of games after #"),
        ("runs/bt6#-1@1s", "expected a number of games after #"),
        ("runs/bt6#" + "9" * 5000, "expected a number of games after #"),
        ("runs/bt6@1m", "expected a limit after @"),
        ("runs/bt6@-1s", "expected a limit after @"),
    ],
)
def test_words_that_are_not_understood(text: str, message: str) -> None:
    with pytest.raises(AgentError) as error:
        agents.parse_spec(text)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    ["runs/bt6@0s", "runs/bt6@0i", "runs/bt6@0e", "runs/bt6@.0s/match", "runs/bt6@99999999999m/match", "mcts@0m+2s"],
)
def test_words_without_thinking_time(text: str) -> None:
    with pytest.raises(BudgetError, match=r"more than zero|at least 1|at most 3,153,600,000"):
        agents.parse_spec(text)


def test_an_increment_has_a_bound() -> None:
    with pytest.raises(BudgetError, match="the increment of a game clock must be from 0 to 3,153,600,000 seconds, got"):
        agents.parse_spec("runs/bt6@5m+99999999999s")
