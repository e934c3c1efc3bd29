"""A raw Responses request as rules look at it: items, content, tools, and which output answers which call. Pure; judges nothing."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from fake_models.provider_rules.rule import Fields
from fake_models.wire.memory import Earlier
from fake_models.wire.openai_responses_memory import CONTINUES, is_reference

#: The kind of a call and its id.
Called = tuple[str, Any]
#: Keys that stand for what the provider has stored.
ELSEWHERE = (CONTINUES, "conversation", "prompt")

#: What a result answers; an item of the same name that ends in _output is one.
CALLS = ("function_call", "custom_tool_call")


class Body:
    """
    A raw request body and what several rules look for in it, found once.

    One that went on from a stored response comes resumed: what still names a response names one that is not stored.
    """

    def __init__(self, data: Fields) -> None:
        self.data = data

    @cached_property
    def items(self) -> list[tuple[int, Fields]]:
        """The items of this request's own input that are objects, each with its index there."""
        given = self.data.get("input")
        own = [item for item in given if not isinstance(item, Earlier)] if isinstance(given, list) else ()
        return [(i, item) for i, item in enumerate(own) if _is_object(item)]

    @cached_property
    def conversation(self) -> list[Fields]:
        """The items of the input that are objects, those before that the provider kept too."""
        given = self.data.get("input")
        return [item for item in given if _is_object(item)] if isinstance(given, list) else []

    @cached_property
    def messages(self) -> list[tuple[int, Fields]]:
        """The items that are messages: those that say so, and those without a type unless they only refer to an item."""
        return [(i, item) for i, item in self.items if item.get("type") in (None, "message") and not is_reference(item)]

    @cached_property
    def content_parts(self) -> list[tuple[int, int, Any, Fields]]:
        """The parts of messages: index of the message, index of the part, who says it, and the part."""
        return [
            (i, j, message.get("role"), part)
            for i, message in self.messages
            if isinstance(message.get("content"), list)
            for j, part in enumerate(message["content"])
            if _is_object(part)
        ]

    @cached_property
    def tools(self) -> list[tuple[int, Fields]]:
        """The tools that are objects, each with its index."""
        tools = self.data.get("tools")
        return [(i, tool) for i, tool in enumerate(tools if isinstance(tools, list) else ()) if _is_object(tool)]

    @cached_property
    def functions(self) -> list[tuple[int, Fields]]:
        """The tools that are functions, each with its index."""
        return [(i, tool) for i, tool in self.tools if tool.get("type") == "function"]

    @cached_property
    def pairing(self) -> tuple[list[Called], list[Called], list[Called]]:
        """
        The calls without an output, those of outputs without a call, and those of outputs to a call that has one already.

        An output answers the oldest call of its kind and id that stands before it and has none yet; a null id is nobody's.
        Items that leave the id out are told of elsewhere.
        """
        waiting: list[Called] = []
        answered: list[Called] = []
        orphans: list[Called] = []
        repeated: list[Called] = []
        for item in self.conversation:
            kind = item.get("type")
            if not isinstance(kind, str) or "call_id" not in item:
                continue
            called = (kind.removesuffix("_output"), item["call_id"])
            if kind in CALLS:
                waiting.append(called)
            elif called[0] not in CALLS:
                continue
            elif called in waiting and called[1] is not None:
                waiting.remove(called)
                answered.append(called)
            else:
                (repeated if called in answered else orphans).append(called)
        return waiting, orphans, repeated

    @property
    def continues(self) -> bool:
        """Whether the provider holds a part of the conversation that this body does not show."""
        stored = any(self.data.get(key) is not None for key in ELSEWHERE)
        return stored or any(map(is_reference, self.conversation))


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)
