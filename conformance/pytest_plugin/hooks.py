"""
What pytest calls in every session: the options and the fixtures.

Nothing of the kit is imported before it is asked for: pytest loads this in every project of an environment, and what plays
and judges takes longer to import than most test suites take to run.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

#: The connections and the event loop of a session that uses any.
STAGE = pytest.StashKey[Any]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what can be asked for."""
    group = parser.getgroup("conformance", "conformance of an LLM agent's loop")
    group.addoption(
        "--conformance-agent", metavar="SPEC", help="Play scenarios to this agent as tests; see `conformance agents`."
    )
    group.addoption(
        "--conformance-scenarios",
        metavar="DIR_OR_ID",
        action="append",
        default=[],
        help="The id, file or folder of the scenarios to play; repeatable. Default: the core of the kit.",
    )
    group.addoption(
        "--conformance-dialect",
        metavar="NAME",
        help="Judge under these keys instead of the agent's own, as `conformance run --dialect`.",
    )
    group.addoption("--conformance-strict", action="store_true", help="A warning fails, too.")
    group.addoption(
        "--conformance-snapshots",
        metavar="DIR",
        help="Compare the stable text of every scenario with the one kept here; --snapshot-update writes it.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Load what plays scenarios, where somebody asked for it."""
    if config.getoption("conformance_agent") is None:
        asked = [name for name in ("scenarios", "dialect", "snapshots") if config.getoption(f"conformance_{name}")]
        if asked:
            raise pytest.UsageError(
                f"--conformance-{asked[0]} is given and --conformance-agent is not, so nothing would be played; "
                "name an agent, such as --conformance-agent reference"
            )
        return
    # Only here: see the top of this module.
    from conformance.pytest_plugin.collected import collected  # noqa: PLC0415 - pytest's start-up time

    config.pluginmanager.register(collected(config, stage(config)), "conformance-collected")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close what was opened."""
    if (opened := config.stash.get(STAGE, None)) is not None:
        opened.close()


def stage(config: pytest.Config) -> Any:
    """The session's one stage, opened when it is first needed."""
    if STAGE not in config.stash:
        from conformance.pytest_plugin.stage import Stage  # noqa: PLC0415 - pytest's start-up time

        config.stash[STAGE] = Stage()
    return config.stash[STAGE]


@pytest.fixture
def conformance_run(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """
    Play a scenario to an agent: `conformance_run(scenario, agent=..., stream=..., chunking=..., dialect=...)`.

    The scenario is an id, a path or a dict; the agent a SPEC or an InProcessAgent, by default that of --conformance-agent.
    Gives a `ConformanceRun`: verdict, findings, explained, text, recording.
    """
    from conformance.pytest_plugin.playing import player  # noqa: PLC0415 - pytest's start-up time

    return player(stage(request.config), request.config.getoption("conformance_agent"), request.path.parent)


@pytest.fixture
def fake_model(request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """
    Give a scripted model to a test of your own agent: `fake_model(turns, tools=..., chunking=..., check=...)`.

    Gives a `FakeModel`: base_url, api_key and model_name for a client, transport() for one without a socket, and what came
    in as requests, replies and tools_run. The test fails at its end if the script did not fit, unless `check=False`.
    """
    from conformance.pytest_plugin.fake_model import Models  # noqa: PLC0415 - pytest's start-up time

    models = Models(lambda: stage(request.config))
    failed = request.session.testsfailed
    yield models
    models.close()
    # A test that failed left its script in the middle, which explains nothing; a refusal may be why it failed.
    problems = models.problems(unplayed=request.session.testsfailed == failed)
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


@pytest.fixture
def conformance_snapshot(request: pytest.FixtureRequest) -> Any:
    """
    Compare a `ConformanceRun` with the stable text kept for it: `assert conformance_run(...) == conformance_snapshot`.

    A syrupy snapshot: `--snapshot-update` writes it, one text file per test, agent, scenario and cell.
    """
    if not request.config.pluginmanager.hasplugin("syrupy"):
        pytest.fail(
            "conformance_snapshot is a snapshot of syrupy, and syrupy is switched off (-p no:syrupy)", pytrace=False
        )
    from conformance.pytest_plugin.snapshots import run_snapshot  # noqa: PLC0415 - pytest's start-up time

    return run_snapshot(request.getfixturevalue("snapshot"))
