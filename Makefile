# The two commands of the README. Both make what they need on a machine that has Python 3.11, git and make.
PYTHON ?= python3
BIN := .venv/bin

# The tests start some hundred processes. Where bytecode is not kept, each of them compiles the kit anew.
export PYTHONDONTWRITEBYTECODE =

.PHONY: certify test test-clients test-targets results lint types bench bench-server clean

certify: .venv/core
	$(BIN)/conformance run

# What speaks to the kit through other people's clients and frameworks, which takes minutes, has commands of its own.
APART := tests/clients tests/mcp tests/wires tests/targets

test: .venv/test lint types
	$(BIN)/python -m pytest -n 2 --dist worksteal -q $(addprefix --ignore ,$(APART))

# The official clients of the providers, in Python and JavaScript, newest and older, which the first run installs, those of MCP,
# and the whole core on every wire through the providers' own SDKs.
test-clients: .venv/test
	$(BIN)/python -m pytest -n 2 -q tests/clients tests/mcp tests/wires

# The frameworks that come with the kit, each in an environment of its own, which the first run makes.
test-targets: .venv/test
	$(BIN)/conformance targets install langchain pydantic-ai
	$(BIN)/python -m pytest -n 2 --dist loadgroup -q tests/targets

# Every framework that comes with the kit, played and written down in results/ and docs/results.md. Takes an hour; no part of CI.
results: .venv/core
	$(BIN)/conformance results --jobs 2

lint: .venv/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/test
	$(BIN)/mypy

# Against the peers, each in an environment of its own, which the first run makes.
bench-server: .venv/test
	$(BIN)/python benchmarks/server/run.py

bench: .venv/test
	$(BIN)/python benchmarks/run.py

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/core: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

.venv/test: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch .venv/core $@

clean:
	rm -rf .venv build dist *.egg-info
