"""Memory of training samples in replay. The aim is 400 MB for a million of Hex 11 x 11.

Fills a replay with random games. Prints the size of its arrays, the growth of the process, the time of a learning
phase, and size and time of a checkpoint's arrays.

    python benchmarks/replay_memory.py                       # about half a minute
    python benchmarks/replay_memory.py --states 20000        # a second, to check that it runs
    python benchmarks/replay_memory.py --game chess
"""

from __future__ import annotations

import random
import resource
import time
from pathlib import Path

import numpy as np
import pyspiel

from athenan_spiel.config import ReplayConfig
from athenan_spiel.encoding import Encoder
from athenan_spiel.learning import StratifiedReplay
from athenan_spiel.measuring.subject import random_targets
from common import make_parser

MEGABYTE = 1e6


def resident() -> int:
    """Returns the resident memory of the process, in bytes (Linux)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def main() -> None:
    """Prints a line per figure."""
    parser = make_parser(__doc__)
    parser.add_argument("--game", default="hex(board_size=11)", help="OpenSpiel game string")
    parser.add_argument("--states", type=int, default=1_000_000, help="states in replay (default 1000000)")
    parser.add_argument("--matches", type=int, default=100, help="games in replay (default 100)")
    arguments = parser.parse_args()
    game = pyspiel.load_game(arguments.game)
    encoder = Encoder(game)
    config = ReplayConfig(matches=arguments.matches, megabytes=1e6)
    rng, states_of_each = random.Random(0), arguments.states // arguments.matches
    random_targets(game, encoder, rng, lambda count: count < 1000)  # memory of the libraries is not counted
    before, started = resident(), time.perf_counter()
    replay = StratifiedReplay(config, np.random.default_rng(0))
    for _ in range(arguments.matches):
        replay.add(random_targets(game, encoder, rng, lambda count: count < states_of_each))
    filled = resident() - before
    seconds = time.perf_counter() - started
    states = replay.states()
    print(
        f"{arguments.game}: {states:,} states of {len(replay)} games, {encoder.shape} each, filled in {seconds:.1f} s"
    )
    print(f"  in float32      {4 * encoder.size * states / MEGABYTE:8.1f} MB   {4 * encoder.size:8.1f} bytes per state")
    print(f"  arrays          {replay.nbytes / MEGABYTE:8.1f} MB   {replay.nbytes / states:8.1f} bytes per state")
    print(f"  process grew by {filled / MEGABYTE:8.1f} MB   {filled / states:8.1f} bytes per state")
    started = time.perf_counter()
    learned = sum(len(batch.labels.values) for batch in replay.sample(128))
    microseconds = 1e6 * (time.perf_counter() - started) / learned
    print(f"  a learning phase of {learned:,} states: {microseconds:.1f} µs per state to sample and unpack")
    started = time.perf_counter()
    arrays = replay.to_arrays()
    copied = sum(array.nbytes for array in arrays.values())
    print(f"  a checkpoint's arrays: {copied / MEGABYTE:.1f} MB in {time.perf_counter() - started:.2f} s")


if __name__ == "__main__":
    main()
