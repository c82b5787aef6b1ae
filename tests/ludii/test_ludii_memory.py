"""Java's memory runs out: an error of one line, and the process goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from clocks import HANG_SECONDS

from ludii_bridge import LudiiError, jvm

SCRIPT = """
import gc, sys
import pyspiel
import ludii_bridge

ludii_bridge.connect(memory="48m")
game = pyspiel.load_game("ludii(game=Hex)")
for _ in range(2):
    level = [game.new_initial_state()]
    kept = []
    try:
        while True:
            kept.append([state.children(state.legal_actions()) for state in level])
            level = [child for children in kept[-1] for child in children]
    except ludii_bridge.LudiiError as error:
        print(error)
    del level, kept
    gc.collect()
    state = game.new_initial_state()
    state.apply_action(3)
    print(len(state.legal_actions()))
"""


QUEUE = 'thread "Python Reference Queue"'
"""jpype's own thread, which Java may say a line of when memory runs out in it."""


@pytest.mark.slow("fills Java's memory twice")
@pytest.mark.usefixtures("ludii")
def test_java_out_of_memory_is_one_line_and_the_process_goes_on() -> None:
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, cwd=root, check=True, timeout=HANG_SECONDS
    )
    line = "Java ran out of memory: give it more by the environment variable LUDII_MEMORY=4g, or keep fewer states"
    assert done.stdout.splitlines() == [line, "121", line, "121"]
    assert [text for text in done.stderr.splitlines() if text and QUEUE not in text] == []


@pytest.mark.slow("fills Java's memory")
@pytest.mark.usefixtures("ludii")
def test_a_board_too_large_for_javas_memory_is_one_line(tmp_path: Path) -> None:
    board = tmp_path / "board.lud"
    board.write_text(
        '(game "Large" (players 2) (equipment { (board (square 1500)) (piece "Disc" Each) })'
        " (rules (play (move Add (to (sites Empty)))) (end (if (is Line 4) (result Mover Win)))))"
    )
    script = f"""
import pyspiel, ludii_bridge
ludii_bridge.connect(memory="128m")
for description in ({str(board)!r}, {str(tmp_path / "error.lud")!r}):
    try:
        pyspiel.load_game("ludii(file=" + description + ")")
    except ludii_bridge.LudiiError as error:
        print(error)
print(pyspiel.load_game("ludii(game=Tic-Tac-Toe)"))
"""
    (tmp_path / "error.lud").write_text('(game "Error" (players 2) (nonsense))')
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=HANG_SECONDS
    )
    assert done.stdout.splitlines() == [
        "Java ran out of memory: give it more by the environment variable LUDII_MEMORY=4g, or keep fewer states",
        "error cannot be loaded: Couldn't find ludeme class for token 'nonsense'.",
        "ludii(game=Tic-Tac-Toe)",
    ]
    assert [text for text in done.stderr.splitlines() if text and QUEUE not in text] == []


def test_an_error_for_which_java_had_no_memory_is_known() -> None:
    def fails() -> None:
        raise RuntimeError("Fatal error occurred")  # jpype's words

    def other() -> None:
        raise RuntimeError("another")

    pytest.importorskip("jpype")
    with pytest.raises(LudiiError, match=r"^Java ran out of memory: give it more"):
        jvm.translated(fails)()
    with pytest.raises(RuntimeError, match="another"):
        jvm.translated(other)()
