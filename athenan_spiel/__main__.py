"""Runs the `athenan` command as `python -m athenan_spiel`, without imports from the current folder."""

import signal
import sys


def command() -> int:
    """Runs the `athenan` command as the whole process and returns its exit code.

    While the command is imported, and again after the first Ctrl-C, Ctrl-C has the system's default action. It then
    ends the process without a traceback.
    """
    _end_by_ctrl_c()
    from athenan_spiel.cli.main import main

    return main()


def _end_by_ctrl_c() -> None:
    """Sets the system's default action for Ctrl-C, unless Python's handler was replaced before."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    _end_by_ctrl_c()  # before anything else is imported
    from pathlib import Path

    import athenan_spiel

    # Python puts the current folder first in `sys.path`. It stays if it contains this package, as a checkout does.
    if not sys.flags.safe_path and Path(sys.path[0]) != Path(athenan_spiel.__file__).parent.parent:
        del sys.path[0]
    sys.exit(command())
