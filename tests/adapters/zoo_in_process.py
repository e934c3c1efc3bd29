"""The zoo of `zoo_command.py` for the kit's own process: what goes wrong there as an iterator goes wrong."""

import asyncio
import sys
import threading

from conformance.agent_side import AgentInfo, InProcessAgent, Outcome

LET_GO = threading.Event()


def normal(bench, given):
    ids = {"threadId": given.session, "runId": given.run}
    yield {"type": "RUN_STARTED", **ids}
    body = {"model": bench.model_name, "messages": given.input["messages"]}
    text = bench.model(body)["choices"][0]["message"]["content"]
    yield {"type": "TEXT_MESSAGE_START", "messageId": "t1", "role": "assistant"}
    yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": "t1", "delta": text}
    yield {"type": "TEXT_MESSAGE_END", "messageId": "t1"}
    yield {"type": "RUN_FINISHED", **ids}
    yield Outcome("answered", None, text)


def exception(_bench, given):
    yield {"type": "RUN_STARTED", "threadId": given.session, "runId": given.run}
    raise KeyError("no such word")


async def hang(bench, given):
    yield {"type": "RUN_STARTED", "threadId": given.session, "runId": given.run}
    await bench.asleep(0)
    await asyncio.get_running_loop().create_future()


def death_in_mid_event(_bench, given):
    yield {"type": "RUN_STARTED", "threadId": given.session, "runId": given.run}
    sys.exit(9)


def garbage_line(bench, given):
    yield "DEBUG loading the model"
    yield from normal(bench, given)


def flood_of_events(_bench, _given):
    while True:
        yield {"type": "CUSTOM", "name": "n", "value": "x" * 100_000}


def flood_on_stderr(bench, given):
    for _ in range(1_000):
        sys.stderr.write("x" * 99_999 + "\n")
    yield from normal(bench, given)


def close_before_the_end(_bench, given):
    yield {"type": "RUN_STARTED", "threadId": given.session, "runId": given.run}


class Runner:
    def __init__(self, way, bench):
        self.way, self.bench = way, bench

    def run(self, given):
        wrong = given.input["messages"][-1]["content"] == "wrong"
        return (self.way if wrong else normal)(self.bench, given)


def agent(way):
    info = AgentInfo("zoo", "1", capabilities={"sessions": True})
    return InProcessAgent(info, lambda bench: Runner(globals()[way], bench))
