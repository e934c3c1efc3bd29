"""
The child process that plays scenarios for `conformance.elsewhere`: one job a line on stdin, one answer a line on stdout.

A job names agent, dialect, scenario and cell. An answer holds the recording, or the error that left none, and whether the
agent is stuck here too.
"""

import asyncio
import json
import os
import sys

from conformance.cell import Cell
from conformance.certify import connect
from conformance.errors import AgentError
from conformance.recording import dumps
from conformance.runner import declared, play
from conformance.scenario import scenario


async def _serve() -> None:
    # The agent may print: what it writes to stdout goes to stderr, the answers keep the real one.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
    os.dup2(2, 1)
    for line in sys.stdin:
        job = json.loads(line)
        cell = Cell(**job["cell"])
        stuck = False
        try:
            async with connect(job["agent"]) as agent:
                try:
                    recording = await play(agent, scenario(job["scenario"]), cell, declared(agent.info, job["dialect"]))
                finally:
                    stuck = agent.stuck
                answer = {"recording": dumps(recording)}
        except AgentError as error:
            answer = {"error": str(error)}
        answers.write(json.dumps(answer | {"stuck": stuck}) + "\n")
        answers.flush()


if __name__ == "__main__":
    asyncio.run(_serve())
