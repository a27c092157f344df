# Every target makes its own virtual environment when needed; nothing but Python 3.11+ has to be there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo test lint bench screenshots clean

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Headatlas needs Python 3.11 or newer; try: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(INSTALLED)     ## every stage on our corpus with the packaged model, then the page in the browser
	$(BIN)/headatlas demo

test: $(INSTALLED)     ## every test, the examples in docs and docstrings among them
	$(BIN)/pytest

lint: $(INSTALLED)     ## style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

screenshots: $(INSTALLED)     ## every tab of the page, light and dark, into docs/images
	$(BIN)/python examples/screenshots.py

bench: $(INSTALLED)    ## the figures quoted in docs/
	$(BIN)/python benchmarks/collect.py

clean:
	rm -rf $(VENV) build dist demo.atlas frontend/node_modules src/headatlas/web/static .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
