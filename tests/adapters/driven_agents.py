"""A tiny honest loop that can be cancelled, answered, killed and run twice at once: blocking, and on an event loop."""

import asyncio
import json
import threading
from dataclasses import dataclass, field

from conformance.agent_side import AgentInfo, InProcessAgent, Outcome, ToolFailed

CAPABILITIES = {"cancel": True, "approval": True, "concurrent_runs": True, "sessions": True, "streaming": True}
KNOBS = ("tracing", "debug", "callbacks", "gate", "subagents")


def chat(message):
    """An AG-UI message in the words of the wire."""
    said = {"role": message["role"], "content": message.get("content")}
    if message.get("toolCalls"):
        said["tool_calls"] = message["toolCalls"]
    if message.get("toolCallId"):
        said["tool_call_id"] = message["toolCallId"]
    return said


def answered(messages):
    """The messages without a call that has no result: what every provider refuses."""
    done = {one.get("tool_call_id") for one in messages}
    return [one for one in messages if all(call["id"] in done for call in one.get("tool_calls") or ())]


@dataclass
class History:
    """What both loops share: a session's messages, what waits for a person, and the runs that are not wanted any more."""

    messages: list = field(default_factory=list)
    waiting: list = field(default_factory=list)
    cancelled: set = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, given):
        with self.lock:
            self.messages += [chat(one) for one in given.input["messages"]]
            # Each run goes on from what it was begun with, so that two at once do not mix.
            return answered(self.messages)

    def keep(self, messages):
        with self.lock:
            self.messages += messages


def started(given):
    return {"type": "RUN_STARTED", "threadId": given.session, "runId": given.run}


def finished(given, outcome=None):
    return {"type": "RUN_FINISHED", "threadId": given.session, "runId": given.run} | (
        {"outcome": outcome} if outcome else {}
    )


def body(bench, given, messages):
    tools = [
        {"type": "function", "function": {key: tool[key] for key in ("name", "description", "parameters")}}
        for tool in given.input["tools"]
    ]
    return {"model": bench.model_name, "messages": messages} | ({"tools": tools} if tools else {})


def approvals(given, calls):
    """The calls that a person has to allow first, as AG-UI interrupts."""
    asks = {tool["name"] for tool in given.input["tools"] if (tool.get("metadata") or {}).get("approval")}
    return [
        {"id": f"i-{call['id']}", "reason": "approval", "toolCallId": call["id"]}
        for call in calls
        if call["function"]["name"] in asks
    ]


def shown(call):
    return {"type": "TOOL_CALL_START", "toolCallId": call["id"], "toolCallName": call["function"]["name"]}


def result(call, value):
    return {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(value)}


def allowed(given, call):
    return any(
        one["interruptId"] == f"i-{call['id']}" and one["payload"]["approved"] for one in given.input.get("resume", ())
    )


def joined(chunks):
    """A streamed reply as a message."""
    message = {"role": "assistant", "content": None}
    for chunk in chunks:
        for choice in chunk.get("choices", ()):
            delta = choice["delta"]
            if delta.get("content"):
                message["content"] = (message["content"] or "") + delta["content"]
            for call in delta.get("tool_calls") or ():
                calls = message.setdefault("tool_calls", [])
                if call.get("id"):
                    function = {"name": call["function"]["name"], "arguments": ""}
                    calls.append({"id": call["id"], "type": "function", "function": function})
                calls[call.get("index", -1)]["function"]["arguments"] += call["function"].get("arguments") or ""
    return message


class Blocking:
    """It looks whether it is cancelled wherever it comes back from something."""

    def __init__(self, bench):
        self.bench = bench
        self.history = History()

    def cancel(self, run):
        self.history.cancelled.add(run)

    def run(self, given):
        history = self.history
        yield started(given)
        messages = history.begin(given)
        fresh = []

        def gone():
            return given.run in history.cancelled

        pending = history.waiting
        history.waiting = []
        while True:
            if not pending:
                message = self.asked(given, messages + fresh, gone)
                if message is None or gone():
                    break
                fresh.append(message)
                pending = message.get("tool_calls") or []
                if not pending:
                    history.keep(fresh)
                    yield finished(given)
                    yield Outcome("answered", text=message["content"])
                    return
            else:
                fresh.append({"role": "assistant", "content": None, "tool_calls": pending})
            interrupts = approvals(given, pending) if not given.input.get("resume") else []
            for call in pending:
                yield shown(call)
            if interrupts:
                history.waiting = pending
                history.keep(fresh[:-1])
                yield finished(given, {"type": "interrupt", "interrupts": interrupts})
                yield Outcome("waiting")
                return
            fresh += [result(call, self.acted(given, call, gone)) for call in pending]
            pending = []
            if gone():
                break
        history.keep(answered(fresh))
        yield finished(given, {"type": "cancelled"})
        yield Outcome("interrupted", "cancelled")

    def asked(self, given, messages, gone):
        if not given.stream:
            return self.bench.model(body(self.bench, given, messages))["choices"][0]["message"]
        chunks = []
        for chunk in self.bench.stream_model(body(self.bench, given, messages)):
            if gone():
                return None
            chunks.append(chunk)
        return joined(chunks)

    def acted(self, given, call, gone):
        if gone():
            return "not run: cancelled"
        if given.input.get("resume") and not allowed(given, call):
            return "not run: refused"
        try:
            return self.bench.call_tool(call["function"]["name"], json.loads(call["function"]["arguments"]), call["id"])
        except ToolFailed as failed:
            return str(failed)


class OnALoop:
    """Its task is cancelled, from whichever thread that is asked."""

    def __init__(self, bench):
        self.bench = bench
        self.history = History()
        self.tasks = {}

    def cancel(self, run):
        loop, task = self.tasks[run]
        loop.call_soon_threadsafe(task.cancel)

    async def run(self, given):
        yield started(given)
        fresh = []
        work = asyncio.ensure_future(self.answer(given, self.history.begin(given), fresh))
        self.tasks[given.run] = asyncio.get_running_loop(), work
        try:
            text = await work
        except asyncio.CancelledError:
            if not work.cancelled():
                work.cancel()
                raise
            self.history.keep(answered(fresh))
            yield finished(given, {"type": "cancelled"})
            yield Outcome("interrupted", "cancelled")
            return
        self.history.keep(fresh)
        yield finished(given)
        yield Outcome("answered", text=text)

    async def answer(self, given, messages, fresh):
        while True:
            asks = body(self.bench, given, messages + fresh)
            if given.stream:
                message = joined([chunk async for chunk in self.bench.astream_model(asks)])
            else:
                message = (await self.bench.amodel(asks))["choices"][0]["message"]
            fresh.append(message)
            for call in message.get("tool_calls") or ():
                name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
                fresh.append(result(call, await self.bench.acall_tool(name, arguments, call["id"])))
            if not message.get("tool_calls"):
                return message["content"]


class Impatient(Blocking):
    """It waits three seconds for a tool."""

    def acted(self, given, call, gone):
        try:
            name = call["function"]["name"]
            return self.bench.call_tool(name, json.loads(call["function"]["arguments"]), call["id"], within_s=3)
        except ToolFailed as failed:
            return f"{failed.type} {failed.timed_out} {self.bench.now().isoformat()}"


class Unwilling(Blocking):
    """Its cancel raises."""

    def cancel(self, run):
        raise RuntimeError(f"no {run}")


class Catching(Blocking):
    """It survives whatever it can, a SystemExit too."""

    def asked(self, given, messages, gone):
        for _ in range(50):
            try:
                return super().asked(given, messages, gone)
            except BaseException:  # noqa: BLE001 - what the test is about
                continue
        return None


def agent(opens, name, **more):
    info = AgentInfo(name, capabilities=CAPABILITIES, knobs=KNOBS, **more)
    return InProcessAgent(info, opens)


BLOCKING = agent(Blocking, "blocking")
ON_A_LOOP = agent(OnALoop, "on-a-loop")
IMPATIENT = agent(Impatient, "impatient")
UNWILLING = agent(Unwilling, "unwilling")
CATCHING = agent(Catching, "catching")
BARE = InProcessAgent(AgentInfo("bare"), Blocking)
