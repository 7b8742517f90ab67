# Each target sets itself up on a fresh machine: Python 3.11+ and make are enough.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
PYTEST_ARGS ?=

.PHONY: demo smoke test check docs dist night bench clean

$(VENV)/.run-ready: pyproject.toml $(wildcard enginetour/native/*)
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --allow-existing $(VENV) && uv pip install --quiet --python $(BIN)/python -e .; \
	elif $(PYTHON) -m venv $(VENV) >/dev/null 2>&1; then \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check -e .; \
	else echo "enginetour needs Python 3.11+ with venv: on Debian, apt install python3-venv; or install uv"; exit 1; fi
	@touch $@

$(VENV)/.test-ready: $(VENV)/.run-ready
	@if command -v uv >/dev/null 2>&1; then \
	  uv pip install --quiet --python $(BIN)/python -e '.[test]'; \
	else $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'; fi
	@touch $@

demo: $(VENV)/.run-ready
	@$(BIN)/enginetour demo

# Four tests at a time: on two processors half of them wait. One alone: make test PYTEST_ARGS="-n 0 -k part_of_its_name";
# with --pdb it is one at a time too. Modules are compiled first, as in an installation, and tests when they are loaded:
# each process would compile them anew where PYTHONDONTWRITEBYTECODE is set.
test: $(VENV)/.test-ready
	@$(BIN)/python -m compileall -q enginetour tests/support tests/programs
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -m "not night" -n 4 --dist worksteal $(PYTEST_ARGS)

# One minute: the tests that tests/smoke.txt names.
smoke: $(VENV)/.test-ready
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n 2 --dist worksteal @tests/smoke.txt $(PYTEST_ARGS)

check: $(VENV)/.test-ready
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python .ci/structure.py

# Pages for a browser, from disk and without network; any warning is an error.
docs: $(VENV)/.test-ready
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet && echo build/docs/index.html

# dist/: the source archive, one wheel for every machine, and one with the compiled module for this machine.
dist: $(VENV)/.run-ready
	@rm -rf dist share && $(BIN)/python docs/manual.py
	@ $(PYTHON) -m venv build/dist-tools
	@build/dist-tools/bin/python -m pip install --quiet --disable-pip-version-check build twine
	@build/dist-tools/bin/python -m build --outdir dist
	@ENGINETOUR_NO_NATIVE=1 build/dist-tools/bin/python -m build --wheel --outdir dist
	@build/dist-tools/bin/python -m twine check --strict dist/*

night: $(VENV)/.test-ready
	@$(BIN)/python -m pytest -q -m night --timeout 0 $(PYTEST_ARGS)

bench: $(VENV)/.test-ready
	@$(BIN)/python -m benches

clean:
	rm -rf $(VENV) build dist
