"""LangChain's own stream as AG-UI events, piece by piece. Adds none, closes none and mends none."""

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

from langchain.messages import AIMessage, AIMessageChunk, AnyMessage, RemoveMessage, ToolMessage
from langchain_core.callbacks import UsageMetadataCallbackHandler
from langchain_core.messages import ToolCallChunk
from langchain_core.runnables import RunnableConfig

Event = dict[str, Any]


@dataclass(slots=True)
class _Open:
    """The brackets of the reply that streams now: its text's message, and each call by its index."""

    text: str | None = None
    calls: dict[int | None, str] = field(default_factory=dict)


async def events(agent: Any, given: Any, config: RunnableConfig, *, stream: bool) -> AsyncIterator[Event]:
    """
    What a run of the graph shows. Unstreamed, a reply is shown whole, once its step is over.

    It is the mode `messages` that makes the graph ask its model for streamed replies.
    """
    modes, brackets = (["messages", "updates"] if stream else ["updates"]), _Open()
    told = {message.id for message in (await agent.aget_state(config)).values.get("messages", ())}
    async for mode, item in agent.astream(given, config, stream_mode=modes):
        for shown in _delta(item[0], brackets) if mode == "messages" else _step(item, told, whole=not stream):
            yield shown


def _delta(message: AnyMessage, brackets: _Open) -> Iterator[Event]:
    """A piece of a reply. The mode gives the tools' messages too, which their step shows already."""
    if not isinstance(message, AIMessageChunk):
        return
    if message.text:
        if brackets.text is None:
            brackets.text = str(message.id)
            yield {"type": "TEXT_MESSAGE_START", "messageId": brackets.text, "role": "assistant"}
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": brackets.text, "delta": message.text}
    for piece in message.tool_call_chunks:
        yield from _piece(piece, brackets.calls)
    if message.chunk_position == "last":
        if brackets.text is not None:
            yield {"type": "TEXT_MESSAGE_END", "messageId": brackets.text}
        yield from ({"type": "TOOL_CALL_END", "toolCallId": call} for call in brackets.calls.values())
        brackets.text, brackets.calls = None, {}


def _piece(piece: ToolCallChunk, calls: dict[int | None, str]) -> Iterator[Event]:
    """As LangChain joins them: by index, unless another id says that a new call begins. Without an id no call can be shown."""
    index, call = piece["index"], piece["id"]
    if call is not None and piece["name"] and calls.get(index) != call:
        # Calls of one id cannot be open side by side.
        for other in [other for other, open_call in calls.items() if open_call == call]:
            yield {"type": "TOOL_CALL_END", "toolCallId": calls.pop(other)}
        calls[index] = call
        yield {"type": "TOOL_CALL_START", "toolCallId": call, "toolCallName": piece["name"]}
    if index in calls:
        yield from _arguments(calls[index], piece["args"])


def _step(update: dict[str, Any], told: set[str | None], *, whole: bool) -> Iterator[Event]:
    """What a step of the graph gave: results, or a reply."""
    for message in (message for given in update.values() for message in _new(given["messages"], told)):
        if isinstance(message, ToolMessage):
            yield from _result(message)
        elif isinstance(message, AIMessage) and whole:
            yield from _reply(message)


def _new(messages: list[AnyMessage], told: set[str | None]) -> Iterator[AnyMessage]:
    """
    A step's messages that were not told of before.

    Before a reply the model's step may give the whole history again, in which it has answered calls that it could not read.
    """
    again = isinstance(messages[0], RemoveMessage)
    unread = {
        call["id"] for message in messages if isinstance(message, AIMessage) for call in message.invalid_tool_calls
    }
    for message in messages[:-1] if again else []:
        if isinstance(message, ToolMessage) and message.tool_call_id in unread and message.id not in told:
            told.add(message.id)
            yield message
    yield from messages[-1:] if again else messages
    told.update(message.id for message in messages)


def _reply(message: AIMessage) -> Iterator[Event]:
    if message.text:
        yield {"type": "TEXT_MESSAGE_START", "messageId": message.id, "role": "assistant"}
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": message.id, "delta": message.text}
        yield {"type": "TEXT_MESSAGE_END", "messageId": message.id}
    for call in (*message.tool_calls, *message.invalid_tool_calls):
        if call["id"] is None:
            continue
        yield {"type": "TOOL_CALL_START", "toolCallId": call["id"], "toolCallName": call["name"]}
        yield from _arguments(call["id"], call["args"])
        yield {"type": "TOOL_CALL_END", "toolCallId": call["id"]}


def _result(message: ToolMessage) -> Iterator[Event]:
    content = message.content if isinstance(message.content, str) else _json(message.content)
    call = message.tool_call_id
    yield {"type": "TOOL_CALL_RESULT", "messageId": f"{call}-result", "toolCallId": call, "content": content}


def _arguments(call: str, arguments: str | dict[str, Any] | None) -> Iterator[Event]:
    if arguments is not None and arguments != "":
        delta = arguments if isinstance(arguments, str) else _json(arguments)
        yield {"type": "TOOL_CALL_ARGS", "toolCallId": call, "delta": delta}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def usage(spent: UsageMetadataCallbackHandler) -> Event:
    """The run's tokens, where the model reported any."""
    models = list(spent.usage_metadata.values())
    if not models:
        return {}
    tokens = {
        "inputTokens": sum(model["input_tokens"] for model in models),
        "outputTokens": sum(model["output_tokens"] for model in models),
    }
    return {"usage": [tokens]}
