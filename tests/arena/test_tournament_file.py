"""Tournament files: settings, and errors with their line."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from athenan_spiel.arena.sprt import Sprt
from athenan_spiel.arena.tournament_settings import MOST_AGENTS, Tournament, read_tournament, tournament_of
from athenan_spiel.errors import ConfigError

WHOLE = """
name = "all of it"
games = ["tic_tac_toe", "connect_four"]
matches = 40
limit = "100i"
anchor = "r"
confidence = 0.9
seed = 5

[agents]
a = "mcts:10"
b = "mcts:10"

[pool]
r = "random"

[openings]
kind = "balanced"
plies = 3
judge = "alphabeta@20i"
bound = 0.1

[sequential]
elo0 = -5
elo1 = 5
alpha = 0.01
"""


def test_all_settings_are_read() -> None:
    found = tournament_of(WHOLE, "file")
    assert found.games == ("tic_tac_toe", "connect_four")
    assert found.pairs() == [("a", "r"), ("b", "r")]
    assert found.match_count() == 160
    assert (found.openings.kind, found.openings.plies, found.openings.bound) == ("balanced", 3, 0.1)
    assert found.sequential is not None
    assert found.sequential == Sprt(elo0=-5, elo1=5, alpha=0.01)
    assert (found.limit, found.anchor, found.confidence, found.seed) == ("100i", "r", 0.9, 5)


def test_agents_of_a_list_are_named_by_their_specs() -> None:
    found = tournament_of('name = "x"\ngame = "hex"\nagents = ["random", "mcts:5"]', "file")
    assert found.specs == {"random": "random", "mcts:5": "mcts:5"}


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("matches = 40", "matches = 3", "file, line 4: matches must be even"),
        ("matches = 40", "matches = 1000000", "matches must be at most 2,000,000 in total, got 4,000,000"),
        ("matches = 40", 'matches = "4"', "line 4: matches must be a whole number"),
        ("matches = 40", "mathces = 4", "line 4: mathces is not a setting: did you mean 'matches'"),
        ('name = "all of it"', "", "name must be a text, got None"),
        ('name = "all of it"', 'name = "../x"', "line 2: name must not contain a slash"),
        ('name = "all of it"', f'name = "{"x" * 70}"', "line 2: name must be 1 to 60"),
        ('games = ["tic_tac_toe", "connect_four"]', "", "games or game must be given, got neither"),
        ('games = ["tic_tac_toe", "connect_four"]', 'game = "hex"\ngames = ["hex"]', "got both"),
        ('games = ["tic_tac_toe", "connect_four"]', 'games = ["hex", "hex"]', "different game strings"),
        ('games = ["tic_tac_toe", "connect_four"]', "games = []", "games must be a list of game strings"),
        (
            'games = ["tic_tac_toe", "connect_four"]',
            "games = [1]",
            "games must be a list of different game strings, got 1 in it",
        ),
        ("confidence = 0.9", "confidence = 1", "line 7: confidence must be between 0 and 1"),
        ("confidence = 0.9", "confidence = true", "confidence must be a finite number"),
        ("seed = 5", "seed = -1", "line 8: seed must be at least 0"),
        ('anchor = "r"', 'anchor = "z"', "line 6: anchor must be one of the agents a, b, r; got 'z'"),
        ('anchor = "r"', 'anchor = "none"', "line 6: anchor must not be 'none': leave it out"),
        ('limit = "100i"', 'limit = "none"', "line 5: limit must not be 'none': leave it out"),
        ('limit = "100i"', "limit = 100", "line 5: limit must be a text"),
        ('a = "mcts:10"', "a = 10", "line 11: agents.a must be a text"),
        ('a = "mcts:10"', '"" = "random"', "must be 1 to 60 printable"),
        ('r = "random"', 'a = "random"', "must not contain agents of agents, got 'a' in both"),
        ('kind = "balanced"', 'kind = "best"', "line 18: openings.kind must be one of"),
        (
            'kind = "balanced"',
            'kind = "random"',
            "line 20: openings.judge is for openings.kind = 'balanced', got 'random'",
        ),
        ('kind = "balanced"', 'kind = "file"', "is for openings.kind = 'balanced', got 'file'"),
        ('judge = "alphabeta@20i"', 'file = "x"', "line 20: openings.file is for openings.kind = 'file'"),
        ("bound = 0.1", "bound = 0", "line 21: openings.bound must be more than zero"),
        ("plies = 3", "plies = -1", "line 19: openings.plies must be at least 0"),
        ("elo0 = -5", "elo0 = 5", "line 24: sequential.elo0: a sequential test needs elo0 below elo1"),
        ("elo0 = -5", "", "sequential must have elo0"),
        ("alpha = 0.01", "alpha = 0.9", "line 26: sequential.alpha must be between 0 and 0.5"),
        ("alpha = 0.01", "gamma = 0.9", "line 26: sequential.gamma is not a setting"),
        ("[sequential]", "[[sequential]]", "sequential must be a table"),
        ("[agents]", "[agents", "is not valid TOML"),
    ],
)
def test_errors_have_their_line(old: str, new: str, problem: str) -> None:
    assert old in WHOLE
    with pytest.raises(ConfigError) as error:
        tournament_of(WHOLE.replace(old, new), "file")
    assert str(error.value).startswith("file")
    assert problem in str(error.value)


@pytest.mark.parametrize(
    ("agents", "problem"),
    [
        ('["random", "random"]', "agents must differ, got 'random' twice: in a file [agents] can name them apart"),
        ('["random"]', "agents must be at least two"),
        ("[]", "agents must be a list of texts"),
        ('"random"', "agents must be a list of texts"),
        (f'["{"x" * 700}", "random"]', "give it one in [agents]"),
    ],
)
def test_agents_are_different_and_at_least_two(agents: str, problem: str) -> None:
    with pytest.raises(ConfigError) as error:
        tournament_of(f'name = "x"\ngame = "hex"\nagents = {agents}', "file")
    assert problem in str(error.value)


def test_agents_of_the_pool_are_different() -> None:
    with pytest.raises(ConfigError) as error:
        tournament_of('name = "x"\ngame = "hex"\nagents = ["random"]\npool = ["mcts:1", "mcts:1"]', "file")
    assert "line 4: pool must differ, got 'mcts:1' twice: in a file [pool] can name them apart" in str(error.value)


def test_too_many_agents_are_refused() -> None:
    agents = {str(i): "random" for i in range(MOST_AGENTS + 1)}
    with pytest.raises(ConfigError, match="must be at most 1,000"):
        Tournament(name="x", games=("hex",), agents=agents, matches=2)


def test_many_agents_are_refused_in_linear_time() -> None:
    words = [f"uct:{n}" for n in range(1, 20_001)]
    text = f'name = "many"\ngame = "tic_tac_toe"\nagents = {json.dumps(words, separators=(",", ":"))}\n'
    start = time.process_time()
    with pytest.raises(ConfigError, match=f"must be at most {MOST_AGENTS:,} with the pool, got 20,000"):
        tournament_of(text, "many.toml")
    assert time.process_time() - start < 2.0  # 15 s where each name is compared with all others


def test_a_file_is_read_and_names_openings_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "t.toml"
    path.write_text('name = "x"\ngame = "hex"\nagents = ["random", "mcts:5"]\n[openings]\nkind = "file"\nfile = "o"')
    assert read_tournament(path).openings.file == str(tmp_path / "o")
    path.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="is not valid TOML"):
        read_tournament(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_tournament(tmp_path / "nowhere.toml")
