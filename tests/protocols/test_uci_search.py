"""What is reported of a search by UCI: one selection, a restricted search, its depth, and mates."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel
import pytest
from clocks import HANG_SECONDS
from oracles.plain_minimax import PlainMinimax
from uci_conversation import Conversation, line_of, noise, pairs_of, zeros

from athenan_spiel.config.settings import LONGEST
from athenan_spiel.games.calibration import Calibration
from athenan_spiel.play import background_search
from athenan_spiel.protocols.uci_go import Go, score_words, wdl_words
from athenan_spiel.search.drive import Budget
from athenan_spiel.search.policy import SoftPolicy
from athenan_spiel.search.result import ranking


def positions(ours: Conversation, count: int, longest: int, rng: random.Random) -> list[str]:
    """Positions after random moves, in which a move can be made, as the words after `position`."""
    game, uci = ours.agent.game, ours.server._uci
    found: list[str] = []
    while len(found) < count:
        state, moves = game.new_initial_state(), []
        for _ in range(rng.randrange(longest)):
            turns = uci.turns(state)
            moves.append(rng.choice(sorted(turns)))
            for action in turns[moves[-1]]:
                state.apply_action(action)
            if state.is_terminal():
                break
        if not state.is_terminal():
            found.append("startpos" + (f" moves {' '.join(moves)}" if moves else ""))
    return found


def require_one_selection(lines: Sequence[str]) -> None:
    *infos, best = lines
    assert infos[-1].startswith("info depth ")
    assert line_of(infos[-1])[0] == best.removeprefix("bestmove ")


@pytest.mark.parametrize("search", ["ubfm_k", "ubfm_s", "ubfm", "descent", "alphabeta", "mcts"])
@pytest.mark.parametrize(("name", "longest"), [("breakthrough", 20), ("tic_tac_toe", 5)])
@pytest.mark.parametrize("evaluator", [zeros, noise])
def test_the_best_move_is_the_first_of_the_last_line(search: str, name: str, longest: int, evaluator: Any) -> None:
    ours, rng = Conversation(name, evaluator, search), random.Random(1)
    for position in positions(ours, 40, longest, rng):
        require_one_selection(ours.go(f"position {position}", f"go nodes {rng.randrange(20, 201)}"))


@pytest.mark.parametrize("search", ["ubfm_k", "alphabeta", "mcts"])
def test_so_it_is_by_time_and_where_it_is_stopped(search: str) -> None:
    ours, rng = Conversation("breakthrough", noise, search), random.Random(2)
    for position in positions(ours, 6, 20, rng):
        require_one_selection(ours.go(f"position {position}", "go movetime 40"))
        ours.server._answer(["go", "infinite"])
        time.sleep(rng.random() / 50)
        require_one_selection(ours.go("stop"))


@pytest.mark.parametrize("limit", ["infinite", "mate 9"])
def test_a_search_ends_when_memory_is_short(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `go infinite`, `bestmove` still waits for `stop`."""
    ours = Conversation("breakthrough", noise)
    monkeypatch.setattr(background_search, "free_memory", lambda: 0)
    ours.agent.budget = Budget(seconds=LONGEST)
    ours.server._answer(["go", *limit.split()])
    search = ours.server._search
    assert search is not None
    until = time.monotonic() + 30
    while not search.is_short_of_memory and time.monotonic() < until:
        time.sleep(0.01)
    evaluations = search.evaluations
    time.sleep(0.2)
    assert search.evaluations == evaluations
    assert search.is_over is (limit != "infinite")
    require_one_selection([line for line in ours.go("stop") if not line.startswith("info string")])


def test_so_it_is_where_an_iteration_is_given_up() -> None:
    def slow(states: Sequence[pyspiel.State]) -> Any:
        time.sleep(0.02)
        return noise(states)

    ours = Conversation("breakthrough", slow, "mcts")
    ours.agent.search.virtual_loss_batch = 20  # type: ignore[attr-defined]
    ours.agent.search.batched = False
    lines = ours.go("go movetime 300")
    require_one_selection(lines)


def test_so_it_is_in_turns_of_several_actions() -> None:
    ours, rng = Conversation("amazons", noise), random.Random(3)
    for position in positions(ours, 4, 3, rng):
        require_one_selection(ours.go(f"position {position}", "go nodes 400"))


@pytest.mark.parametrize("search", ["ubfm_s", "mcts"])
def test_whole_turns_are_chosen_from(search: str) -> None:
    """One arrow from a4b4 looks bad for White and all others good: only the first is allowed."""
    bad, allowed = "a4b4,b4b10", ("a4b4,b4b10", "a4c4,c4c10")
    ours = Conversation("amazons", zeros, search)
    start = ours.agent.game.new_initial_state()
    turn, sign = ours.server._uci.read(start, bad), 1 if start.current_player() == 0 else -1

    def judged(states: Sequence[pyspiel.State]) -> Any:
        histories = [tuple(state.history()[:3]) for state in states]
        return np.array([sign * (-0.9 if h == turn else 0.9 if h[:2] == turn[:2] else 0.0) for h in histories])

    ours.agent.evaluator = judged
    lines = ours.go("position startpos", f"go nodes 1000 searchmoves {' '.join(allowed)}")
    assert lines[-1] == "bestmove a4c4,c4c10"
    assert {line_of(line)[0] for line in lines if " pv " in line} <= set(allowed)
    require_one_selection(lines)


def test_a_decision_that_draws_is_asked_once() -> None:
    ours = Conversation("tic_tac_toe", noise)
    ours.agent.decision = SoftPolicy(1000.0)
    for _ in range(20):
        require_one_selection(ours.go("ucinewgame", "position startpos", "go nodes 50"))


def test_the_score_is_that_of_the_move() -> None:
    """The most visited action need not be the one of the best value, which is the state's."""
    ours = Conversation("breakthrough", noise, "ubfm_s")
    differ = 0
    for nodes in range(40, 400, 15):
        *infos, best = ours.go("ucinewgame", "position startpos", f"go nodes {nodes}")
        result = ours.agent.result
        assert result is not None
        (action,) = ours.server._uci.read(result.state, best.removeprefix("bestmove "))
        value = float(result.values[result.actions.tolist().index(action)])
        differ += value != result.value
        assert f" {score_words(0.5 + 0.5 * value, 0, 1, resolved=False)} " in infos[-1]
    assert differ


@pytest.mark.parametrize("search", ["ubfm_k", "descent", "alphabeta", "mcts"])
def test_the_search_is_restricted_to_the_moves_to_choose_from(search: str) -> None:
    begins: set[int] = set()

    def watched(states: Sequence[pyspiel.State]) -> Any:
        begins.update(state.history()[0] for state in states if state.history())
        return noise(states)

    ours = Conversation("breakthrough", watched, search)
    start = ours.agent.game.new_initial_state()
    allowed = {ours.server._uci.read(start, move)[0] for move in ("a2a3", "h2g3")}
    *infos, best = ours.go("position startpos", "go nodes 200 searchmoves a2a3 h2g3")
    assert begins == allowed
    assert best.removeprefix("bestmove ") in ("a2a3", "h2g3")
    require_one_selection([*infos, best])


def test_a_win_elsewhere_is_not_reported_of_the_moves_to_choose_from() -> None:
    """White wins at once by e7d8 and e7f8."""
    moves = "f2e3 f7g6 b2b3 g7f6 g1f2 c7d6 e3d4 f6e5 c2d3 g8f7 f2g3 d7e6 d4c5 e7f6 c5d6 b8c7 d6e7 f8g7"
    position = f"position startpos moves {moves}"
    ours = Conversation("breakthrough")
    for _ in range(2):  # the second time after the restricted search, with the same tree
        *infos, best = ours.go(position, "go nodes 300")
        assert " score mate 1 " in infos[-1]
        assert best in ("bestmove e7d8", "bestmove e7f8")
        *infos, best = ours.go(position, "go nodes 300 searchmoves a1b2")
        assert line_of(infos[-1])[0] == "a1b2" == best.removeprefix("bestmove ")
        assert " score mate 1 " not in infos[-1]


def test_moves_to_choose_from_that_are_not_legal() -> None:
    ours = Conversation("breakthrough")
    lines = ours.go("position startpos", "go nodes 50 searchmoves a2a4 h2h3")
    assert lines[0] == "info string expected legal moves after searchmoves, got 'a2a4'"
    assert lines[-1] == "bestmove h2h3"
    *reasons, best = ours.go("position startpos", "go nodes 50 searchmoves a2a4 zz")
    assert reasons[0] == "info string expected legal moves after searchmoves, got 'a2a4' and 1 more"
    assert "searchmoves has no legal move" in reasons[1]
    assert best == "bestmove 0000"


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_alpha_beta_searches_to_a_depth(depth: int) -> None:
    ours = Conversation("breakthrough(rows=6,columns=4)", noise, "alphabeta(1)")
    for _ in range(2):  # the second time the tree has it
        lines = ours.go("position startpos", f"go depth {depth}")
        assert lines[-2].startswith(f"info depth {depth} ")
        require_one_selection(lines)
    assert ours.agent.search.depth == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(("search", "told"), [("ubfm_k", "lines of different lengths"), ("mcts", "no limit here")])
def test_other_searches_say_what_a_depth_comes_to(search: str, told: str) -> None:
    ours = Conversation("breakthrough", zeros, search)
    first, *rest = ours.go("position startpos", "go depth 4")
    assert first.startswith("info string depth 4 is no limit here, as ")
    assert told in first
    assert first.endswith("the agent's own limit holds")
    require_one_selection(rest)
    assert ours.go("go depth 4 nodes 30")[0].endswith("the other limits hold")


def test_a_mate_in_so_many_moves() -> None:
    two = "position fen 7k/8/8/8/8/8/R7/1R5K w - - 0 1"  # 1. Ra7 and 2. Rb8 mate
    ours = Conversation("chess", zeros, "alphabeta")
    lines = ours.go(two, "go mate 2")
    assert " score mate 2 " in lines[-2]
    require_one_selection(lines)
    told, *rest = ours.go("ucinewgame", two, "go mate 1")
    assert told == "info string no mate in 1 found"
    require_one_selection(rest)
    told, *rest = Conversation("chess", zeros, "descent").go(two, "go mate 2 nodes 30")
    assert (
        told
        == "info string mate 2 is no limit here, as Descent ends once the position is proven: the other limits hold"
    )
    require_one_selection(rest)
    assert "MCTS proves no mate" in Conversation("chess", zeros, "mcts").go(two, "go mate 2 nodes 30")[0]


def test_the_depth_of_a_mate_ends_with_it() -> None:
    depths = {"depth 4": 4, "mate 3": 5, "depth 9 mate 3": 5, "depth 0": 1, "nodes 5": None}
    assert {words: Go.read(words.split()).depth for words in depths} == depths


@pytest.mark.parametrize(
    "words",
    ["movetime 0", "movetime -5", "wtime 0 btime 0", "wtime -100 btime -100", "nodes 0", "movetime 0 searchmoves a2a3"],
)
@pytest.mark.parametrize("search", ["ubfm_k", "alphabeta", "mcts"])
@pytest.mark.parametrize("seconds", [0.0, 0.2])
def test_without_time_there_is_a_line_before_the_move(words: str, search: str, seconds: float) -> None:
    def slow(states: Sequence[pyspiel.State]) -> Any:
        time.sleep(seconds)
        return noise(states)

    require_one_selection(Conversation("breakthrough", slow, search).go("position startpos", f"go {words}"))


def test_stopped_before_anything_is_found_the_move_is_random_and_told() -> None:
    def endless(states: Sequence[pyspiel.State]) -> Any:
        time.sleep(0.5)
        return noise(states)

    ours = Conversation("breakthrough", endless, "mcts")
    ours.agent.search.virtual_loss_batch = 20  # type: ignore[attr-defined]
    ours.agent.search.batched = False
    ours.server._answer(["go", "infinite", "searchmoves", "a2a3", "b2b3"])
    lines = ours.go("stop")
    assert lines[0] == "info string stopped before the search had a result: the move is random"
    assert lines[-1] in ("bestmove a2a3", "bestmove b2b3")
    require_one_selection(lines)


# Several lines.


def last_lines(lines: Sequence[str], count: int) -> list[str]:
    """The last report of a search, whose line 1 begins with the move; the lines have different first moves."""
    *infos, best = lines
    last, before = infos[-count:], infos[:-count]
    assert count == 1 or not before or pairs_of(before[-1]).get("multipv") != "1"
    assert [pairs_of(info)["multipv"] for info in last] == [str(k) for k in range(1, count + 1)]
    firsts = [line_of(info)[0] for info in last]
    assert firsts[0] == best.removeprefix("bestmove ")
    assert len({*firsts}) == count
    return last


@pytest.mark.parametrize("search", ["ubfm_k", "ubfm", "descent", "alphabeta", "mcts"])
def test_the_lines_are_those_of_the_decision(search: str) -> None:
    """Each has the score and the variation of its own action; there are as many as legal moves at most."""
    ours, rng = Conversation("breakthrough(rows=5,columns=3)", noise, search), random.Random(4)
    uci = ours.server._uci
    ours.tell("setoption name MultiPV value 6", "setoption name UCI_ShowWDL value true")
    fewer = 0
    for position in positions(ours, 25, 12, rng):
        lines = ours.go("ucinewgame", f"position {position}", f"go nodes {rng.randrange(20, 300)}")
        result = ours.agent.result
        assert result is not None
        assert result.state is not None
        count = min(6, len(result.actions))
        fewer += count < 6
        last, actions, sign = last_lines(lines, count), result.actions.tolist(), result.node.kind.won
        for info, i in zip(last, ranking(result), strict=False):
            assert line_of(info)[0] == uci.write(result.state, (actions[i],))
            value, completion = sign * float(result.values[i]), sign * int(result.completions[i])
            resolved, turns = bool(result.resolved[i]), len(line_of(info))
            expected = 0.5 + 0.5 * (completion if resolved else value)
            assert f" {score_words(expected, completion, turns, resolved=resolved)} " in info
            assert f" {wdl_words(expected, float(resolved and not completion))} " in info
            state = result.state.clone()
            for move in line_of(info):
                for action in uci.read(state, move):
                    state.apply_action(action)
    assert fewer


def test_alpha_beta_has_a_value_for_each_line() -> None:
    """Its other actions have bounds, which are no scores."""
    ours = Conversation("breakthrough(rows=6,columns=4)", noise, "alphabeta")
    state = ours.agent.game.new_initial_state()
    pairs = PlainMinimax(noise).action_pairs(state, 3)
    sign = 1 if state.current_player() == 0 else -1
    best = sorted((sign * value for _, value in pairs), reverse=True)
    for count in (4, 2, 5):  # also with the tree of the last search
        ours.tell(f"setoption name MultiPV value {count}")
        last = last_lines(ours.go("position startpos", "go depth 3"), count)
        scores = [f" {score_words(0.5 + 0.5 * value, 0, 1, resolved=False)} " for value in best[:count]]
        assert all(score in info for score, info in zip(scores, last, strict=True))
        assert {pairs_of(info)["depth"] for info in last} == {"3"}


@pytest.mark.parametrize("search", ["ubfm_k", "alphabeta", "mcts"])
def test_the_lines_are_among_the_moves_to_choose_from(search: str) -> None:
    ours = Conversation("breakthrough", noise, search)
    ours.tell("setoption name MultiPV value 3")
    allowed = ["a2a3", "h2g3", "c2c3", "d2d3"]
    last = last_lines(ours.go("position startpos", f"go nodes 300 searchmoves {' '.join(allowed)}"), 3)
    assert {line_of(info)[0] for info in last} <= {*allowed}
    last_lines(ours.go("position startpos", f"go nodes 300 searchmoves {' '.join(allowed[:2])}"), 2)


@pytest.mark.parametrize("search", ["ubfm_k", "alphabeta", "mcts"])
def test_the_lines_of_a_pondering_search(search: str) -> None:
    ours = Conversation("breakthrough", noise, search)
    ours.tell("setoption name MultiPV value 4")
    for command in ("ponderhit", "stop"):
        ours.server._answer(["position", "startpos", "moves", "a2a3"])
        ours.server._answer(["go", "ponder", "wtime", "1000", "btime", "1000"])
        reports: list[str] = []
        until = time.monotonic() + HANG_SECONDS
        while len(reports) < 4 and time.monotonic() < until:  # the first report comes after a second
            time.sleep(0.1)
            reports += [info for info in ours.take() if info.startswith("info depth")]
        assert [pairs_of(info)["multipv"] for info in reports][:4] == list("1234")
        last_lines(ours.go(command), 4)


@pytest.mark.parametrize("search", ["ubfm_k", "mcts"])
def test_the_lines_of_a_turn_of_several_actions(search: str) -> None:
    """They are whole turns, the best of those that the searches of its parts have met."""
    ours = Conversation("amazons", noise, search)
    ours.tell("setoption name MultiPV value 3", "setoption name UCI_ShowWDL value true")
    start, uci = ours.agent.game.new_initial_state(), ours.server._uci
    last = last_lines(ours.go("position startpos", "go nodes 900"), 3)
    turns = [uci.read(start, line_of(info)[0]) for info in last]
    assert {len(turn) for turn in turns} == {3}
    ranks = [int(pairs_of(info)["cp"]) for info in last[1:]]
    assert ranks == sorted(ranks, reverse=True)
    ours.tell("setoption name MultiPV value 256")
    *infos, _ = ours.go("ucinewgame", "position startpos", "go nodes 900")
    first = next(i for i in reversed(range(len(infos))) if pairs_of(infos[i]).get("multipv") == "1")
    turns = [uci.read(start, line_of(info)[0]) for info in infos[first:]]
    assert len({*turns}) == len(turns) > 20
    if search == "ubfm_k":  # its best lines are long
        assert min(len({turn[:k] for turn in turns}) for k in (1, 2, 3)) > 1  # alternatives to each action
    ours.tell("setoption name MultiPV value 3")
    only = ["a4b4,b4b10", "a4c4,c4c10", "a4c4,c4d4", "a4b4,b4c4"]
    last = last_lines(ours.go("position startpos", f"go nodes 600 searchmoves {' '.join(only)}"), 3)
    assert {line_of(info)[0] for info in last} <= {*only}
    ranks = [int(pairs_of(info)["cp"]) for info in last]
    assert ranks == sorted(ranks, reverse=True)


def test_a_single_line_has_no_number() -> None:
    ours = Conversation("tic_tac_toe", noise)
    ours.tell("setoption name MultiPV value 3", "setoption name MultiPV value 1")
    assert not any("multipv" in line or "wdl" in line for line in ours.go("position startpos", "go nodes 50"))


def test_proofs_as_shares() -> None:
    """White wins at c1; elsewhere Black draws or wins, if that is proven."""
    ours = Conversation("tic_tac_toe", zeros, "ubfm")
    ours.tell("setoption name MultiPV value 9", "setoption name UCI_ShowWDL value true")
    moves = "P@a1 P@a2 P@b1 P@b2"
    last = last_lines(ours.go(f"position startpos moves {moves}", "go nodes 1000"), 5)
    assert " score mate 1 wdl 1000 0 0 " in last[0]
    for info in last[1:]:
        if "mate -" in info:
            assert " wdl 0 0 1000 " in info
    drawn = "P@a1 P@b1 P@c1 P@b2 P@a2 P@c2 P@b3 P@a3"
    lines = ours.go(f"position startpos moves {drawn}", "go nodes 100")
    assert " score cp 0 wdl 0 1000 0 " in last_lines(lines, 1)[0]
    assert ours.go(f"position startpos moves {drawn} P@c3", "go nodes 9")[0] == "info depth 0 score cp 0 wdl 0 1000 0"
    lost = f"{moves} P@c1"
    assert ours.go(f"position startpos moves {lost}", "go nodes 9")[0] == "info depth 0 score mate 0 wdl 0 0 1000"


def test_scores_are_calibrated() -> None:
    """The same values say more with a steeper calibration, and draws are taken from it."""
    ours = Conversation("breakthrough", noise, "ubfm")
    ours.tell("setoption name UCI_ShowWDL value true")
    found = {}
    for slope in (0.5, 5.0):
        ours.agent.search.calibration = Calibration(slope=slope, intercept=0.25, draws=0.5)
        *infos, _ = ours.go("ucinewgame", "position startpos", "go nodes 60")
        result = ours.agent.result
        assert result is not None
        value = float(result.values[result.actions.tolist().index(result.action)])
        score = 1 / (1 + math.exp(-(0.25 + slope * value)))  # Black, player 0, is to move
        assert f" {score_words(score, 0, 1, resolved=False)} " in infos[-1]
        assert f" {wdl_words(score, 0.5 * 4 * score * (1 - score))} " in infos[-1]
        found[slope] = score
    assert len(set(found.values())) == 2
