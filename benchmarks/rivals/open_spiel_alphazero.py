"""Trains OpenSpiel's Python AlphaZero (`open_spiel.python.algorithms.alpha_zero`), which uses jax and flax.

Needs an environment of its own (README.md in this folder). OpenSpiel writes its checkpoints and logs to the folder
(`learner.jsonl` has a line per step), and this script writes the settings to `rival.json`. The actors use the system's
random numbers, so trainings are not reproducible. `gtp_server.py` plays the trained network.

    python benchmarks/rivals/open_spiel_alphazero.py connect_four --minutes 3 --folder runs/alphazero
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import signal
from pathlib import Path
from typing import Any

from rival_arguments import LONGEST_MINUTES, Parser, number, refuse, require
from rival_folder import new_folder, write_about

LEARNING_RATE, WEIGHT_DECAY = 1e-3, 1e-4
UCT_CONSTANT, NOISE_SHARE, NOISE_ALPHA = 2.0, 0.25, 1.0
BATCH, REPLAY_STATES, REUSE = 64, 1024, 8
"""OpenSpiel learns after each `REPLAY_STATES / REUSE` states; its default of 16,384 takes too long for minutes."""
ACTOR_STOP_SECONDS = 5.0
"""Time for the actors to end before they are terminated, in seconds."""


def read_arguments() -> argparse.Namespace:
    """Returns the arguments."""
    parser = Parser(__doc__)
    parser.add_argument("game", nargs="?", default="connect_four", help="OpenSpiel game string of a two-player game")
    parser.add_argument("--minutes", type=number(float, 0.01, LONGEST_MINUTES), default=3.0, help="default 3")
    parser.add_argument("--folder", required=True, help="new folder for the training")
    parser.add_argument("--simulations", type=number(int, 2, 10_000), default=32, help="per move (default 32)")
    parser.add_argument("--actors", type=number(int, 1, 256), default=2, help="actors (default 2)")
    parser.add_argument(
        "--model", choices=("conv2d", "resnet", "mlp"), default="conv2d", help="network type (default conv2d)"
    )
    parser.add_argument("--width", type=number(int, 1, 4096), default=64, help="filters or neurons (default 64)")
    parser.add_argument("--depth", type=number(int, 1, 100), default=3, help="layers or blocks (default 3)")
    parser.add_argument("--api", choices=("nnx", "linen"), default="nnx", help="API of flax (default nnx)")
    return parser.parse_args()


def config_of(arguments: argparse.Namespace, folder: Path) -> Any:
    """Returns OpenSpiel's settings, without evaluators, which would take time from the training."""
    from open_spiel.python.algorithms.alpha_zero import alpha_zero

    return alpha_zero.Config(
        game=arguments.game,
        path=str(folder),
        learning_rate=LEARNING_RATE,
        weight_decay=WEIGHT_DECAY,
        decouple_weight_decay=True,
        train_batch_size=BATCH,
        replay_buffer_size=REPLAY_STATES,
        replay_buffer_reuse=REUSE,
        max_steps=0,
        checkpoint_freq=1,
        actors=arguments.actors,
        evaluators=0,
        evaluation_window=1,
        eval_levels=2,
        uct_c=UCT_CONSTANT,
        max_simulations=arguments.simulations,
        policy_alpha=NOISE_ALPHA,
        policy_epsilon=NOISE_SHARE,
        temperature=1.0,
        temperature_drop=10,
        nn_model=arguments.model,
        nn_width=arguments.width,
        nn_depth=arguments.depth,
        observation_shape=None,
        output_size=None,
        verbose=False,
        quiet=True,
        nn_api_version=arguments.api,
    )


def end_after(seconds: float) -> None:
    """Stops the training after `seconds` like Ctrl-C, and its processes later."""

    def leave(signal_number: int, frame: Any) -> None:
        for child in multiprocessing.active_children():
            child.terminate()

    def stop(signal_number: int, frame: Any) -> None:
        signal.signal(signal.SIGALRM, leave)
        signal.setitimer(signal.ITIMER_REAL, ACTOR_STOP_SECONDS, ACTOR_STOP_SECONDS)
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def report(folder: Path) -> str:
    """Returns the progress in the last line of OpenSpiel's log."""
    file = folder / "learner.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    if not lines:
        return "no learning step was made: the weights are the initial ones"
    last = json.loads(lines[-1])
    return f"{last['step']} steps, {last['total_trajectories']} games, {last['total_states']} states"


def main() -> None:
    """Trains until the time is over, or Ctrl-C."""
    arguments = read_arguments()
    require("pyspiel")
    import pyspiel

    if arguments.game.partition("(")[0] not in pyspiel.registered_names():
        refuse(f"expected a game of OpenSpiel, got {arguments.game!r}")
    require("chex", "flax", "jax", "optax", "orbax")
    from open_spiel.python.algorithms.alpha_zero import alpha_zero

    folder = new_folder(arguments.folder)
    settings = ("game", "minutes", "simulations", "model", "width", "depth", "api")
    write_about(folder, {"rival": "open_spiel_alphazero"} | {name: getattr(arguments, name) for name in settings})
    config = config_of(arguments, folder)
    end_after(60 * arguments.minutes)
    alpha_zero.alpha_zero(config)
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(report(folder))


if __name__ == "__main__":
    main()
