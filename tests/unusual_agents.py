"""Agents that are right and unusual: the reference behind one habit each that real frameworks have. None of them may be failed."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from conformance.agent_side import Bench, InProcessAgent, Outcome
from conformance.reference import reference
from conformance.reference.acting import checked, parsed
from conformance.reference.loop import HONEST
from conformance.reference.steps import Execution

REMINDER = "\n<system-reminder>Today is a working day. This is no request of the user's.</system-reminder>"
TITLE = "Write a title for this conversation."


def agent(
    name, *, declared=None, bench=lambda bench: bench, shown=None, channels=None, session=None, entry="sync", **parts
):
    parts |= {} if shown is None else {"shown": shown}
    made = reference(declared, bench=bench, entry=entry, parts=replace(HONEST, **parts))
    info = replace(made.info, name=name, profile=None, **({} if channels is None else {"channels": channels}))
    return InProcessAgent(info, made.open if session is None else lambda given: session(made.open(given), given))


def asked_with(change, headers=None):
    """The bench of an agent whose requests go through `change` before they are sent."""

    def wrapped(bench: Bench) -> Bench:
        more = headers or {}
        return replace(
            bench,
            model=lambda body, headers=None: bench.model(change(body), headers={**(headers or {}), **more}),
            stream_model=lambda body, headers=None: bench.stream_model(
                change(body), headers={**(headers or {}), **more}
            ),
        )

    return wrapped


def with_messages(change):
    return asked_with(lambda body: {**body, "messages": change([dict(one) for one in body["messages"]])})


def one_system_message(messages):
    told = [one["content"] for one in messages if one["role"] == "system"]
    rest = [one for one in messages if one["role"] != "system"]
    return [{"role": "system", "content": "\n\n".join(["You are a careful assistant.", *told])}, *rest]


def renumbered(messages):
    known: dict[str, str] = {}
    for one in messages:
        if calls := one.get("tool_calls"):
            one["tool_calls"] = [{**c, "id": known.setdefault(c["id"], f"toolu_{len(known) + 1:04}")} for c in calls]
        if "tool_call_id" in one:
            one["tool_call_id"] = known[one["tool_call_id"]]
    return messages


def reminded(messages):
    last = max((at for at, one in enumerate(messages) if one["role"] == "user"), default=None)
    if last is not None:
        messages[last]["content"] += REMINDER
    return messages


def reminded_in_a_message(messages):
    return [*messages, {"role": "user", "content": REMINDER.strip()}]


def rewritten_arguments(messages):
    for one in messages:
        for call in one.get("tool_calls", ()):
            arguments = json.loads(call["function"]["arguments"])
            call["function"] = {**call["function"], "arguments": json.dumps(arguments, indent=1, sort_keys=True)}
    return messages


def silent(_run):
    return lambda item: (item,) if isinstance(item, Outcome) else ()


def whole_messages(_run):
    """Text, thought and arguments are each one event, given when they are whole."""
    kept: dict[str, dict[str, Any]] = {}

    def shown(item):
        kind = item.get("type", "") if isinstance(item, Mapping) else ""
        key = item.get("messageId") or item.get("toolCallId") if kind else None
        if kind.endswith(("_CONTENT", "_ARGS")):
            held = kept.setdefault(key, {**item, "delta": ""})
            held["delta"] += item["delta"]
            return ()
        return (kept.pop(key), item) if key in kept and kind.endswith("_END") else (item,)

    return shown


def with_spans(_run):
    """Thought stands in a span of its own."""

    def shown(item):
        kind = item.get("type") if isinstance(item, Mapping) else None
        if kind == "REASONING_MESSAGE_START":
            return ({"type": "REASONING_START", "messageId": f"span-{item['messageId']}"}, item)
        if kind == "REASONING_MESSAGE_END":
            return (item, {"type": "REASONING_END", "messageId": f"span-{item['messageId']}"})
        return (item,)

    return shown


def a_run_before(run):
    """The stream begins with another run's, whole: what a client that reconnects is played first."""
    thread = run.thread

    def shown(item):
        if isinstance(item, Mapping) and item.get("type") == "RUN_STARTED":
            other = {"threadId": thread, "runId": f"warm-up-of-{item['runId']}"}
            return ({"type": "RUN_STARTED", **other}, {"type": "RUN_FINISHED", **other}, item)
        return (item,)

    return shown


def steps_and_states(_run):
    """Steps, states and snapshots that no rule asks for stand among the events."""

    def shown(item):
        kind = item.get("type") if isinstance(item, Mapping) else None
        if kind == "RUN_STARTED":
            state = {"type": "STATE_SNAPSHOT", "snapshot": {"phase": "begun"}}
            return (item, state, {"type": "STEP_STARTED", "stepName": "plan"})
        if kind in ("RUN_FINISHED", "RUN_ERROR"):
            return ({"type": "STEP_FINISHED", "stepName": "plan"}, item)
        return (item,)

    return shown


@dataclass
class Titled:
    """A session that asks its model for a title before the first round, or behind the last."""

    runner: Any
    bench: Bench
    headers: Mapping[str, str]
    first: bool

    def run(self, given):
        if self.first:
            self._title()
        kept = None
        for item in self.runner.run(given):
            if isinstance(item, Outcome) or item.get("type") in ("RUN_FINISHED", "RUN_ERROR"):
                if kept is None and not self.first:
                    self._title()
                kept = item
            yield item

    def cancel(self, run):
        self.runner.cancel(run)

    def _title(self):
        body = {"model": self.bench.model_name, "messages": [{"role": "user", "content": TITLE}]}
        self.bench.model(body, headers=self.headers)


def titled(*, first, headers=None):
    return lambda runner, bench: Titled(runner, bench, headers or {}, first)


@dataclass
class Queued:
    """A session whose loop is a task of its own, which hands on what it tells through a queue; `at_once` when it is over."""

    runner: Any
    at_once: bool

    async def run(self, given):
        queue: asyncio.Queue[Any] = asyncio.Queue()

        async def loop():
            async for item in self.runner.run(given):
                queue.put_nowait(item)

        task = asyncio.ensure_future(loop())
        task.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            if self.at_once:
                await asyncio.wait({task})
            while (item := await queue.get()) is not None:
                yield item
            await task
        finally:
            task.cancel()

    def cancel(self, run):
        self.runner.cancel(run)


def queued(*, at_once):
    return lambda runner, _bench: Queued(runner, at_once)


def taken_back(run, ending):
    """A turn that was cancelled is none: its user's message goes with all that came of it."""
    messages = run.session.messages
    if ending.kind == "interrupted":
        del messages[max((at for at, one in enumerate(messages) if one["role"] == "user"), default=0) :]
    return ending


def asked_of_the_host(call, tools, extra_args):
    """Whether there is a tool is asked of who has them, and not looked up."""
    unknown = call.tool not in tools and parsed(call.arguments) is not None
    return Execution(call.tool, parsed(call.arguments), call.id) if unknown else checked(call, tools, extra_args)


SAID_TO_BE_ASIDE = {"X-Conformance-Call": "auxiliary"}
TITLE_MATCHER = {"side_calls": {"auxiliary": [{"text": TITLE}]}}

UNUSUAL = (
    agent("no events", declared={"events": "none"}, shown=silent, channels=("M", "T", "R")),
    agent("model and tools alone, no word of its end", shown=silent, declared={"events": "none"}, channels=("M", "T")),
    agent("one system message, with words of its own", bench=with_messages(one_system_message)),
    agent("ids of its own", bench=with_messages(renumbered)),
    agent("arguments spelled anew", bench=with_messages(rewritten_arguments)),
    agent("a reminder in the user's last message", bench=with_messages(reminded)),
    agent("a reminder in a message of its own", bench=with_messages(reminded_in_a_message)),
    agent("whole messages", shown=whole_messages),
    agent("spans around its thoughts", shown=with_spans),
    agent("another run in front of its stream", shown=a_run_before),
    agent("steps and states among its events", shown=steps_and_states),
    agent("a title first, said by header", session=titled(first=True, headers=SAID_TO_BE_ASIDE)),
    agent("a title first, declared by a matcher", session=titled(first=True), declared=TITLE_MATCHER),
    agent("events through a queue", entry="async", session=queued(at_once=False)),
    agent("events when the run is over", entry="async", session=queued(at_once=True)),
    agent("cancelled turns taken back", ending=taken_back),
    agent("a tool that there is not is asked of their host", checked=asked_of_the_host),
    agent("a title last, said by header", session=titled(first=False, headers=SAID_TO_BE_ASIDE)),
)
