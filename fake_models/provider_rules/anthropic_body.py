"""A request body of Anthropic Messages and what several rules look for in it, found once. Pure; judges nothing."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import groupby
from typing import Any

from fake_models.provider_rules.rule import Fields

#: A block of content and where it stands: message, place in it.
Placed = tuple[int, int, Fields]


class Body:
    """A raw request body, read as far as it has the wire's shape."""

    def __init__(self, data: Fields) -> None:
        self.data = data

    @cached_property
    def messages(self) -> list[tuple[int, Fields]]:
        """The messages that are objects, each with its index. Left out are mere directives, which may stand anywhere."""
        messages = self.data.get("messages")
        listed = messages if isinstance(messages, list) else ()
        return [(i, item) for i, item in enumerate(listed) if isinstance(item, Mapping) and not _is_directive(item)]

    @cached_property
    def turns(self) -> list[tuple[Any, list[tuple[int, Fields]]]]:
        """Messages of one role in a row, which the provider takes for one turn, with that role."""
        return [(role, list(run)) for role, run in groupby(self.messages, key=lambda one: one[1].get("role"))]

    @cached_property
    def loop(self) -> list[list[tuple[int, Fields]]]:
        """The assistant's turns since the user last said something that is no result."""
        asked = [at for at, (role, turn) in enumerate(self.turns) if role == "user" and not blocks(turn, "tool_result")]
        later = self.turns[asked[-1] + 1 :] if asked else self.turns
        return [turn for role, turn in later if role == "assistant"]

    @cached_property
    def tools(self) -> list[tuple[int, Fields]]:
        """The tools that are objects, each with its index."""
        tools = self.data.get("tools")
        return [
            (i, tool) for i, tool in enumerate(tools if isinstance(tools, list) else ()) if isinstance(tool, Mapping)
        ]

    @cached_property
    def choice(self) -> Fields:
        """The tool choice; empty where it is no object."""
        choice = self.data.get("tool_choice")
        return choice if isinstance(choice, Mapping) else {}

    @cached_property
    def exchanges(self) -> list[tuple[list[Placed], list[Placed]]]:
        """Each user turn's results with the calls of the assistant turn right before it; either may be none."""
        before = [("", []), *self.turns]
        pairs = [*zip(before, self.turns, strict=False)]
        found = [
            (
                blocks(earlier, "tool_use") if role_before == "assistant" else [],
                blocks(turn, "tool_result") if role == "user" else [],
            )
            for (role_before, earlier), (role, turn) in pairs
        ]
        # Calls at the very end have nothing after them.
        if self.turns and self.turns[-1][0] == "assistant":
            found.append((blocks(self.turns[-1][1], "tool_use"), []))
        return found


def _is_directive(message: Fields) -> bool:
    return message.get("role") == "system" and message.get("content") == [] and "output_config" in message


def placed(messages: list[tuple[int, Fields]]) -> Iterator[Placed]:
    """Give the blocks of these messages that are objects."""
    for i, message in messages:
        content = message.get("content")
        for j, block in enumerate(content if isinstance(content, list) else ()):
            if isinstance(block, Mapping):
                yield i, j, block


def blocks(messages: list[tuple[int, Fields]], kind: str) -> list[Placed]:
    """Give those of one type."""
    return [one for one in placed(messages) if one[2].get("type") == kind]
