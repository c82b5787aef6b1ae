"""How long a user waits before anything happens: `import athenan_spiel`, and `athenan --help`.

Each is run in a fresh interpreter, several times after one that warms the disk's cache; prints the median.

    python benchmarks/startup.py
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

COMMANDS = {
    "import athenan_spiel": [sys.executable, "-c", "import athenan_spiel"],
    "athenan --help": [sys.executable, "-m", "athenan_spiel", "--help"],
}


def seconds(command: list[str]) -> float:
    """Wall time of one run."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Print one line a command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7, help="counted runs of each (default 7)")
    arguments = parser.parse_args()
    for name, command in COMMANDS.items():
        seconds(command)
        print(f"{name:22} {statistics.median(seconds(command) for _ in range(arguments.runs)):6.2f} s")


if __name__ == "__main__":
    main()
