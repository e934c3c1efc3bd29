"""Agent Framework's own updates as AG-UI events, piece by piece: it has no brackets, so a reply's are closed where the reply ends."""

from collections.abc import AsyncIterator, Iterator
from itertools import count

from agent_framework import AgentResponse, AgentResponseUpdate, Content

from conformance.targets.shown import Event, Streamed, call, result, text


async def streamed(updates: AsyncIterator[AgentResponseUpdate], run: str) -> AsyncIterator[Event]:
    """What a stream shows. A reply is over with its finish reason, where the results of its calls come, or with the stream."""
    brackets, calls = Streamed(), dict[str, str]()
    async for update in updates:
        for content in update.contents:
            for shown in _piece(content, update.message_id or run, brackets, calls):
                yield shown
        if update.finish_reason is not None:
            for shown in brackets.end():
                yield shown
    for shown in brackets.end():
        yield shown


def _piece(content: Content, message: str, brackets: Streamed, calls: dict[str, str]) -> Iterator[Event]:
    """The framework tells calls apart by an id of its own, which is also what it calls one by that has none."""
    if content.type == "text":
        yield from brackets.text(message, content.text or "")
    elif content.type == "function_call":
        call_id = content.call_id or content.id
        # Calls of one id cannot be open side by side.
        if calls.setdefault(call_id, content.id) != content.id:
            yield from brackets.end(calls[call_id])
            calls[call_id] = content.id
        yield from brackets.call(content.id, call_id, content.name, content.arguments)
    elif content.type == "function_result":
        yield from brackets.end()
        yield result(content.call_id, content.result)


def whole(response: AgentResponse, run: str) -> Iterator[Event]:
    """What a run that was not streamed gives: all its messages, once it is over."""
    names = (f"{run}-{number}" for number in count(1))
    for message in response.messages:
        name = next(names)
        for content in message.contents:
            if content.type == "text":
                yield from text(name, content.text or "")
            elif content.type == "function_call":
                yield from call(content.call_id, content.name, content.arguments)
            elif content.type == "function_result":
                yield result(content.call_id, content.result)
