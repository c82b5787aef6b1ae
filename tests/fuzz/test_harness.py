"""The harness notices what breaks a promise: each deed here does, and is told of."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from contents import signed
from forked import Ended
from verdict import broken_by_line

pytestmark = pytest.mark.slow(reason="waits for the limits of the fuzzing harness")

DEEDS = {
    "raise KeyError('x')": "traceback: KeyError: 'x'",
    "os.kill(os.getpid(), 11)": "crash: ended by signal 11",
    "time.sleep(100)": "hang: waited for what never came",
    "signal.signal(2, signal.SIG_IGN)\nwhile True: pass": "hang: still ran after",
    "data = bytearray(300_000_000); time.sleep(100)": "memory: ",
    "open(place / 'elsewhere', 'w')": "outside: opened ",
    "os.rename('a', place / 'b')": "outside: opened ",
    "open('link', 'a').write('x')": "outside: changed outside/victim",
    "os.system('true')": "code: started ",
    "import canary_module": "code: ran ",
    "import nobodys_module": "code: the current folder could have brought the module nobodys_module",
}
"""What a case does, and how the complaint about it begins."""
_PROGRAM = """
import json, os, pathlib, signal, sys, time
import forked
from sandbox import Sandbox, changed
from verdict import broken

place = pathlib.Path(sys.argv[1])
forked.MEGABYTES = 200.0
(place / "template" / "runs" / "ttt").mkdir(parents=True)
said = {}
for deed in json.loads(sys.argv[2]):
    box = Sandbox(place / "box", place / "template")
    (box.outside / "victim").write_text("before")
    (box.work / "link").symlink_to("../outside/victim")
    before = box.snapshot()

    def case():
        sys.path.append("")
        exec(deed)
        return 0

    ended = forked.run_forked(
        case, folder=box.work, environment=box.environment(), notes=box.root / "notes", patience=1.5, limit=4.0
    )
    said[deed] = [*broken(ended, box.root)]
    said[deed] += [f"outside: changed {path}" for path in changed(before, box.snapshot(), ["work/mine"])]
    said[deed] += [f"code: ran {box.code_was_run()}"] if box.code_was_run() else []
print(json.dumps(said))
"""


def test_each_deed_is_noticed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _PROGRAM, str(tmp_path), json.dumps(["open('mine', 'w')", *DEEDS])]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said.pop("open('mine', 'w')") == [], "what may be done is not complained of"
    for deed, complaint in DEEDS.items():
        assert any(line.startswith(complaint) for line in said[deed]), (deed, said[deed])


@pytest.mark.parametrize(
    ("stdout", "stderr", "complaint"),
    [
        ("", "athenan eval: expected a, got b\n", None),
        ("", "training: x\ncheckpoint 1\nathenan train: the disk is full\nand more\n", None),
        ("", "", "message: none"),
        ("", "athenan eval: 1\n2\n3\n", "message: 3 lines"),
        ("", "athenan eval: " + "x" * 3000 + "\n", "message: 3,014 characters"),
        ("", "athenan eval: \n", "message: empty"),
        ("a table\n", "athenan eval: expected a, got b\n", "stdout: "),
        ("", "athenan eval: got \x1b[2J\n", "control: "),
        ("", "x.py:3: FutureWarning: soon\nathenan eval: no\n", "warning: FutureWarning: "),
    ],
)
def test_a_refusal_is_looked_at(stdout: str, stderr: str, complaint: str | None) -> None:
    ended = Ended(code=2, stdout=stdout, stderr=stderr, seconds=0.1)
    faults = list(broken_by_line(ended, ["eval", "x"]))
    assert [fault[: len(complaint or "")] for fault in faults] == ([] if complaint is None else [complaint])


def test_exit_codes_and_json_are_looked_at() -> None:
    assert list(broken_by_line(Ended(code=7, stdout="", stderr="", seconds=0.1), ["eval"])) == ["exit code: 7"]
    table = Ended(code=0, stdout="{} or so\n", stderr="", seconds=0.1)
    assert list(broken_by_line(table, ["eval", "--json"])) == ["json: '{} or so\\n'"]
    lines = Ended(code=0, stdout="{}\n[]\n", stderr="", seconds=0.1)
    assert list(broken_by_line(lines, ["train", "--json"])) == []


def test_a_forged_state_has_the_checksum_that_the_library_wants(tiny_run: Path) -> None:
    path = max(tiny_run.glob("checkpoints/*/state.json"))
    state = json.loads(path.read_text())
    assert signed(state) == state
    assert signed({**state, "game": "chess()"})["checksum"] != state["checksum"]
