# The two commands of the README. Both make what they need on a machine that has Python 3.11, git and make.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: certify test test-targets lint types bench clean

certify: .venv/core
	$(BIN)/conformance run

test: .venv/test lint types
	$(BIN)/python -m pytest -n 2 -q --ignore tests/targets

# The frameworks that come with the kit, each in an environment of its own, which the first run makes.
test-targets: .venv/test
	$(BIN)/conformance targets install langchain pydantic-ai
	$(BIN)/python -m pytest -n 2 --dist loadgroup -q tests/targets

lint: .venv/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/test
	$(BIN)/mypy

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
