"""Records what a terminal shows of `athenan train` as an animated picture, training.gif.

    pip install pyte pillow
    python docs/pictures/record_training.py

The command runs in a pseudo-terminal, a terminal emulator (pyte) keeps the screen, and every so often it is drawn as it
is then. The picture runs `--faster` times as fast as the training did. `--dry-run` records a tiny training into a
temporary file.
"""

from __future__ import annotations

import argparse
import os
import pty
import select
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

HERE = Path(__file__).resolve().parent
COLUMNS, ROWS = 96, 22
QUIET = 0.02
"""Seconds without a letter, after which what was being written is whole."""
SIZE = 14
"""Pixels of a line of text."""
PAPER, INK = "#1c1b19", "#e9e5de"
COLOURS = {
    "default": INK,
    "black": "#6f6a62",
    "red": "#e0705f",
    "green": "#7fca7f",
    "brown": "#d9b75c",
    "blue": "#79b0ec",
    "magenta": "#c99adf",
    "cyan": "#6fc3c9",
    "white": "#ffffff",
}
"""As pyte calls them."""
COMMAND = "athenan train connect_four --time 3m --workers 0"
SMALLEST = "athenan train tic_tac_toe --matches 2 --matches-at-once 2 --workers 0"


def main() -> None:
    """Record, and say where the picture is."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--command", default=COMMAND, help="what is recorded")
    parser.add_argument("--faster", type=float, default=16.0, help="how much faster the picture runs")
    parser.add_argument("--every", type=float, default=4.0, help="seconds between two frames")
    parser.add_argument("--out", type=Path, default=HERE / "training.gif", help="the picture")
    parser.add_argument("--dry-run", action="store_true", help="a second of a tiny training, into a temporary file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command, every, out = arguments.command, arguments.every, arguments.out
        if arguments.dry_run:
            command, every, out = SMALLEST, 0.2, Path(folder) / "training.gif"
        screens = record(command, folder, every)
        frames = [drawn(screen, command) for screen in screens]
        pause = round(1000 * every / arguments.faster)
        # As few colours as there are, and only what changes from frame to frame: the file stays small.
        frames = [frame.quantize(16, dither=Image.Dither.NONE) for frame in frames]
        times = [pause] * (len(frames) - 1) + [4000]
        frames[0].save(out, save_all=True, append_images=frames[1:], duration=times, loop=0, optimize=True)
        sys.stdout.write(f"{len(frames)} frames, {out.stat().st_size:,} bytes: {out}\n")


def record(command: str, folder: str, every: float) -> list[list[list[tuple[str, str, bool]]]]:
    """The screens of a command, as often as asked for, and the one at its end: of each cell character, colour, bold."""
    import pyte

    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    ours, theirs = pty.openpty()
    sizes = {"COLUMNS": str(COLUMNS), "LINES": str(ROWS), "TERM": "xterm-256color"}
    words = shlex.split(command)
    words[:1] = [sys.executable, "-m", "athenan_spiel"]
    root = str(HERE.parents[1])
    process = subprocess.Popen(
        words, cwd=folder, env={**os.environ, **sizes, "PYTHONPATH": root}, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    screens, due, ended = [], time.monotonic() + every, False
    while not ended:
        if select.select([ours], [], [], max(0.0, due - time.monotonic()))[0]:
            try:
                content = os.read(ours, 65536)
            except OSError:  # the terminal is closed, as the command has ended
                content = b""
            ended = not content
            stream.feed(content)
        is_whole = ended or not select.select([ours], [], [], QUIET)[0]
        if ended or (is_whole and time.monotonic() >= due):
            due += every
            screens.append(_cells(screen))
    os.close(ours)
    if process.wait() != 0:
        sys.exit(f"{command} has failed: " + " ".join("".join(cell[0] for cell in row).strip() for row in screens[-1]))
    return screens


def _cells(screen: object) -> list[list[tuple[str, str, bool]]]:
    buffer = screen.buffer  # type: ignore[attr-defined]
    return [[(cell.data, cell.fg, cell.bold) for cell in (buffer[y][x] for x in range(COLUMNS))] for y in range(ROWS)]


def drawn(cells: list[list[tuple[str, str, bool]]], command: str) -> Image.Image:
    """A screen below the command that was typed."""
    import matplotlib

    fonts = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    plain = ImageFont.truetype(fonts / "DejaVuSansMono.ttf", SIZE)
    bold = ImageFont.truetype(fonts / "DejaVuSansMono-Bold.ttf", SIZE)
    wide, high = plain.getlength("m"), round(1.3 * SIZE)
    picture = Image.new("RGB", (round(wide * COLUMNS) + 24, high * (ROWS + 1) + 20), PAPER)
    draw = ImageDraw.Draw(picture)
    draw.text((12, 10), "$ ", fill=COLOURS["green"], font=bold)
    draw.text((12 + 2 * wide, 10), command, fill=COLOURS["white"], font=bold)
    for y, row in enumerate(cells):
        for x, (letter, colour, is_bold) in enumerate(row):
            if letter.strip():
                fill = COLOURS.get(colour, INK if not _is_hex(colour) else f"#{colour}")
                place = (12 + round(x * wide), 10 + (y + 1) * high)
                draw.text(place, letter, fill=fill, font=bold if is_bold else plain)
    return picture


def _is_hex(colour: str) -> bool:
    return len(colour) == 6 and all(x in "0123456789abcdef" for x in colour)


if __name__ == "__main__":
    main()
