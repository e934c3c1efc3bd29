"""A project for the plugin's tests."""

import httpcore2  # noqa: F401
import httpx2  # noqa: F401
import pytest
from loop_agents import AGENTS, TWO_CALLS

# Imported here, for a session inside this one forgets what it imported, and neither the compiled half of YAML nor the errors of
# an HTTP library are to be had twice.
from conformance.pytest_plugin import collected, fake_model, playing, snapshots  # noqa: F401


@pytest.fixture
def project(pytester, monkeypatch):
    """A folder with agents as modules and a scenario, in which a warning is an error."""
    # Where this suite is spread over workers, a session inside one is none of them.
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    pytester.makeini("[pytest]\nfilterwarnings = error\n")
    for name, text in AGENTS.items():
        pytester.makepyfile(**{name: text})
    pytester.makefile(".yaml", **{"two-calls": TWO_CALLS})
    return pytester
