"""`athenan doctor`: checks the machine, packages, Java and Ludii, and suggests fixes.

It works without packages that are missing or broken, including those of the command line.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from athenan_spiel.cli.exit_codes import DONE, MISSING
from athenan_spiel.measuring.health import CheckResult, can_train, findings, writable

COLUMNS = {"found": "found  ", "missing": "missing", "broken": "BROKEN "}


@dataclass(frozen=True, kw_only=True)
class DoctorArguments:
    """Check the installation for training, play and Ludii, compare versions with the tested ones, and suggest fixes.

    The exit code is 0 if training is possible, else 3.

    Example: athenan doctor --json
    """

    json: bool = False
    """Print one JSON document."""


def run(words: Sequence[str]) -> int:
    """Run `athenan doctor` with these words; returns the exit code."""
    arguments = _parsed(words)
    found = [*findings(), *_ludii_findings()]
    ready = can_train(found)
    if arguments.json:
        document = {"can_train": ready, "findings": [dataclasses.asdict(finding) for finding in found]}
        print(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        print("\n".join([*_lines(found), "", _verdict(found)]))
    return DONE if ready else MISSING


def _parsed(words: Sequence[str]) -> DoctorArguments:
    try:
        import tyro

        from athenan_spiel.cli.parsing import parse
    except Exception:  # a missing or broken tyro is reported as a finding
        return DoctorArguments(json="--json" in words)
    arguments: Any = tyro.conf.FlagCreatePairsOff[DoctorArguments]
    parsed: DoctorArguments = parse(arguments, words, "athenan doctor")
    return parsed


def _ludii_findings() -> list[CheckResult]:
    """Returns the findings of `athenan ludii`, and a check of the folder into which it installs the jar."""
    try:
        from ludii_bridge.installation import user_folder
        from ludii_bridge.report import report

        parts = [_optional_finding(x.what, x.found, x.text) for x in report()]
        folder = writable("Ludii's folder", user_folder(), "`athenan ludii install` puts the jar there")
    except Exception as error:
        return [CheckResult(what="Ludii", state="broken", needed=False, text=f"{type(error).__name__}: {error}")]
    return [*parts, folder]


def _optional_finding(what: str, found: bool, text: str) -> CheckResult:
    return CheckResult(what=what, state="found" if found else "missing", needed=False, text=text)


def _lines(found: Sequence[CheckResult]) -> list[str]:
    width = max(len(finding.what) for finding in found)
    return [f"{finding.what:<{width}}  {COLUMNS[finding.state]}  {finding.text}" for finding in found]


def _verdict(found: Sequence[CheckResult]) -> str:
    if can_train(found):
        return "Training is possible: athenan train connect_four --preset quick --time 3m"
    lacking = [finding.what for finding in found if finding.needed and finding.state != "found"]
    return f"Training is not possible; install or repair: {', '.join(lacking)}"
