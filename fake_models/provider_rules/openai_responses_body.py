"""A raw Responses request as rules look at it: items, content, tools, and which output answers which call. Pure; judges nothing."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from fake_models.provider_rules.rule import Fields

#: Keys that stand for what the provider has stored.
ELSEWHERE = ("previous_response_id", "conversation", "prompt")


class Body:
    """A raw request body and what several rules look for in it, found once."""

    def __init__(self, data: Fields) -> None:
        self.data = data

    @cached_property
    def items(self) -> list[tuple[int, Fields]]:
        """The input items that are objects, each with its index."""
        given = self.data.get("input")
        return [(i, item) for i, item in enumerate(given if isinstance(given, list) else ()) if _is_object(item)]

    @cached_property
    def messages(self) -> list[tuple[int, Fields]]:
        """The items that are messages: those that say so, and those without a type unless they only refer to an item."""
        return [
            (i, item) for i, item in self.items if item.get("type") in (None, "message") and not _is_reference(item)
        ]

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
    def pairing(self) -> tuple[list[Any], list[Any], list[Any]]:
        """
        The ids of calls without an output, of outputs without a call, and of outputs to a call that has one already.

        An output answers the oldest call of its id that stands before it and has none yet.
        """
        waiting: list[Any] = []
        answered: list[Any] = []
        orphans: list[Any] = []
        repeated: list[Any] = []
        for _, item in self.items:
            call_id = item.get("call_id")
            if item.get("type") == "function_call":
                waiting.append(call_id)
            elif item.get("type") == "function_call_output":
                if call_id in waiting:
                    waiting.remove(call_id)
                    answered.append(call_id)
                else:
                    (repeated if call_id in answered else orphans).append(call_id)
        return waiting, orphans, repeated

    @property
    def continues(self) -> bool:
        """Whether the provider holds a part of the conversation that this body does not show."""
        stored = any(self.data.get(key) is not None for key in ELSEWHERE)
        return stored or any(_is_reference(item) for _, item in self.items)


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_reference(item: Fields) -> bool:
    """Whether an item only names one that the provider has stored; such items may leave their type out."""
    kind = item.get("type")
    return kind == "item_reference" or (kind is None and "id" in item and "role" not in item)
