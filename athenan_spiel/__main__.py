"""`python -m athenan_spiel` is the `athenan` command."""

import sys

from athenan_spiel.cli.main import main

sys.exit(main())
