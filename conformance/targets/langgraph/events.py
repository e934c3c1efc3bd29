"""
AG-UI messages as LangChain's, and the stream of LangGraph's prebuilt agent as AG-UI events, piece by piece.

Adds no event, closes none and mends none.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.callbacks import UsageMetadataCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage, convert_to_messages
from langchain_core.runnables import RunnableConfig

from conformance.agent_side import Outcome, RunInput
from conformance.targets.shown import Event, Streamed, call, result, text


async def events(agent: Any, given: Any, config: RunnableConfig, *, stream: bool) -> AsyncIterator[Event]:
    """
    What a run of the graph shows. Unstreamed, a reply is shown whole, once its step is over.

    It is the mode `messages` that makes the graph ask its model for streamed replies.
    """
    shown = _Shown()
    async for mode, item in agent.astream(
        given, config, stream_mode=["messages", "updates"] if stream else ["updates"]
    ):
        for event in shown.piece(item[0]) if mode == "messages" else shown.step(item):
            yield event


class _Shown:
    """What was shown of the replies so far: the calls of the one that streams now by place, and the texts of all by message."""

    def __init__(self) -> None:
        self._open = Streamed()
        self._calls: dict[Any, str] = {}
        self._streamed: set[str | None] = set()
        self._spoken: defaultdict[str | None, str] = defaultdict(str)

    def piece(self, message: Any) -> Iterator[Event]:
        """A piece of a reply. The mode gives the tools' messages too, which their step shows already."""
        if not isinstance(message, AIMessageChunk):
            return
        self._streamed.add(message.id)
        if message.text:
            self._spoken[message.id] += message.text
            yield from self._open.text(str(message.id), message.text)
        for one in message.tool_call_chunks:
            yield from self._call(one["index"], one["id"], one["name"], one["args"])
        if message.chunk_position == "last":
            yield from self._open.end()
            self._calls.clear()

    def _call(self, index: Any, call_id: str | None, name: str | None, arguments: str | None) -> Iterator[Event]:
        """As LangChain joins them: by index, unless another id says that a new call begins."""
        if call_id and name and self._calls.get(index) != call_id:
            # Calls of one id cannot be open side by side, and one that is begun anew on an index ends the one before.
            for other in [one for one, known in self._calls.items() if known == call_id or one == index]:
                yield from self._open.end(other)
            self._calls[index] = call_id
        yield from self._open.call(index, call_id, name, arguments)

    def step(self, update: dict[str, Any]) -> Iterator[Event]:
        """What a step of the graph gave: results, or a reply as far as it was not streamed."""
        for message in (message for given in update.values() for message in given["messages"]):
            # A call without an id, or with an empty one, cannot be shown, nor can its result.
            if isinstance(message, ToolMessage) and message.tool_call_id:
                yield result(message.tool_call_id, message.content)
            elif isinstance(message, AIMessage):
                # At the limit the graph puts a text of its own in a reply's place, under its id.
                if message.text and message.text != self._spoken[message.id]:
                    yield from text(str(message.id), message.text)
                for one in () if message.id in self._streamed else (*message.tool_calls, *message.invalid_tool_calls):
                    if one["id"]:
                        yield from call(one["id"], one["name"], one["args"])


def usage(spent: UsageMetadataCallbackHandler) -> tuple[int, int] | None:
    """The run's input and output tokens, where the model reported any."""
    models = list(spent.usage_metadata.values())
    return (sum(one["input_tokens"] for one in models), sum(one["output_tokens"] for one in models)) if models else None


def outcome(last: AIMessage) -> Outcome:
    """A graph that is not raised out of has one way to end; what else there is to know stands in its last message."""
    reason = last.response_metadata.get("finish_reason")
    match reason:
        case "length":
            kind = "truncated" if last.text or last.invalid_tool_calls else "overflow"
        case "content_filter":
            kind = "filtered"
        case _:
            kind = "error" if last.invalid_tool_calls else "answered"
    return Outcome(kind, reason, last.text)


def messages(given: RunInput) -> list[BaseMessage]:
    """What goes into the conversation; the system text is the agent's, which puts it before every request."""
    return convert_to_messages([_message(**one) for one in given.input["messages"] if one["role"] != "system"])


def _message(role: str, content: Any = "", **rest: Any) -> dict[str, Any]:
    """An AG-UI message in the form of OpenAI's, which LangChain reads. Ids stay out: an equal one would replace a message."""
    kept = {"toolCalls": "tool_calls", "toolCallId": "tool_call_id", "name": "name"}
    return {"role": role, "content": content or "", **{kept[key]: value for key, value in rest.items() if key in kept}}
