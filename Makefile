# Everything runs in .venv, made on first use. Only Python 3.11+, pip and make are needed.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready

.PHONY: demo test check bench docs verification format clean

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Onega needs Python 3.11 or newer; set PYTHON=python3.12, say")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(STAMP)
	$(BIN)/onega demo

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not verification"

verification: $(STAMP)
	$(BIN)/python -m pytest -m verification

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

docs: $(STAMP)
	$(BIN)/python docs/build.py

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache
