# make demo   set everything up and run the main job on the bundled sample
# make test   set everything up, check the code and run every test
# make check  format, lint, types and tests: before every commit
# make gate   quality on judged pages: fails if a figure is below its floor
# make bench  the figures in docs/performance.md, as ratios measured in one run

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: demo test chromium check lint format gate bench clean

demo: $(READY)
	$(BIN)/unquilt demo -o demo.corpus

test: $(READY) lint chromium
	$(BIN)/python -m pytest

# The tests of serve drive a real browser.
chromium:
	@command -v chromium >/dev/null || { \
	    echo "Installing chromium (the tests of serve drive a real browser)"; \
	    apt-get update -qq && apt-get install -y -qq chromium; }

check: format test

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

gate: $(READY)
	$(BIN)/python -m quality.gate

bench: $(READY)
	$(BIN)/python -m benchmarks

# Debian's python3 comes without venv; it is the one system package this may need.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	    echo "Installing python3-venv (Debian's Python comes without it)"; \
	    apt-get update -qq && apt-get install -y -qq python3-venv; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,bench]'
	@touch $(READY)

clean:
	rm -rf $(VENV) demo.corpus .mypy_cache .ruff_cache .pytest_cache
