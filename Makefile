# Everything runs in .venv, made on first use. Only Python 3.11+, pip and make are needed.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready

.PHONY: bounds demo test test-nojit test-lowest test-newest check bench docs release verification format clean

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Onega needs Python 3.11 or newer; set PYTHON=python3.12, say")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(STAMP)
	$(BIN)/onega demo

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not verification"

# The kernels as Python: bounds are checked, and coverage sees every line of them.
test-nojit: $(STAMP)
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run --data-file=.coverage.nojit -m pytest -q tests/simulation/test_small_twins.py
	$(BIN)/python -m coverage report --data-file=.coverage.nojit --include='src/onega/kernels/*' --skip-empty
	rm -f .coverage.nojit

# A part of the suite with the oldest versions that pyproject.toml declares, and with the newest there are: every
# module, a command of each kind, files and stores. Older versions warn of much: that is no error there.
test-lowest: REQUIRED = -c constraints-lowest.txt
test-newest: REQUIRED = --upgrade
test-lowest test-newest:
	test -x $(VENV)-$(@:test-%=%)/bin/python || $(PYTHON) -m venv $(VENV)-$(@:test-%=%)
	$(VENV)-$(@:test-%=%)/bin/python -m pip install --quiet --disable-pip-version-check $(REQUIRED) -e . pytest pytest-timeout hypothesis
	NUMBA_CACHE_DIR=$(abspath $(VENV)-$(@:test-%=%))/numba $(VENV)-$(@:test-%=%)/bin/python -m pytest -q -o filterwarnings=default \
	  tests/test_smoke.py tests/core/test_files.py tests/experiment/sweep/test_store.py tests/traces/tables/test_reader.py tests/traces/swf/test_round_trip.py

verification: $(STAMP)
	$(BIN)/python -m pytest -m verification

# Every index of every kernel is checked: the suite's simulations, 5 000 random problems, and 10 000 damaged files.
bounds: export NUMBA_BOUNDSCHECK = 1
bounds: export NUMBA_CACHE_DIR = $(abspath $(VENV))/bounds-cache
bounds: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not verification" tests/kernels tests/simulation
	$(BIN)/python bench/fuzz_problems.py --problems 5000
	$(BIN)/python bench/fuzz.py --inputs 10000 --workers 2

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)
	$(BIN)/python bench/run.py

# Sphinx, into site/; what it needs is installed on first use. A warning stops it.
$(VENV)/.docs-ready: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@

docs: $(VENV)/.docs-ready
	$(BIN)/python -m sphinx -W --keep-going -j 2 -q -d site/.doctrees docs site
	@echo "open site/index.html"

release: $(STAMP)
	$(BIN)/python .ci/release

clean:
	rm -rf $(VENV) $(VENV)-lowest $(VENV)-newest site .pytest_cache .mypy_cache .ruff_cache
