"""A bench for the loop alone: replies from a list, tools from a dict, everything asked kept in order."""

import asyncio
import json
from datetime import UTC, datetime

from conformance.agent_side import Bench, RunInput
from conformance.reference.agent import reference

LOOK = {
    "name": "look",
    "description": "Looks.",
    "parameters": {"type": "object", "properties": {"at": {"type": "string"}}},
}
NOW = datetime(2026, 9, 29, 6, 39, 32, tzinfo=UTC)
KEY = "sk-secret-0123456789"


def body(text="", *, thinking=None, calls=(), stop=None, usage=None):
    message = {"role": "assistant", "content": text}
    if thinking is not None:
        message["reasoning_content"] = thinking
    if calls:
        message["tool_calls"] = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for name, arguments, call_id in calls
        ]
    reply = {
        "id": "reply-1",
        "choices": [{"index": 0, "message": message, "finish_reason": stop or ("tool_calls" if calls else "stop")}],
    }
    if usage is not None:
        reply["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
    return reply


def chunks(reply):
    """The reply as a stream of two: all that it says, and why it stopped."""
    choice = reply["choices"][0]
    envelope = {key: value for key, value in reply.items() if key != "choices"}
    yield {**envelope, "choices": [{"delta": choice["message"], "finish_reason": None}]}
    yield {"id": reply["id"], "choices": [{"delta": {}, "finish_reason": choice["finish_reason"]}]}


class Script:
    """Replies in order; an exception among them is raised. `asked` are the bodies, `ran` the executions, `slept` the waits."""

    def __init__(self, *replies, tools=None):
        self.replies = list(replies)
        self.tools = tools or {}
        self.asked = []
        self.headers = []
        self.ran = []
        self.slept = []

    def answer(self, sent, headers):
        self.asked.append(json.loads(json.dumps(sent)))
        self.headers.append(headers)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    def call_tool(self, name, arguments, call_id, within_s=None):
        self.ran.append((name, dict(arguments), call_id))
        value = self.tools[name]
        if isinstance(value, Exception):
            raise value
        return value

    def bench(self):
        async def amodel(sent, headers=None):
            return self.answer(sent, headers)

        async def astream(sent, headers=None):
            for chunk in chunks(self.answer(sent, headers)):
                yield chunk

        def stream(sent, headers=None):
            yield from chunks(self.answer(sent, headers))

        async def acall_tool(name, arguments, call_id, within_s=None):
            return self.call_tool(name, arguments, call_id, within_s)

        async def asleep(delay_s):
            self.slept.append(delay_s)

        unused = dict.fromkeys(("transport", "async_transport", "httpx_transport", "httpx_async_transport"))
        return Bench(
            model=self.answer,
            stream_model=stream,
            amodel=amodel,
            astream_model=astream,
            base_url="http://model.invalid/v1",
            api_key=KEY,
            model_name="scripted",
            tools={},
            atools={},
            call_tool=self.call_tool,
            acall_tool=acall_tool,
            now=lambda: NOW,
            sleep=self.slept.append,
            asleep=asleep,
            **unused,
        )


def asked_for(user="What is it?", *, run="r1", limits=None, stream=False, history=(), tool_choice=None, tools=(LOOK,)):
    messages = [*history, {"id": f"user-{run}", "role": "user", "content": user}]
    return RunInput(
        run=run,
        session="s1",
        input={"threadId": "s1", "runId": run, "messages": messages, "tools": list(tools)},
        limits=limits or {},
        stream=stream,
        tool_choice=tool_choice,
    )


def drained(items):
    """All that a run yields, whichever kind of iterator it is."""
    if hasattr(items, "__aiter__"):

        async def all_of():
            return [item async for item in items]

        return asyncio.run(all_of())
    return list(items)


def played(script, *runs, declared=None, entry="sync"):
    """Runs of one session; gives (events, outcome) of the last."""
    runner = reference(declared, entry=entry).open(script.bench())
    items = []
    for given in runs or (asked_for(),):
        items = drained(runner.run(given))
    return items[:-1], items[-1]
