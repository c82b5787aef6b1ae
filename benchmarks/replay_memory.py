"""How much memory learned states take in replay; a million of Hex 11 x 11 shall stay under 400 MB.

Fills a replay with the states of random matches, as self-play would (one observation store a match), and prints
the bytes of its arrays and by how much the process grew; then the same for one learning phase and for the arrays
of a checkpoint, both of which are gone afterwards.

    python benchmarks/replay_memory.py                       # about half a minute
    python benchmarks/replay_memory.py --states 20000        # a second, to see that it works
    python benchmarks/replay_memory.py --game chess
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from pathlib import Path

import numpy as np
import pyspiel

from athenan_spiel.config import ReplayConfig
from athenan_spiel.encoding import Encoder
from athenan_spiel.learning import StratifiedReplay, Targets
from athenan_spiel.measuring.subject import random_targets

MEGABYTE = 1e6


def resident() -> int:
    """Bytes of memory that the process holds now (Linux)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def random_match(game: pyspiel.Game, encoder: Encoder, states: int, rng: random.Random) -> Targets:
    """Observations of `states` states, played at random from the start again and again, with random values."""
    return random_targets(game, encoder, rng, lambda count: count < states)


def main() -> None:
    """Fill, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default="hex(board_size=11)", help="an OpenSpiel game string")
    parser.add_argument("--states", type=int, default=1_000_000, help="states in replay (default 1000000)")
    parser.add_argument("--matches", type=int, default=100, help="matches they are from (default 100)")
    arguments = parser.parse_args()
    game = pyspiel.load_game(arguments.game)
    encoder = Encoder(game)
    config = ReplayConfig(matches=arguments.matches, megabytes=1e6)
    rng = random.Random(0)
    random_match(game, encoder, 1000, rng)  # what the libraries take for themselves is not counted
    before, started = resident(), time.perf_counter()
    replay = StratifiedReplay(config, np.random.default_rng(0))
    for _ in range(arguments.matches):
        replay.add(random_match(game, encoder, arguments.states // arguments.matches, rng))
    filled = resident() - before
    seconds = time.perf_counter() - started
    states = replay.states()
    print(
        f"{arguments.game}: {states:,} states of {len(replay)} matches, {encoder.shape} each, filled in {seconds:.1f} s"
    )
    print(f"  in float32      {4 * encoder.size * states / MEGABYTE:8.1f} MB   {4 * encoder.size:8.1f} bytes a state")
    print(f"  arrays          {replay.nbytes / MEGABYTE:8.1f} MB   {replay.nbytes / states:8.1f} bytes a state")
    print(f"  process grew by {filled / MEGABYTE:8.1f} MB   {filled / states:8.1f} bytes a state")
    started = time.perf_counter()
    learned = sum(len(batch.labels.values) for batch in replay.sample(128))
    microseconds = 1e6 * (time.perf_counter() - started) / learned
    print(f"  a learning phase of {learned:,} states: {microseconds:.1f} µs a state to draw and unpack")
    started = time.perf_counter()
    arrays = replay.to_arrays()
    copied = sum(array.nbytes for array in arrays.values())
    print(f"  a checkpoint's arrays: {copied / MEGABYTE:.1f} MB in {time.perf_counter() - started:.2f} s")


if __name__ == "__main__":
    main()
