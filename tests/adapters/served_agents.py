"""Agents that `python -m conformance.agent_side` serves, each one way to be written or to go wrong. Imported in a process of its own."""

import importlib
import logging
import os
import subprocess
import sys
import threading

from conformance.agent_side import AgentInfo, InProcessAgent, ModelError, Outcome, StreamBroken, ToolFailed

print("printed at import")  # noqa: T201 - what agents do
os.write(1, b"written at import\n")


def _body(bench, given):
    messages = [{"role": m["role"], "content": m["content"]} for m in given.input["messages"]]
    return {"model": bench.model_name, "messages": messages}


def _text(reply):
    return reply["choices"][0]["message"]["content"]


def _joined(chunks):
    return "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks if chunk["choices"])


def _started(given):
    return {"type": "RUN_STARTED", "threadId": given.session, "runId": given.run}


# Ways to ask.


def blocking(bench, given):
    yield _started(given)
    yield Outcome("answered", text=_text(bench.model(_body(bench, given))))


def streaming(bench, given):
    yield Outcome("answered", text=_joined(bench.stream_model(_body(bench, given))))


async def asynchronous(bench, given):
    yield _started(given)
    yield Outcome("answered", text=_text(await bench.amodel(_body(bench, given))))


async def asynchronous_streaming(bench, given):
    chunks = [chunk async for chunk in bench.astream_model(_body(bench, given))]
    yield Outcome("answered", text=_joined(chunks))


async def a_coroutine(bench, given):
    return [Outcome("answered", text=_text(await bench.amodel(_body(bench, given))))]


def _sdk(bench, given, library, transport):
    import openai  # noqa: PLC0415 - slow to import

    client = openai.OpenAI(
        base_url=bench.base_url,
        api_key=bench.api_key,
        max_retries=0,
        http_client=library.Client(transport=transport()),
    )
    with client:
        reply = client.chat.completions.create(**_body(bench, given))
    return [Outcome("answered", text=reply.choices[0].message.content)]


def sdk_on_httpx2(bench, given):
    import httpx2  # noqa: PLC0415 - only here

    return _sdk(bench, given, httpx2, bench.transport)


def sdk_on_httpx(bench, given):
    import httpx  # noqa: PLC0415 - only here

    return _sdk(bench, given, httpx, bench.httpx_transport)


def _async_sdk(library, transport):
    async def run(bench, given):
        import openai  # noqa: PLC0415 - slow to import

        http = importlib.import_module(library).AsyncClient(transport=getattr(bench, transport)())
        async with openai.AsyncOpenAI(
            base_url=bench.base_url, api_key=bench.api_key, max_retries=0, http_client=http
        ) as client:
            reply = await client.chat.completions.create(**_body(bench, given))
        return [Outcome("answered", text=reply.choices[0].message.content)]

    return run


async_sdk_on_httpx2 = _async_sdk("httpx2", "async_transport")
async_sdk_on_httpx = _async_sdk("httpx", "httpx_async_transport")


# Ways to fail.


def _said(error):
    if isinstance(error, ModelError):
        return f"ModelError {error.status} {error.body['error']['code']} {error.headers.get('retry-after')}"
    return type(error).__name__


def tells_what_its_model_raised(bench, given):
    try:
        bench.model(_body(bench, given))
    except (ModelError, StreamBroken) as error:
        yield Outcome("model_error", _said(error))


def tells_what_its_stream_raised(bench, given):
    try:
        list(bench.stream_model(_body(bench, given)))
    except (ModelError, StreamBroken) as error:
        yield Outcome("model_error", _said(error))


async def tells_what_its_async_stream_raised(bench, given):
    try:
        async for _ in bench.astream_model(_body(bench, given)):
            pass
    except (ModelError, StreamBroken) as error:
        yield Outcome("model_error", _said(error))


def tells_what_its_tools_gave(bench, given):
    said = []
    for ask in (
        lambda: bench.tools["look"](word="tide"),
        lambda: bench.call_tool("look", {"word": "tide"}, "call_é1"),
        bench.tools["look"],
        bench.tools["fall"],
        lambda: bench.call_tool("nothing", {}, None),
    ):
        try:
            said.append(repr(ask()))
        except ToolFailed as failed:
            said.append(f"{failed.type} rejected={failed.rejected}")
    yield Outcome("answered", text=" | ".join(said))


async def tells_what_its_async_tools_gave(bench, given):
    said = [repr(await bench.atools["look"](word="tide")), repr(await bench.acall_tool("look", {"word": "tide"}, "c1"))]
    try:
        await bench.atools["fall"]()
    except ToolFailed as failed:
        said.append(f"{failed.type} rejected={failed.rejected}")
    yield Outcome("answered", text=" | ".join(said))


def raises(bench, given):
    yield _started(given)
    raise KeyError("no idea")


async def raises_async(bench, given):
    yield _started(given)
    raise KeyError("no idea")


def exits(bench, given):
    yield _started(given)
    sys.exit(7)


async def exits_async(bench, given):
    yield _started(given)
    sys.exit(7)


class Unreadable(Exception):  # noqa: N818 - named as what it is
    def __str__(self):
        raise RuntimeError("not readable either")


def raises_what_cannot_be_read(bench, given):
    yield _started(given)
    raise Unreadable


def says_nothing(bench, given):
    return iter(())


def yields_what_is_no_event(bench, given):
    yield _started(given)
    yield 42


def yields_what_is_no_json(bench, given):
    yield {"type": "CUSTOM", "name": "n", "value": object()}


def yields_a_number_that_json_has_not(bench, given):
    yield {"type": "CUSTOM", "name": "n", "value": float("nan")}


def yields_an_event_beyond_the_line_limit(bench, given):
    yield {"type": "CUSTOM", "name": "n", "value": "x" * (8 * 1024 * 1024)}


def claims_what_is_no_text(bench, given):
    yield Outcome(7, reason=["r"], text=b"bytes")


def claims_twice(bench, given):
    yield Outcome("answered", text="first")
    yield Outcome("error", text="second")


def gives_an_outcome_that_is_no_iterator(bench, given):
    return Outcome("answered")


def yields_half_a_surrogate_pair(bench, given):
    yield Outcome("answered", text="half \ud83d of a pair")


# What else an agent does.


def prints(bench, given):
    print("printed in a run")  # noqa: T201 - what agents do
    os.write(1, b"written in a run\n")
    subprocess.run(["sh", "-c", "echo printed by a child; read line; echo read $line"], check=True)
    yield from blocking(bench, given)
    if given.run == "r2":
        threading.Event().wait()


def logs(bench, given):
    logging.getLogger("agent.loop").debug("round %d", 1)
    logging.getLogger("agent.loop").warning("%d is no number", "one")
    yield Outcome("answered")


class Waiting:
    """Waits until it is cancelled, and ends as an agent should."""

    def __init__(self, bench):
        self.cancelled = threading.Event()

    def run(self, given):
        yield _started(given)
        self.cancelled.wait()
        yield {"type": "RUN_FINISHED", "threadId": given.session, "runId": given.run}
        yield Outcome("interrupted")

    def cancel(self, run):
        self.cancelled.set()
        raise RuntimeError(f"cancelled {run}")


class Closing:
    """Says on stderr that it was closed."""

    def __init__(self, bench):
        self.bench = bench

    def run(self, given):
        return blocking(self.bench, given)

    async def close(self):
        sys.stderr.write("closed\n")
        sys.stderr.flush()


class Runner:
    def __init__(self, way, bench):
        self.run = lambda given: way(bench, given)


def no_open(bench):
    raise RuntimeError("no database")


def agent(way, **info):
    return InProcessAgent(AgentInfo(way.__name__, **info), lambda bench: Runner(way, bench))


def __getattr__(name):
    """Each function of this file as an agent: `A_blocking`."""
    if not name.startswith("A_"):
        raise AttributeError(name)
    return agent(globals()[name[2:]])


LOGS = agent(logs, channels=("M", "T", "R", "L"))
WAITING = InProcessAgent(AgentInfo("waiting", capabilities={"cancel": True}), Waiting)
CLOSING = InProcessAgent(AgentInfo("closing"), Closing)
UNOPENED = InProcessAgent(AgentInfo("unopened"), no_open)
NO_AGENT = object()
