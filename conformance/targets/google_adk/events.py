"""Google ADK's own events as AG-UI events, one by one, and AG-UI messages as its contents. Adds none and mends none."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

from google.adk.events import Event as Told
from google.adk.flows.llm_flows.core._model_call import NO_CONTENT_ERROR_CODE
from google.genai import types

from conformance.agent_side import Outcome, RunInput
from conformance.targets.shown import Event, Streamed, call, finished, result

#: What an error code or a finish reason says of the end (google/genai/types.py, FinishReason and BlockedReason).
KINDS = {
    NO_CONTENT_ERROR_CODE: "empty",
    "MAX_TOKENS": "truncated",
    **dict.fromkeys(("SAFETY", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "RECITATION", "OTHER"), "filtered"),
}


async def events(told: Any, seen: list[Told]) -> AsyncIterator[Event]:
    """
    What a run shows; `seen` gathers the events that ADK keeps.

    A reply that streams comes in partial events and then once more, whole, under the same id. Texts are shown as they come; calls
    once they are whole, since a partial event may hold one whose arguments have not arrived.
    """
    brackets, streamed = Streamed(), False
    async with aclosing(told) as coming:
        async for event in coming:
            for part in (event.content and event.content.parts) or ():
                for shown in _part(event, part, brackets, again=streamed and not event.partial):
                    yield shown
            streamed = bool(event.partial)
            if not event.partial:
                seen.append(event)
                for shown in brackets.end():
                    yield shown


def _part(event: Told, part: types.Part, brackets: Streamed, *, again: bool) -> Iterator[Event]:
    if part.text and part.thought and not again:
        yield from brackets.text(f"{event.id}-thought", part.text, "REASONING_MESSAGE", "reasoning")
    elif part.text and not again:
        yield from brackets.text(event.id, part.text)
    elif part.function_call and not event.partial:
        yield from call(str(part.function_call.id), str(part.function_call.name), part.function_call.args)
    elif part.function_response:
        yield result(str(part.function_response.id), part.function_response.response)


def ending(given: RunInput, final: Told | None) -> Event:
    """The end of a run. ADK has no event for it: the last one that it keeps has an error code, or has none."""
    if final is None or not final.error_code:
        return finished(given)
    code = _word(final.error_code)
    return {"type": "RUN_ERROR", "message": final.error_message or code, "code": code}


def outcome(final: Told | None) -> Outcome:
    """How the run's last event says that it ended. A run may end without one that ADK keeps, and without a word of why."""
    if final is None:
        return Outcome("answered", None, "")
    parts = (final.content and final.content.parts) or ()
    text = "".join(part.text for part in parts if part.text and not part.thought)
    reason = _word(final.error_code or final.finish_reason)
    kind = KINDS.get(reason, "error" if final.error_code else "answered")
    if kind == "truncated" and not text:
        kind = "overflow"
    return Outcome(kind, final.error_message or reason, text)


def _word(reason: Any) -> str:
    """A code is a text, or one of the model's reasons."""
    return str(getattr(reason, "value", reason))


def content(calls: dict[str, str], role: str, content: str | None = None, **rest: Any) -> types.Content:
    """An AG-UI message as ADK keeps one; `calls` gathers the names, which an answer to a call has to repeat."""
    if role == "tool":
        call = rest["toolCallId"]
        told = types.FunctionResponse(id=call, name=calls[call], response={"result": content})
        return types.Content(role="user", parts=[types.Part(function_response=told)])
    parts = [types.Part(text=content)] if content else []
    for call in rest.get("toolCalls") or ():
        name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"] or "{}")
        calls[call["id"]] = name
        parts.append(types.Part(function_call=types.FunctionCall(id=call["id"], name=name, args=arguments)))
    return types.Content(role="user" if role == "user" else "model", parts=parts)
