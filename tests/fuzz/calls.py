"""Calls of the Python API with what they cannot mean: each a line of Python that gives a value or one of our errors."""

from __future__ import annotations

import dataclasses
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from forked import Ended, run_forked
from sandbox import NAMED, Sandbox, changed
from verdict import LONGEST_MESSAGE, broken

GOOD: dict[str, tuple[str, ...]] = {
    "GAME": ("game", "hex3", "ath.load_game('connect_four')"),
    "GAME_STRING": ("'tic_tac_toe'", "'hex(board_size=3)'"),
    "STATE": ("state", "later"),
    "SEARCH": ("ath.Descent(game)", "ath.UBFM(game)", "ath.MCTS(game)", "ath.AlphaBeta(game)"),
    "BUDGET": ("ath.Budget(iterations=3)", "ath.Budget(evaluations=20)", "ath.Budget(seconds=0.01)"),
    "EVALUATOR": ("zeros", "agent.evaluator"),
    "RNG": ("random.Random(0)", "None"),
    "SEED": ("0", "5"),
    "COUNT": ("1", "2"),
    "REAL": ("0.01", "0.5"),
    "FOLDER": ("'runs/ttt'", "Path('runs/ttt')"),
    "NEW": ("'runs/new'",),
    "CONFIG": ("tiny", "ath.TrainingConfig(matches=1, search=ath.DescentConfig(iterations=1))"),
    "PLAYER": ("0", "1"),
    "BOT": ("bot", "agents.load_bot('random', game, 0)", "agent"),
    "OUTCOME": ("ath.gain", "'gain'"),
    "NAME": ("'x'", "'descent'", "'mcts'", "'random'", "'alphabeta'"),
    "WORD": ("'mcts:2'", "'runs/ttt@2i'", "'random'"),
    "PARAMS": ("{}", "{'iterations': 2}", "{'checkpoint': 'runs/ttt', 'iterations': 1}", "{'simulations': 2}"),
    "ACTION": ("state.legal_actions()[0]", "4"),
}
"""Expressions of each kind that are right, or nearly so."""
ODD = (
    *("None", "True", "0", "-1", "1.5", "float('nan')", "float('inf')", "-float('inf')", "10**30", "10**4000"),
    *("-10**400", "2**31", "2**63", "''", "'x'", "'tic_tac_toe'", "'kuhn_poker'", "'\\x00'", "'\\ud800'"),
    *("'x' * 100000", "b'x'", "[]", "()", "{}", "{1: 2}", "object()", "[None]", "[[1]]", "lambda *a: None"),
    *("lambda *a: float('nan')", "lambda *a: 'x'", "explodes", "int", "range(5)", "iter([])", "1j", "np.zeros(3)"),
    *("np.int64(3)", "np.float32('nan')", "np.array(None)", "np.zeros((2, 2))", "torch.zeros(2)", "Path('x')"),
    *("Path('fifo')", "game", "state", "terminal", "chance", "other", "simultaneous", "agent", "bot", "tiny"),
    *("ath.load_game", "ath.Descent(hex3)", "hex3", "pyspiel.load_game('kuhn_poker')"),
    *("pyspiel.load_game('matrix_rps')", "pyspiel.load_game('catch')", "pyspiel.load_game('tiny_hanabi')"),
    *("pyspiel.load_game('tic_tac_toe')", "pyspiel.load_game('chess')", "ath.load_game('hex(board_size=2)')"),
    *("random.Random(1)", "zeros", "'runs/missing'", "'fifo'", "'/dev/zero'", "'runs/ttt/config.toml'", "'runs'"),
    *("'.'", "'loop'", f"'{NAMED}:worth'", "short", "infinite", "not_numbers", "none_values"),
    *("huge_values", "ath.Budget(iterations=1)", "ath.ProofBounds(iterations=1)"),
)
"""Expressions that may stand anywhere."""
TEMPLATES = (
    "ath.load_game(GAME_STRING)",
    "ath.check_game(GAME)",
    "ath.unmet_conditions(GAME)",
    "ath.score(STATE)",
    "ath.piece_counts(STATE)",
    "ath.gain(STATE)",
    "ath.Descent(GAME, outcome=OUTCOME)",
    "ath.UBFM(GAME, outcome=ath.gain)",
    "ath.MCTS(GAME, exploration_constant=REAL, virtual_loss_batch=COUNT)",
    "ath.AlphaZeroMCTS(GAME, exploration_constant=REAL, root_noise=REAL, dirichlet_alpha=REAL)",
    "ath.GumbelMCTS(GAME, considered_actions=COUNT, root_noise=REAL)",
    "ath.ExItMCTS(GAME, exploration_constant=REAL, prior_weight=REAL, value_weight=REAL)",
    "ath.AlphaBeta(GAME, depth=COUNT)",
    "ath.Budget(seconds=REAL)",
    "ath.Budget(iterations=COUNT)",
    "ath.Budget(evaluations=COUNT)",
    "ath.think(SEARCH, STATE, BUDGET, EVALUATOR)",
    "ath.think(SEARCH, STATE, BUDGET, EVALUATOR, rng=RNG)",
    "ath.think(ath.Descent(game), STATE, BUDGET, EVALUATOR)",
    "ath.think(ath.Descent(game), state, BUDGET, EVALUATOR, tree=ath.Descent(GAME).new_tree())",
    "ath.think(ath.Descent(game), STATE, ath.Budget(iterations=2), zeros, tree=SEARCH)",
    "ath.solve(GAME, bounds=ath.ProofBounds(iterations=3))",
    "ath.solve(game, STATE, bounds=ath.ProofBounds(iterations=COUNT))",
    "ath.solve(game, algorithm=NAME, bounds=ath.ProofBounds(seconds=REAL))",
    "ath.solve(game, evaluator=EVALUATOR, outcome=OUTCOME, bounds=ath.ProofBounds(megabytes=REAL))",
    "ath.solve(game, rng=RNG, bounds=BUDGET)",
    "ath.Agent(GAME, SEARCH, EVALUATOR, budget=BUDGET).step(STATE)",
    "ath.Agent(game, ath.UBFM(game), EVALUATOR, budget=BUDGET, rng=RNG).think(STATE)",
    "agent.step(STATE)",
    "agent.think(STATE)",
    "agent.policy(STATE)",
    "agent.restart_at(STATE)",
    "bot.step(STATE)",
    "bot.step_with_policy(STATE)",
    "bot.get_policy(STATE)",
    "bot.restart_at(STATE)",
    "bot.inform_action(STATE, PLAYER, ACTION)",
    "bot.inform_actions(STATE, [ACTION])",
    "ath.play_match(GAME, [BOT, BOT])",
    "ath.play_match(game, BOT)",
    "ath.play_match(game, [BOT, bot], opening=[ACTION])",
    "ath.play_series(GAME, lambda p: BOT, lambda p: bot, COUNT, opening_plies=COUNT, seed=SEED)",
    "ath.preset(NAME)",
    "ath.register_outcome(NAME, OUTCOME)",
    "ath.load_agent(FOLDER)",
    "ath.load_agent(FOLDER, checkpoint=COUNT)",
    "ath.load_agent('runs/ttt', seconds=REAL, seed=SEED).step(STATE)",
    "ath.load_agent('runs/ttt', budget=BUDGET, search=NAME).step(STATE)",
    "ath.load_agent('runs/ttt', engine=ath.EngineConfig())",
    "ath.load_agent('runs/ttt', outcome=OUTCOME)",
    "ath.train(GAME, CONFIG, NEW)",
    "ath.train(GAME_STRING, tiny, NEW)",
    "ath.train(game, tiny, 'runs/new', milestones=[REAL], callbacks=[zeros])",
    "ath.train(game, tiny, 'runs/new', callbacks=NAME)",
    "ath.train(game, tiny, 'runs/new', stop=NAME)",
    "ath.train(game, dataclasses.replace(tiny, outcome=NAME), 'runs/new')",
    "ath.resume(FOLDER, more_matches=COUNT)",
    "ath.resume('runs/ttt', more_matches=COUNT)",
    "ath.resume('runs/ttt', more_seconds=REAL)",
    "ath.resume('runs/ttt', more_matches=1, outcome=OUTCOME)",
    "agents.load_bot(NAME, GAME, PLAYER, PARAMS)",
    "agents.load_bot('athenan', game, PLAYER, PARAMS).step(STATE)",
    "agents.load_bot('athenan', GAME, 0, {'checkpoint': FOLDER, 'iterations': COUNT, 'seed': SEED})",
    "agents.load_bot('mcts', game, 0, {'simulations': COUNT, 'seed': SEED}).step(state)",
    "agents.load_bot('alphabeta', game, 0, {'depth': COUNT, 'iterations': 2}).step(STATE)",
    "agents.load_bot('random', GAME, 0, {'seed': SEED}).step(state)",
    "agents.make_bot(WORD, GAME, PLAYER, SEED)",
    "agents.parse_spec(WORD)",
    "agents.register_bot(NAME, OUTCOME)",
    "settings_from_toml(NAME)",
    "settings_to_toml(GAME_STRING, CONFIG)",
    "dataclasses.replace(tiny, search=CONFIG)",
)
"""Calls; a word in capitals stands for an expression of that kind, or an odd one."""
_SETTINGS = (
    *("EncodingConfig", "EngineConfig", "EvaluationConfig", "ExplorationConfig", "LearnerConfig", "NetworkConfig"),
    *("AlphaBetaConfig", "DescentConfig", "ExitConfig", "GumbelConfig", "MctsConfig", "PuctConfig", "UbfmConfig"),
    *("ReplayConfig", "TargetsConfig", "TrainingConfig", "WarmUpConfig", "Budget", "ProofBounds"),
)
_KIND = re.compile(r"\b[A-Z_]{3,}\b")
_ANSWERS = "ANSWER "


def draw(rng: random.Random) -> str:
    """A call with something odd in it."""
    if rng.random() < 0.25:
        import athenan_spiel as ath

        name = rng.choice(_SETTINGS)
        fields = [field.name for field in dataclasses.fields(getattr(ath, name))]
        given = {rng.choice(fields): rng.choice(ODD) for _ in range(rng.choice((1, 1, 2)))}
        return f"ath.{name}({', '.join(f'{field}={value}' for field, value in given.items())})"
    template = rng.choice(TEMPLATES)
    places = [match for match in _KIND.finditer(template) if match[0] in GOOD]
    if not places:
        return template
    odd = rng.sample(places, 1 if rng.random() < 0.8 else min(2, len(places)))
    call = template
    for match in reversed(places):
        value = rng.choice(ODD if match in odd else GOOD[match[0]])
        call = call[: match.start()] + value + call[match.end() :]
    return call


def try_call(call: str, sandbox: Sandbox) -> tuple[Ended, list[str]]:
    """Evaluate the call in its sandbox: how that ended, and what it broke."""
    before = sandbox.snapshot()
    ended = run_forked(
        lambda: _evaluate(call), folder=sandbox.work, environment=sandbox.environment(), notes=sandbox.root / "notes"
    )
    # In an interpreter of one's own the current folder is on the path.
    ended = dataclasses.replace(ended, deeds=tuple(deed for deed in ended.deeds if deed[0] != "import"))
    faults = [*broken(ended, sandbox.root), *_broken_by_answer(ended)]
    allowed = ("work/runs/new", "work/runs/ttt") if "ath.resume" in call else ("work/runs/new",)
    if "ath.train" in call:  # wherever the call says
        allowed = ("work", "home/.local")
    faults += [f"outside: changed {path}" for path in changed(before, sandbox.snapshot(), allowed)]
    if where := sandbox.code_was_run():
        faults.append(f"code: ran {where}")
    return ended, faults


def _evaluate(call: str) -> int:
    """Evaluate a call, and write what it gave to standard error."""
    from athenan_spiel.errors import AthenanError
    from ludii_bridge.errors import LudiiError

    names = _names()
    sys.path.insert(0, "")  # as in an interpreter of one's own
    try:
        value = eval(call, names)
        print(f"{_ANSWERS}{type(value).__name__}", file=sys.stderr)
    except (AthenanError, LudiiError) as error:
        print(f"{_ANSWERS}{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    except _OwnError:
        print(f"{_ANSWERS}own", file=sys.stderr)
    except KeyboardInterrupt:  # it was asked for years of work
        print(f"{_ANSWERS}interrupted", file=sys.stderr)
        return 130
    return 0


class _OwnError(Exception):
    """What a function of the caller's own raises."""


def _names() -> dict[str, Any]:
    """What the calls may name."""
    import random as random_module

    import numpy as np
    import pyspiel
    import torch
    from training_runs import TINY

    import agents
    import athenan_spiel as ath
    from athenan_spiel.training import settings_from_toml, settings_to_toml

    game = ath.load_game("tic_tac_toe")
    state, later, terminal = (_played(game, actions) for actions in ([], [4, 0], [0, 3, 1, 4, 2]))
    agent = ath.load_agent("runs/ttt", budget=ath.Budget(iterations=2))

    def answers(value: Any) -> Callable[[Sequence[Any]], Any]:
        return lambda states=(): np.full(len(states), value)

    def explodes(*arguments: Any) -> None:
        raise _OwnError

    return {
        **{
            "ath": ath,
            "agents": agents,
            "np": np,
            "torch": torch,
            "pyspiel": pyspiel,
            "Path": Path,
            "random": random_module,
        },
        **{
            "dataclasses": dataclasses,
            "game": game,
            "state": state,
            "later": later,
            "terminal": terminal,
            "agent": agent,
        },
        "settings_from_toml": settings_from_toml,
        "settings_to_toml": settings_to_toml,
        "hex3": ath.load_game("hex(board_size=3)"),
        "other": ath.load_game("connect_four").new_initial_state(),
        "chance": pyspiel.load_game("kuhn_poker").new_initial_state(),
        "simultaneous": pyspiel.load_game("matrix_rps").new_initial_state(),
        "bot": agents.load_bot("athenan", game, 0, {"checkpoint": "runs/ttt", "iterations": 1}),
        "tiny": dataclasses.replace(TINY, matches=3),
        "zeros": answers(0.0),
        "short": lambda *states: np.zeros(1),
        "infinite": answers(np.inf),
        "not_numbers": lambda states=(): ["x"] * len(states),
        "none_values": lambda *states: None,
        "huge_values": answers(1e308),
        "explodes": explodes,
    }


def _played(game: Any, actions: Sequence[int]) -> Any:
    state = game.new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state


def _broken_by_answer(ended: Ended) -> Iterator[str]:
    """An answer is a value or one error of ours, of one or two lines; nothing else is printed."""
    if ended.hung or ended.code < 0 or "Traceback (most" in ended.stderr:
        return
    printed, marker, answer = ended.stderr.partition(_ANSWERS)
    if not marker:
        yield f"exit code: {ended.code}, {ended.stderr[-200:]!r}"
    if len(answer.splitlines()) > 2 or len(answer) > LONGEST_MESSAGE:
        yield f"message: {len(answer):,} characters in {len(answer.splitlines())} lines: {answer[:150]!r}"
    if printed or ended.stdout:
        yield f"stdout: the library printed {(printed + ended.stdout)[:200]!r}"
