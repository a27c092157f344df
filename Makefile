# Every target makes its own virtual environment when needed; nothing but Python 3.11+ has to be there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo test quick storm lint format browser bench screenshots clean

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Headatlas needs Python 3.11 or newer; try: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(INSTALLED)     ## every stage on our corpus with the packaged model, then the page in the browser
	$(BIN)/headatlas demo

test: $(INSTALLED) browser     ## every test, examples in docs and docstrings included, on all cores
	$(BIN)/pytest -n auto --dist loadgroup

quick: $(INSTALLED)    ## an answer within two minutes: what needs neither a browser nor a long computation
	$(BIN)/pytest -n auto --dist loadgroup -m "not slow and not browser"

storm: $(INSTALLED)    ## kills, changed bytes, writers at once and damaged inputs, with a seed; STORM="--kills 50" sets the numbers
	PYTHONPATH=tests $(BIN)/python -W ignore -m storm $(STORM)

lint: $(INSTALLED)     ## style, formatting and types of Python and of the page
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python hatch_build.py lint

format: $(INSTALLED)   ## format Python and the page
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	$(BIN)/python hatch_build.py format

browser:               ## Chromium for the tests of the page, where packages may be installed
	@for name in "$$HEADATLAS_BROWSER" chromium chromium-browser google-chrome google-chrome-stable; do \
	  command -v "$$name" >/dev/null && exit 0; done; \
	if command -v apt-get >/dev/null && test "$$(id -u)" = 0; then export DEBIAN_FRONTEND=noninteractive; \
	  apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium >/dev/null && exit 0; fi; \
	echo "No Chromium could be installed: tests of the page are skipped. Install it, or name one in HEADATLAS_BROWSER."

screenshots: $(INSTALLED)     ## every tab of the page, light and dark, into docs/images
	$(BIN)/python examples/screenshots.py

bench: $(INSTALLED)    ## the figures quoted in docs/
	$(BIN)/python benchmarks/collect.py

clean:
	rm -rf $(VENV) build dist demo.atlas frontend/node_modules src/headatlas/web/static .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
