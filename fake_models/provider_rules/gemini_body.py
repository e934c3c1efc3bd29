"""A request body of Gemini's generateContent and what several rules look for in it, found once. Pure; judges nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fake_models.provider_rules.rule import Fields

#: Both spellings of the keys that hold a call and what it returned.
CALL, RESPONSE = ("functionCall", "function_call"), ("functionResponse", "function_response")


@dataclass(frozen=True, slots=True)
class Turn:
    """
    What one side says until the other speaks: `calls` and `results` count the parts of that kind.

    `place` is the content with the first call, else the turn's own; `unsigned` the name of that call where it has no signature.
    Contents of the model in a row are one turn, since Google's own client keeps the chunks of a stream as contents of their own.
    A user's contents are one each: results that are spread over several are refused.
    """

    of_model: bool
    calls: int
    results: int
    place: int
    unsigned: str | None = None


class Body:
    """A raw request body and what several rules look for in it, found once."""

    def __init__(self, data: Fields) -> None:
        self.data = data

    @cached_property
    def contents(self) -> list[tuple[Fields, list[Fields]]]:
        """The contents, each with its parts."""
        return [(content, _listed(content.get("parts"))) for content in _listed(self.data.get("contents"))]

    @cached_property
    def turns(self) -> list[Turn]:
        """The conversation."""
        turns: list[Turn] = []
        for place, (content, parts) in enumerate(self.contents):
            results = len(of_kind(parts, *RESPONSE))
            # Some clients give a result the role of the model or of a function.
            of_model = content.get("role") == "model" and not results
            calls = of_kind(parts, *CALL) if of_model else []
            turn = Turn(of_model, len(calls), results, place, _unsigned(calls))
            if of_model and turns and turns[-1].of_model:
                before = turns.pop()
                first = before if before.calls else turn
                turn = Turn(True, before.calls + turn.calls, 0, first.place, first.unsigned)
            turns.append(turn)
        return turns

    @property
    def goes_on(self) -> bool:
        """Whether the conversation begins in what the provider has cached."""
        return bool(either(self.data, "cachedContent", "cached_content"))

    @cached_property
    def function_names(self) -> list[tuple[int, int, Any]]:
        """The names of the functions offered, each with the index of its tool and its own."""
        return [
            (i, j, function.get("name"))
            for i, tool in enumerate(_listed(self.data.get("tools")))
            for j, function in enumerate(_listed(either(tool, "functionDeclarations", "function_declarations")))
        ]


def either(fields: Fields, camel: str, snake: str) -> Any:
    """Give the value of a key in whichever of its spellings it came."""
    return fields.get(camel, fields.get(snake))


def of_kind(parts: list[Fields], camel: str, snake: str) -> list[Fields]:
    """Give the parts that hold an object of that key."""
    return [part for part in parts if isinstance(either(part, camel, snake), Mapping)]


def _unsigned(calls: list[Fields]) -> str | None:
    """The name of the first call, None where it is signed: the model signs no other call of a reply."""
    if not calls or either(calls[0], "thoughtSignature", "thought_signature"):
        return None
    return str(either(calls[0], *CALL).get("name"))


def _listed(value: Any) -> list[Fields]:
    """The objects of a list; one alone stands for a list of one, as the API takes it."""
    if isinstance(value, Mapping):
        return [value]
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
