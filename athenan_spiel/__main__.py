"""`python -m athenan_spiel` is the `athenan` command, and like that imports nothing from the current folder."""

import signal
import sys


def command() -> int:
    """Run the `athenan` command in a process of its own; returns the exit code.

    Ctrl-C has the system's default action while the command is imported, and again once it has come: it ends the
    process without a traceback.
    """
    _end_by_ctrl_c()
    from athenan_spiel.cli.main import main

    return main()


def _end_by_ctrl_c() -> None:
    """Give Ctrl-C the system's default action in place of Python's traceback."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    _end_by_ctrl_c()  # before anything else is imported
    from pathlib import Path

    import athenan_spiel

    # Python puts the current folder before all others. It stays where this package is in it, as in a checkout.
    if not sys.flags.safe_path and Path(sys.path[0]) != Path(athenan_spiel.__file__).parent.parent:
        del sys.path[0]
    sys.exit(command())
