"""`python -m athenan_spiel` is the `athenan` command, and like that imports nothing from the current folder."""

import sys
from pathlib import Path

import athenan_spiel

# Python puts the current folder before all others. It stays where this package is in it, as in a checkout.
if not sys.flags.safe_path and Path(sys.path[0]) != Path(athenan_spiel.__file__).parent.parent:
    del sys.path[0]

from athenan_spiel.cli.main import main  # after the path is set

sys.exit(main())
