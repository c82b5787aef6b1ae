"""The table of kinds of agents: every kind is whole, and installed packages add theirs by entry points."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyspiel
import pytest

import agents
from agents.kind import AgentKind, limit_only
from agents.registry import BUILT_IN, KINDS
from athenan_spiel.cli.main import main
from athenan_spiel.errors import AgentError

TIC_TAC_TOE = pyspiel.load_game("tic_tac_toe")
Package = Callable[..., None]
NAMES = iter(range(1000))

GOOD = """
import pyspiel
from agents import AgentKind

def parse(text, limit):
    return {"text": text, **limit.params}

def load(game, player_id, params):
    seen.append((player_id, dict(params)))
    return pyspiel.make_uniform_random_bot(player_id, 0)

seen = []
KIND = AgentKind(name="fake", example="fake:x@1s", about="a fake", load=load, parse=parse, limits=("seconds",))
WRONG_NAME = AgentKind(name="other", example="other", about="a fake", load=load, parse=parse)
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    """Puts a distribution on `sys.path` whose module has `code`, and which offers `fake` at `target` of it."""
    monkeypatch.setattr("agents.registry.KINDS", dict(KINDS))

    def put(target: str = "KIND", code: str = GOOD, dist: str = "fake-agents") -> str:
        module = f"fake_agents_{next(NAMES)}"
        info = tmp_path / f"{dist.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {dist}\nVersion: 1.0\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(f"[athenan_spiel.agents]\nfake = {module}:{target}\n", encoding="utf-8")
        (tmp_path / f"{module}.py").write_text(code, encoding="utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))
        return module

    return put


def test_each_kind_has_an_example_that_is_a_word_of_its_own() -> None:
    for kind in KINDS.values():
        word = agents.parse_spec(kind.example)
        assert word.bot == kind.name
        assert word.kind is kind
        assert kind.about
    assert len({kind.name for kind in BUILT_IN}) == len(BUILT_IN)


def test_a_package_adds_a_kind(package: Package) -> None:
    module = package()
    assert "fake" in agents.registered_bots()
    assert module not in sys.modules, "not imported before it is asked for"
    agents.parse_spec("mcts:5")
    assert module not in sys.modules
    word = agents.parse_spec("fake:x@0.5s")
    assert word == agents.AgentSpec("fake:x@0.5s", "fake", {"text": "x", "seconds": 0.5})
    agents.make_bot(word, TIC_TAC_TOE, 1, seed=4)
    agents.load_bot("fake", TIC_TAC_TOE, 0, {"y": 1})
    assert sys.modules[module].seen == [(1, {"text": "x", "seconds": 0.5, "seed": 4}), (0, {"y": 1})]
    assert agents.parse_spec("fake").params == {"text": ""}
    with pytest.raises(
        AgentError, match=r"fake takes seconds per move \(fake@0.5s\) and no other limit; got 'fake@5i'"
    ):
        agents.parse_spec("fake@5i")
    with pytest.raises(AgentError, match="must be new, got 'fake'"):
        agents.register_kind(sys.modules[module].WRONG_NAME.__class__(**vars(sys.modules[module].KIND)))


def test_the_command_line_knows_such_a_kind(package: Package, capsys: pytest.CaptureFixture[str]) -> None:
    package()
    assert main(["eval", "fake", "--against", "random", "--matches", "2", "--game", "tic_tac_toe"]) == 0
    assert main(["eval", "fake@5i", "--against", "random", "--game", "tic_tac_toe"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(
    ("target", "code", "said"),
    [
        (
            "KIND",
            "import no_such_module",
            "cannot be loaded from 'fake_agents_.*:KIND': ModuleNotFoundError: No module",
        ),
        ("MISSING", GOOD, "cannot be loaded from .*: AttributeError"),
        ("KIND", "raise RuntimeError('two\\nlines')", "RuntimeError: two lines$"),
        ("parse", GOOD, "expected an AgentKind at 'fake_agents_.*:parse', got <function parse"),
        ("WRONG_NAME", GOOD, "expected a kind of that name at 'fake_agents_.*', got 'other'"),
    ],
    ids=["import", "attribute", "raises", "no kind", "name"],
)
def test_a_package_that_offers_no_kind_is_one_error(target: str, code: str, said: str, package: Package) -> None:
    package(target, code)
    for call in (lambda: agents.parse_spec("fake:x"), lambda: agents.load_bot("fake", TIC_TAC_TOE, 0)):
        with pytest.raises(AgentError, match=rf"^agent kind 'fake' of the package 'fake-agents'.*{said}") as error:
            call()
        assert "\n" not in str(error.value)


def test_two_packages_of_one_name_are_one_error(package: Package) -> None:
    package()
    package(dist="other-agents")
    with pytest.raises(AgentError, match=r"expected one package with the agent kind 'fake', got the package '.*' and"):
        agents.parse_spec("fake")


def test_a_registered_bot_is_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.registry.KINDS", dict(KINDS))
    agents.register_bot("mine", lambda game, player_id, params: pyspiel.make_uniform_random_bot(player_id, 0))
    assert agents.parse_spec("mine") == agents.AgentSpec("mine", "mine", {})
    agents.make_bot("mine", TIC_TAC_TOE, 0)
    with pytest.raises(AgentError, match="did you mean 'mine:5'"):
        agents.parse_spec("mina:5")


def test_an_at_belongs_to_a_command_unless_a_limit_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.registry.KINDS", dict(KINDS))

    def parse(text: str, limit: agents.Limit) -> Mapping[str, object]:
        return {"command": text, **limit.params}

    fields: dict[str, Any] = {"example": "engine:x", "about": "an engine", "load": print, "limits": ("match_seconds",)}
    agents.register_kind(AgentKind(name="engine", parse=parse, command=True, **fields))
    for text, params in {
        "engine:ssh me@home /bin/x --y": {"command": "ssh me@home /bin/x --y"},
        "engine:ssh me@home@60s/match": {"command": "ssh me@home", "match_seconds": 60.0},
        "engine:x@1.5m/match": {"command": "x", "match_seconds": 90.0},
        "engine:x@": {"command": "x@"},
    }.items():
        assert agents.parse_spec(text).params == params
    with pytest.raises(AgentError, match=r"engine takes a game clock \(engine@60s/match\) and no other limit; got"):
        agents.parse_spec("engine:x@1s")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"name": "a b"},
            "name of an agent kind must begin with a letter, and contain only letters, digits, - and _; got 'a b'",
        ),
        ({"name": None}, "name of an agent kind must be a str, got None"),
        ({"about": 3}, "about of an agent kind must be a str, got 3"),
        ({"load": None}, "load of an agent kind must be a function, got None"),
        ({"parse": "x"}, "parse of an agent kind must be a function, got 'x'"),
        ({"limits": ("hours",)}, "limits of an agent kind must be among seconds, .*; got 'hours'"),
    ],
    ids=lambda x: next(iter(x)) if isinstance(x, dict) else "",
)
def test_what_is_no_kind_is_refused(changed: dict[str, Any], said: str) -> None:
    fields: dict[str, Any] = {"name": "new", "example": "new", "about": "new", "load": print, "parse": print}
    with pytest.raises(AgentError, match=said):
        AgentKind(**{**fields, **changed})
    with pytest.raises(AgentError, match="kind must be an AgentKind, got 3"):
        agents.register_kind(3)  # type: ignore[arg-type]


def test_a_word_that_was_made_by_hand_has_a_kind_or_none() -> None:
    assert agents.AgentSpec("x", "random", {}).kind.name == "random"
    with pytest.raises(AgentError, match="expected the name of an agent kind, got 'nobody'"):
        _ = agents.AgentSpec("x", "nobody", {}).kind


def test_a_limit_alone_says_nothing_else() -> None:
    assert limit_only("x")("", agents.Limit("x@1s", seconds=1.0)) == {"seconds": 1.0}
