import asyncio
import contextlib
from itertools import cycle, islice

import pytest
from kits_library import plans
from unusual_agents import UNUSUAL

from conformance.adapters.in_process import connected
from conformance.cell import cells_of
from conformance.judge import Verdict, judge, judge_suite
from conformance.needs import NotPlayed
from conformance.rules import RULES
from conformance.runner import declared, play


async def judged(one, first):
    """Every scenario in one cell, the next one in the next: two agents that begin in different cells play each in both."""
    async with connected(one) as agent:
        under = declared(agent.info)
        found = []
        for plan, cell in zip(plans(), islice(cycle(cells_of(agent.info)), first, None), strict=False):
            with contextlib.suppress(NotPlayed):
                found.append(judge(await play(agent, plan, cell, under), RULES))
        return found


@pytest.mark.parametrize(
    ("unusual", "first"), [(one, at % 2) for at, one in enumerate(UNUSUAL)], ids=[one.info.name for one in UNUSUAL]
)
def test_an_agent_that_is_right_but_unusual_is_never_failed(unusual, first):
    whole = judge_suite(asyncio.run(judged(unusual, first)), RULES)
    wrong = [
        f"{one.view.scenario.id} {one.view.recording.header.cell}: {result.rule}: {finding.message}"
        for one in whole
        for result in one.results
        if result.verdict in (Verdict.FAIL, Verdict.COULD_NOT_RUN)
        for finding in result.findings or (result,)
    ]
    assert wrong == []
    assert len(whole) > 200
