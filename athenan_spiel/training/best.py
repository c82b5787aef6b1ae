"""The best network of a run: `best/` in the run's folder, whatever becomes of the checkpoint that it was.

It holds `weights.safetensors` and `state.json`, as a milestone does, and `best.json`, which says by what it is the
best. Another network takes its place by two renames. A kill between them leaves the old one under the name `REPLACED`,
where it is found and from where it is put back.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from athenan_spiel.errors import CheckpointError
from athenan_spiel.system.files import UNFINISHED, is_folder, remove, require_folder, write_durably
from athenan_spiel.system.portable import sync_folder
from athenan_spiel.training.checkpoints import STATE

BEST = "best"
"""The folder's name, and what stands for it where otherwise a number of matches names a checkpoint."""
RECORD = "best.json"
REPLACED = f"{UNFINISHED}replaced-{BEST}"


def best_network(run: Path) -> Path:
    """The folder of the best network in the run's folder `run`.

    Raises:
        CheckpointError: none was kept.
    """
    for name in (BEST, REPLACED):
        if is_folder(run / name) and (run / name / STATE).is_file():
            return run / name
    raise CheckpointError(
        f"the run in {str(run)!r} has no best network: one is kept once an evaluation while training has ended "
        "(evaluation.every_matches); name the newest checkpoint, or one by its number",
        path=run,
    )


def replace_best(run: Path, network: Path, record: bytes) -> Path:
    """Make the network in the folder `network`, which lies in the run's folder `run`, its best; returns its new path.

    Args:
        record: the content of `best.json`.

    Raises:
        OSError: it could not be done; the one before is still there.
    """
    best, replaced = run / BEST, run / REPLACED
    require_folder(best)
    remove(network / RECORD)
    write_durably(network / RECORD, lambda file: file.write(record))
    sync_folder(network)
    remove(replaced)
    if best.exists():
        best.rename(replaced)
    try:
        network.rename(best)
    except BaseException:
        mend_best(run)
        raise
    sync_folder(run)
    with contextlib.suppress(OSError):
        remove(replaced)
    return best


def mend_best(run: Path) -> None:
    """Put the best network back where a kill has left it under another name.

    Raises:
        OSError: it could not be done.
    """
    if is_folder(run / REPLACED) and not (run / BEST).exists():
        (run / REPLACED).rename(run / BEST)
