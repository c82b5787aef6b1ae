# Every target creates its own virtual environment (.venv) if there is none. Python 3.11+ and make are enough.

PYTHON ?= python3
VENV ?= .venv
RUN := runs/connect_four
# Duration of `make fuzz`.
SECONDS ?= 600

# Tests run in one process more than there are cores, as some wait, and at most in eight. They are distributed by file,
# because tests of a file share fixtures.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
PYTEST = $(BIN)/python -m pytest --numprocesses=$(WORKERS) --maxprocesses=8 --dist=loadfile --no-loadscope-reorder

BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: help train test slow fuzz check docs format clean

help:
	@echo "make train   train Connect Four for three minutes, then play OpenSpiel's MCTS"
	@echo "make test    run the tests, without those marked slow"
	@echo "make slow    run the slow tests, for example complete proofs of games"
	@echo "make fuzz    test random inputs with a new seed for ten minutes; make fuzz SECONDS=3600 for an hour"
	@echo "make check   run what CI runs: ruff, mypy --strict, the tests of make test"
	@echo "make docs    build the documentation site in docs/_build"
	@echo "make format  format the code with ruff"
	@echo "make clean   remove $(VENV) and the caches, but not runs/"

# An existing run is resumed, so a second `make train` adds three minutes to it.
train: $(INSTALLED)
	@if [ -e $(RUN)/config.toml ]; then $(BIN)/athenan resume $(RUN) --time 3m; \
	 else $(BIN)/athenan train connect_four --preset quick --time 3m --folder $(RUN); fi
	$(BIN)/athenan eval $(RUN)@0.1s --against mcts:100 mcts:1000 --matches 40

test: $(INSTALLED)
	$(PYTEST) -m "not slow"

slow: $(INSTALLED)
	$(BIN)/python -m pytest -m slow

fuzz: $(INSTALLED)
	$(BIN)/python tests/fuzz --seconds $(SECONDS)
	FUZZ_EXAMPLES=5000 $(BIN)/python -m pytest tests/fuzz/test_fuzz_readers.py
	@if $(BIN)/python -c "import atheris" 2>/dev/null; then $(BIN)/python tests/fuzz/atheris_readers.py -max_total_time=60; \
	 else echo "atheris is not installed, so its fuzzing was skipped: $(BIN)/pip install atheris"; fi

check: $(INSTALLED) $(VENV)/.ray $(VENV)/.browser $(VENV)/.docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(PYTEST) -m "not slow"

# Every warning is an error. Nothing is downloaded.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --fresh-env --write-all docs docs/_build
	@echo "the site is in docs/_build/index.html"

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) docs/_build .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || \
	 { echo "$(PYTHON) is older than Python 3.11: use make PYTHON=python3.12 ..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[test]"
	@touch $(INSTALLED)

# Ray, for its tests, which are skipped without a wheel.
$(VENV)/.ray: $(INSTALLED)
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --only-binary :all: "ray>=2.40" \
	 || echo "Ray has no wheel for this platform: its tests will be skipped"
	@touch $@

# Playwright and axe-core, for the browser tests of the web pages. Chromium itself comes from the system.
$(VENV)/.browser: $(INSTALLED)
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --only-binary :all: "playwright>=1.50" axe-playwright-python \
	 || echo "Playwright has no wheel for this platform: the browser tests will be skipped"
	@touch $@

# Sphinx, for the documentation site: the extra `docs`.
$(VENV)/.docs: $(INSTALLED)
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --only-binary :all: "sphinx>=8" "myst-parser>=4" furo \
	 || echo "Sphinx has no wheel for this platform: the test that builds the site will be skipped"
	@touch $@
