"""`athenan solve`: proves the result of a position, with a line of best play."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from athenan_spiel.cli.console import print_json, progress, say
from athenan_spiel.cli.exit_codes import DONE, STOPPED, UNPROVEN
from athenan_spiel.cli.options import AllowCode, LudiiMemory, allowed, parse_duration
from athenan_spiel.cli.parsing import parse
from athenan_spiel.cli.waiting import Waiting
from athenan_spiel.config.search import SolverName
from athenan_spiel.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyspiel

    from athenan_spiel.evaluators.base import Evaluator
    from athenan_spiel.games.calibration import Calibration
    from athenan_spiel.solving.solver import Proof

SHOWN = 12
"""Maximum number of moves of the best line shown during the search."""
REDRAW_SECONDS = 0.2
ENDINGS = {
    "seconds": "the limit --time was reached",
    "iterations": "the limit --iterations was reached",
    "megabytes": "the limit --megabytes was reached",
}
"""Message about a search that ended without a proof, by the name of the limit."""


@dataclass(frozen=True, kw_only=True)
class SolveArguments:
    """Prove a position of GAME: its result, the best move, and a line of best play to the end of the game.

    In a game with chance the result is the expected score over all outcomes, and the line ends at the first roll.

    The network of a trained run makes proofs faster, often by far. Proofs are exact with and without it. The exit code
    is 0 for a proof, and 3 if a limit was reached first; the printed result is then an estimate.

    Example: athenan solve "hex(board_size=5)" --moves c3 --run runs/hex5
    """

    game: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="GAME")]
    """OpenSpiel game string, such as tic_tac_toe or "hex(board_size=4)"."""
    moves: Annotated[tuple[str, ...], tyro.conf.arg(metavar="MOVE [MOVE ...]")] = ()
    """Moves that lead to the position, as OpenSpiel writes them or by number, rolls included; default: the initial
    position."""
    run: Annotated[str | None, tyro.conf.arg(metavar="RUN")] = None
    """Run of the game, or runs/NAME#640 for one of its checkpoints, whose network evaluates the states; default: no
    evaluation."""
    search: Literal["auto", SolverName] = "auto"
    """Search algorithm. `auto`: proof_numbers without RUN and --iterations, if it is compiled and suits the game, else
    descent."""
    outcome: str | None = None
    """Terminal value of a game; default: the outcome of the run, without a run the gain."""
    allow_code: AllowCode = ()
    """Custom outcome of the run, which may be imported. Without it, the gain times the run's scale is used."""
    ludii_memory: LudiiMemory = None
    time: Annotated[str | None, tyro.conf.arg(metavar="TIME")] = None
    """Time limit, such as 90s or 1h; default: no limit."""
    iterations: int | None = None
    """Limit of search iterations; default: no limit."""
    megabytes: float | None = 4000.0
    """Memory limit of the search, in MB; the search also ends when hardly any memory is free. A position in the tree
    takes about 0.002 MB."""
    seed: int = 0
    """Random seed of the choice between equal moves."""
    raw: tyro.conf.FlagCreatePairsOff[bool] = False
    """Show estimates in units of the outcome instead of expected scores in percent."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print one JSON document."""


def run(words: Sequence[str]) -> int:
    """Run `athenan solve` with these words; returns the exit code."""
    arguments = parse(SolveArguments, words, "athenan solve")
    seconds = parse_duration(arguments.time) if arguments.time is not None else None
    from athenan_spiel.games import load_game
    from athenan_spiel.games.moves import position
    from athenan_spiel.solving.solver import ProofBounds, solve

    bounds = ProofBounds(seconds=seconds, iterations=arguments.iterations, megabytes=arguments.megabytes)
    game = load_game(arguments.game)
    state = position(game, arguments.moves)
    evaluator, outcome, calibration = _evaluation(game, arguments)
    view = _View(lambda proof: _text(game, state, proof, calibration, raw=arguments.raw), state, seconds)
    try:
        with view:
            proof = solve(
                game,
                state,
                algorithm=None if arguments.search == "auto" else arguments.search,
                evaluator=evaluator,
                outcome=outcome,
                bounds=bounds,
                rng=random.Random(arguments.seed),
                on_progress=view.show,
            )
    except KeyboardInterrupt:
        if view.proof is None:
            raise
        _report(game, state, view.proof, calibration, arguments)
        say("stopped; this is the last intermediate result")
        return STOPPED
    _report(game, state, proof, calibration, arguments)
    if not proof.proven:
        say(f"not proven: {ENDINGS[str(proof.ending)]}")
    return DONE if proof.proven else UNPROVEN


def _evaluation(
    game: pyspiel.Game, arguments: SolveArguments
) -> tuple[Evaluator | None, Callable[[pyspiel.State], float] | None, Calibration]:
    """Return the evaluator and the outcome given by options (None: the default of `solve`), and their calibration."""
    from athenan_spiel.outcomes.calibration import default_calibration
    from athenan_spiel.outcomes.rows import gain_of

    evaluator: Evaluator | None = None
    outcome: Callable[[pyspiel.State], float] | None = None
    calibration = default_calibration(game, gain_of(game))
    if arguments.run is not None:
        with progress().status("loading the network"):
            from agents.run_specs import parse_run
            from athenan_spiel.games import same_game
            from athenan_spiel.training.loading import load_agent

            folder, number = parse_run(arguments.run)
            code = allowed(arguments.allow_code)
            agent = load_agent(folder, checkpoint=number, seed=arguments.seed, outcome=code)
        if not same_game(agent.game, game):
            raise ConfigError(
                f"expected a run of {str(game)!r}, got {arguments.run!r}, which is one of {str(agent.game)!r}"
            )
        evaluator, outcome, calibration = agent.evaluator, agent.search.outcome, agent.search.calibration
    if arguments.outcome is not None:
        from athenan_spiel.outcomes import make_outcome

        allowed([arguments.outcome] if ":" in arguments.outcome else [])
        outcome = make_outcome(arguments.outcome, game, random.Random(arguments.seed))
        if arguments.run is None:
            calibration = default_calibration(game, outcome)
    return evaluator, outcome, calibration


class _View:
    """Shows the cost so far, the estimate, the best line and the remaining time, if there is a terminal."""

    def __init__(self, estimate: Callable[[Proof], str], state: pyspiel.State, seconds: float | None) -> None:
        self._estimate = estimate
        self.proof: Proof | None = None
        self._state = state
        self._shown = 0.0
        self._waiting = Waiting("searching", seconds)

    def __enter__(self) -> None:
        self._waiting.start()

    def __exit__(self, *exception: object) -> None:
        self._waiting.stop()

    def show(self, proof: Proof) -> None:
        """Keep `proof`, and show it unless the last one was shown a moment ago."""
        self.proof = proof
        now = time.perf_counter()
        if now - self._shown >= REDRAW_SECONDS:
            self._shown = now
            line = " ".join(_moves(self._state, proof.line[:SHOWN])) or "none before chance"
            self._waiting.update(f"{_cost(proof)}; {self._estimate(proof)}, line {line}")


def _report(
    game: pyspiel.Game, state: pyspiel.State, proof: Proof, calibration: Calibration, arguments: SolveArguments
) -> None:
    if arguments.json:
        print_json(_document(game, state, proof, calibration))
        return
    line = _moves(state, proof.line)
    best = f"best move: {line[0]}\nbest line: {' '.join(line)}" if line else "best move: none, as chance chooses"
    found = _text(game, state, proof, calibration, raw=arguments.raw)
    verdict = (
        found if found.startswith("proven ") else f"{'proven:' if proof.proven else 'not proven; estimated'} {found}"
    )
    print(f"{verdict}\n{best}\n{_cost(proof)}")


def _moves(state: pyspiel.State, actions: Sequence[int]) -> list[str]:
    from athenan_spiel.games.moves import move_names

    return move_names(state, actions)


def _text(game: pyspiel.Game, state: pyspiel.State, proof: Proof, calibration: Calibration, *, raw: bool) -> str:
    """Return the result or the estimate as text: for the winner, else for the player that moves first."""
    from athenan_spiel.drawing.evaluations import NodeEvaluation
    from athenan_spiel.drawing.state_picture import side_text
    from athenan_spiel.games.chance import first_mover
    from athenan_spiel.games.rows import is_proven_draw

    winner = _winner(game, proof)
    reader = first_mover(game) if winner is None else winner
    found = NodeEvaluation(
        proof.value,
        proof.value if proof.proven else None,
        players=game.num_players(),
        calibration=calibration,
        moves=None if winner is None else _moves_to_end(state, proof.line),
        is_draw=proof.proven and game.num_players() == 2 and is_proven_draw(state, [proof.value]),
    )
    text = found.text(reader, raw=raw)
    if game.num_players() == 1:
        return f"value {text}"
    return text if found.is_draw else f"{text} for {side_text(game, reader)}"


def _moves_to_end(state: pyspiel.State, line: Sequence[int]) -> int | None:
    """Return the length of a line that ends with the game; None for one that ends where chance chooses."""
    end = state.clone()
    for action in line:
        end.apply_action(action)
    return len(line) if end.is_terminal() else None


def _winner(game: pyspiel.Game, proof: Proof) -> int | None:
    """Return the player who wins; None for a draw, or without a proof."""
    return {1.0: 0, -1.0: 1}.get(proof.value) if proof.proven and game.num_players() > 1 else None


def _cost(proof: Proof) -> str:
    evaluations = f", {proof.evaluations:,} evaluations" if proof.evaluations else ""
    return f"{proof.nodes:,} nodes{evaluations}, {proof.seconds:.1f} s"


def _document(game: pyspiel.Game, state: pyspiel.State, proof: Proof, calibration: Calibration) -> dict[str, Any]:
    line = _moves(state, proof.line)
    score = calibration.score_of_gain if proof.proven else calibration.expected_score
    return {
        "game": str(game),
        "history": state.history(),
        "proven": proof.proven,
        "ending": proof.ending,
        "value": proof.value,
        "expected_score": None if game.num_players() == 1 else score(proof.value),
        "winner": _winner(game, proof),
        "best_move": line[0] if line else None,
        "best_line": line,
        "best_actions": list(proof.line),
        "nodes": proof.nodes,
        "iterations": proof.iterations,
        "evaluations": proof.evaluations,
        "seconds": proof.seconds,
    }
