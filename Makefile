# The developer commands of calibrant. `make` alone lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# skpro refuses the pandas that everything else is tested with.
SKTIME := .venv-sktime
# -qq prints errors only; the first installation is announced by the recipes below.
PIP_INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt
# Extra arguments for pytest: make test ARGS='-m "not slow"', or ARGS=--cov for the coverage.
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup demo extras test test-sktime docs format bench clean

help: ## list these commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

setup: $(VENV)/.installed ## create .venv and install the pinned packages

demo: $(VENV)/.installed ## fit, score and draw a first model; report and figures land in demo/
	$(BIN)/calibrant demo --out demo

extras: $(addprefix $(VENV)/.installed-,rivals ray onnx mlflow) ## install what some tests use: trees, Ray, ONNX, MLflow

test: $(VENV)/.installed-test ## formatting, lint, types, then the tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist loadfile $(ARGS)

test-sktime: $(SKTIME)/.installed ## the adapters to skpro and sktime, in an environment with pandas 2
	OMP_NUM_THREADS=1 $(SKTIME)/bin/python -m pytest -p no:cacheprovider \
		tests/adapters/test_skpro.py tests/adapters/test_to_skpro.py tests/adapters/test_sktime.py
	OMP_NUM_THREADS=1 $(SKTIME)/bin/python -m pytest -p no:cacheprovider \
		tests/test_docs.py tests/test_docstrings.py -k 'ecosystem or skpro or sktime'

docs: $(VENV)/.installed-docs ## build the documentation in site/; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "The documentation is in site/index.html"

format: $(VENV)/.installed-test ## rewrite the sources in the common format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.installed-test ## run every script of benchmarks/ and print its table
	@for script in benchmarks/[!_]*.py; do \
		echo "== $$script"; $(BIN)/python "$$script" || exit 1; \
	done

clean: ## remove the environment, caches and everything generated
	rm -rf $(VENV) $(SKTIME) demo site build dist .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps are touched only after a successful installation: an interrupted one is repeated, a
# finished one costs nothing until pyproject.toml or constraints.txt change.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "calibrant needs Python 3.11 or newer, but $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
			"Choose another one: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing calibrant with the pinned packages (torch among them: this takes minutes, once)"
	@$(PIP_INSTALL) -e .
	@touch $@

# One extra after another: all at once keep pip's resolver busy for minutes.
$(VENV)/.installed-%: $(VENV)/.installed
	@echo "Installing the extra $*"
	@$(PIP_INSTALL) -e '.[$*]'
	@touch $@

# The pinned versions with another pandas, and what comes with skpro and sktime.
$(SKTIME)/.installed: pyproject.toml constraints.txt constraints-sktime.txt
	@echo "Installing calibrant with skpro and sktime in $(SKTIME)"
	@$(PYTHON) -m venv --clear $(SKTIME)
	@grep -v '^pandas==' constraints.txt > $(SKTIME)/constraints.txt
	@$(SKTIME)/bin/python -m pip install -qq --disable-pip-version-check \
		-c $(SKTIME)/constraints.txt -c constraints-sktime.txt -e '.[sktime]' hypothesis polars pytest
	@touch $@
