"""The games of the papers load through the bridge and are trained for a short run without an error."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from training_runs import TINY

import athenan_spiel as ath
from athenan_spiel.cli.main import main

pytestmark = pytest.mark.usefixtures("ludii")

DESCRIPTIONS = Path(__file__).parents[2] / "examples" / "ludii"
GAMES = [
    "game=Amazons",
    "game=Arimaa",
    "game=Ataxx",
    "game=Breakthrough",
    "game=Brazilian Draughts",
    "game=Canadian Draughts",
    "game=International Draughts",
    "game=Clobber",
    "game=Connect6",
    "game=Gomoku",
    "game=Gomoku,options=Opening/Open-Outer",
    "game=Havannah,options=Board Size/8x8",
    "game=Havannah,options=Board Size/10x10",
    *(
        f"game=Hex,options=Board Size/{size}x{size};Swap Rules/{swap}"
        for size in (11, 13, 19)
        for swap in ("On", "Off")
    ),
    "game=Lines of Action",
    "game=Reversi",
    "game=Reversi,options=Board Size/10x10",
    "game=Santorini",
    "game=Shobu",
    "game=Surakarta",
    "game=Xiangqi",
    "game=Go,options=Board Size/9x9",
    f"file={DESCRIPTIONS / 'go_11.lud'}",
]
SHORT = dataclasses.replace(TINY, matches=2, matches_at_once=2, search=dataclasses.replace(TINY.search, iterations=1))


@pytest.mark.slow(reason="trains on two dozen games")
@pytest.mark.parametrize("parameters", GAMES)
def test_a_game_of_the_papers_is_trained(tmp_path: Path, parameters: str) -> None:
    text = f"ludii({parameters},max_length=6)"
    game = ath.load_game(text)
    assert game.num_players() == 2
    ath.train(game, SHORT, tmp_path / "run")
    assert ath.load_agent(tmp_path / "run").step(game.new_initial_state()) in game.new_initial_state().legal_actions()


@pytest.mark.slow(reason="Ludii takes up to a tenth of a second for a move of Morpion Solitaire")
@pytest.mark.parametrize(
    "parameters",
    [
        "game=Morpion Solitaire",
        *(f"file={DESCRIPTIONS / 'morpion_solitaire.lud'},options=Lines/{lines}" for lines in ("Disjoint", "Touching")),
    ],
)
def test_morpion_solitaire_is_for_one_player_and_trained_by_its_score(tmp_path: Path, parameters: str) -> None:
    game = ath.load_game(f"ludii({parameters},max_length=4)")
    assert game.num_players() == 1
    state = game.new_initial_state()
    while not state.is_terminal():
        assert state.returns() == [0]
        state.apply_action(state.legal_actions()[0])
    assert state.returns() == [4]
    ath.train(game, dataclasses.replace(SHORT, outcome="score"), tmp_path / "run")


@pytest.mark.parametrize("table", [2, 3, 4])
def test_the_articles_tables_at_full_scale_can_be_begun(table: int) -> None:
    path = DESCRIPTIONS.parent / "experiments" / "full" / f"table_{table}.toml"
    assert main(["experiment", str(path), "--check"]) == 0
