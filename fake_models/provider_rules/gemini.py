"""What Google refuses on Gemini's generateContent before its model sees it. Pure; sends nothing."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fake_models.provider_rules.rule import Fields, ProviderRule, WireRules

#: The quoted text says 64 characters, the reference by now 128; what lies between passes.
FUNCTION_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")


@dataclass(frozen=True, slots=True)
class Turn:
    """
    What one side says until the other speaks: `calls` and `results` count the parts of that kind.

    Contents of the model in a row are one turn, since Google's own client keeps the chunks of a stream as contents of their own.
    A user's contents are one each: results that are spread over several are refused.
    """

    of_model: bool
    calls: int
    results: int


class Body:
    """A raw request body and what several rules look for in it, found once."""

    def __init__(self, data: Fields) -> None:
        self.data = data

    @cached_property
    def turns(self) -> list[Turn]:
        """The conversation."""
        turns: list[Turn] = []
        for content in _listed(self.data.get("contents")):
            parts = _listed(content.get("parts"))
            results = sum(_has(part, "functionResponse", "function_response") for part in parts)
            # Some clients give a result the role of the model or of a function.
            of_model = content.get("role") == "model" and not results
            calls = sum(_has(part, "functionCall", "function_call") for part in parts) if of_model else 0
            if of_model and turns and turns[-1].of_model:
                calls += turns.pop().calls
            turns.append(Turn(of_model, calls, results))
        return turns

    @cached_property
    def function_names(self) -> list[tuple[int, int, Any]]:
        """The names of the functions offered, each with the index of its tool and its own."""
        return [
            (i, j, function.get("name"))
            for i, tool in enumerate(_listed(self.data.get("tools")))
            for j, function in enumerate(_listed(_either(tool, "functionDeclarations", "function_declarations")))
        ]


def _either(fields: Fields, camel: str, snake: str) -> Any:
    return fields.get(camel, fields.get(snake))


def _has(part: Fields, camel: str, snake: str) -> bool:
    return isinstance(_either(part, camel, snake), Mapping)


def _listed(value: Any) -> list[Fields]:
    """The objects of a list; one alone stands for a list of one, as the API takes it."""
    if isinstance(value, Mapping):
        return [value]
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _contents_empty(body: Body) -> Iterator[Fields]:
    if not body.data.get("contents"):
        yield {}


def _function_name(body: Body) -> Iterator[Fields]:
    for i, j, name in body.function_names:
        if isinstance(name, str) and not FUNCTION_NAME.fullmatch(name):
            yield {"i": i, "j": j}


def _call_order(body: Body) -> Iterator[Fields]:
    # Model contents in a row are one turn, so the only turn that can come after neither a user nor a result is the first.
    if body.turns and body.turns[0].calls:
        yield {}


def _response_count(body: Body) -> Iterator[Fields]:
    for at, turn in enumerate(body.turns):
        if turn.calls and _results_after(body.turns, at) != [turn.calls]:
            yield {}


def _response_order(body: Body) -> Iterator[Fields]:
    answered = {after for at, turn in enumerate(body.turns) if turn.calls for after in _places_after(body.turns, at)}
    yield from ({} for at, turn in enumerate(body.turns) if turn.results and at not in answered)


def _places_after(turns: list[Turn], at: int) -> range:
    """Where results stand directly after a turn."""
    end = at + 1
    while end < len(turns) and turns[end].results:
        end += 1
    return range(at + 1, end)


def _results_after(turns: list[Turn], at: int) -> list[int]:
    return [turns[place].results for place in _places_after(turns, at)]


_GEMINI: Mapping[str, Any] = {
    "wire": "gemini",
    "status": 400,
    "type": "INVALID_ARGUMENT",
    "code": None,
    "param": None,
    "confidence": "A",
    "mode": "enforce",
}

#: What a field check finds comes before what the conversation as a whole shows.
_ROWS = (
    ProviderRule(
        id="contents_empty",
        message="* GenerateContentRequest.contents: contents is not specified\n",
        source="ikechan8370/chatgpt-plugin#733",
        check=_contents_empty,
        **_GEMINI,
    ),
    ProviderRule(
        id="function_name",
        message="* GenerateContentRequest.tools[{i}].function_declarations[{j}].name: Invalid function name. Must start with a "
        "letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with "
        "a maximum length of 64.",
        source="su-kaka/gcli2api#146",
        check=_function_name,
        **_GEMINI,
    ),
    ProviderRule(
        id="function_call_order",
        message="Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
        source="continuedev/continue#11164, google-gemini/gemini-cli#11814",
        check=_call_order,
        **_GEMINI,
    ),
    ProviderRule(
        id="function_response_count",
        message="Please ensure that the number of function response parts is equal to the number of function call parts of the "
        "function call turn.",
        source="google-gemini/gemini-cli#16415, google-gemini/gemini-cli#5443, cloudwego/eino-ext#571",
        check=_response_count,
        **_GEMINI,
    ),
    ProviderRule(
        id="function_response_order",
        message="Please ensure that function response turn comes immediately after a function call turn.",
        source="langchain-ai/langchain#27799",
        check=_response_order,
        **_GEMINI,
    ),
)

RULES = WireRules("gemini", Body, _ROWS)
