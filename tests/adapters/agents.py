"""A zoo of tiny agents: one honest loop in four entries, and one agent per way of going wrong. Each is what its name says."""

import asyncio
import json
import threading

from conformance.agent_side import AgentInfo, InProcessAgent, Outcome

#: Ends the agents that block for ever, so that no test leaves a thread behind that burns.
LET_GO = threading.Event()


def _tools(given):
    return [
        {"type": "function", "function": {k: t[k] for k in ("name", "description", "parameters")}}
        for t in given.input["tools"]
    ]


def honest(bench, given):
    """The smallest whole loop: ask, act, answer."""
    yield {"type": "RUN_STARTED", "threadId": given.session, "runId": given.run}
    messages = [{"role": m["role"], "content": m["content"]} for m in given.input["messages"]]
    while True:
        body = {"model": bench.model_name, "messages": messages}
        if given.input["tools"]:
            body["tools"] = _tools(given)
        message = bench.model(body)["choices"][0]["message"]
        messages.append(message)
        for call in message.get("tool_calls") or ():
            value = bench.call_tool(
                call["function"]["name"], json.loads(call["function"]["arguments"] or "{}"), call["id"]
            )
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(value)})
        if not message.get("tool_calls"):
            yield {"type": "TEXT_MESSAGE_START", "messageId": "t1", "role": "assistant"}
            yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": "t1", "delta": message["content"]}
            yield {"type": "TEXT_MESSAGE_END", "messageId": "t1"}
            yield {"type": "RUN_FINISHED", "threadId": given.session, "runId": given.run}
            yield Outcome("answered", text=message["content"])
            return


async def honest_async(bench, given):
    yield {"type": "RUN_STARTED", "threadId": given.session, "runId": given.run}
    messages = [{"role": m["role"], "content": m["content"]} for m in given.input["messages"]]
    message = (await bench.amodel({"model": bench.model_name, "messages": messages}))["choices"][0]["message"]
    yield {"type": "RUN_FINISHED", "threadId": given.session, "runId": given.run}
    yield Outcome("answered", text=message["content"])


def runs_its_own_loop(bench, given):
    """Synchronous outside, asynchronous inside: what run_sync methods do."""
    answer = asyncio.run(bench.amodel({"model": "m", "messages": [{"role": "user", "content": "hi"}]}))
    yield Outcome("answered", text=answer["choices"][0]["message"]["content"])


def _started(given):
    return {"type": "RUN_STARTED", "threadId": given.session, "runId": given.run}


def raises(bench, given):
    yield _started(given)
    raise ValueError("no idea")


async def raises_async(bench, given):
    yield _started(given)
    raise ValueError("no idea")


def exits(bench, given):
    yield _started(given)
    raise SystemExit(3)


def blocks(bench, given):
    yield _started(given)
    LET_GO.wait()


async def blocks_its_loop(bench, given):
    yield _started(given)
    LET_GO.wait()


async def waits_forever(bench, given):
    yield _started(given)
    await asyncio.Event().wait()


async def refuses_to_be_cancelled(bench, given):
    yield _started(given)
    while not LET_GO.is_set():
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            continue


def hangs_in_its_tool(bench, given):
    yield _started(given)
    bench.call_tool("look", {}, None)


def floods(bench, given):
    while True:
        yield {"type": "CUSTOM", "name": "noise", "value": 1}


def yields_what_is_no_event(bench, given):
    yield _started(given)
    yield 42
    yield {"type": "CUSTOM", "name": "x", "value": object()}
    yield {"no": "type"}
    yield Outcome("answered")
    yield Outcome("error")


def says_nothing(bench, given):
    return iter(())


def leaks_a_late_call(bench, given):
    yield _started(given)
    threading.Timer(0, lambda: bench.model({"model": "m", "messages": [{"role": "user", "content": "late"}]})).start()


def no_open(bench):
    raise RuntimeError("no database")


class Runner:
    def __init__(self, bench, loop):
        self.run = lambda given: loop(bench, given)


def agent(loop, **info):
    return InProcessAgent(AgentInfo(loop.__name__, **info), lambda bench: Runner(bench, loop))


HONEST = agent(honest)
RAISES = agent(raises)
BLOCKS = agent(blocks)
BROKEN = InProcessAgent(AgentInfo("broken"), no_open)
NO_AGENT = object()
