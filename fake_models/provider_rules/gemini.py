"""What Google refuses on Gemini's generateContent before its model sees it. Pure; sends nothing."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fake_models.provider_rules.gemini_body import CALL, RESPONSE, Body, Turn, either, of_kind
from fake_models.provider_rules.rule import Fields, Known, ProviderRule, WireRules

#: The quoted text says 64 characters, the reference by now 128; what lies between passes.
FUNCTION_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
#: The reference names the first two, its guides send results by the others; a content without a role is the user's.
ROLES = ("user", "model", "function", "tool", "", None)
#: Keys of a part that say something about its data and are none.
ABOUT_DATA = ("thought", "thoughtSignature", "thought_signature")
#: Models that want their signatures back; older ones take calls without.
SIGNING_MODELS = "gemini-3"


def _contents_empty(body: Body) -> Iterator[Fields]:
    if not body.data.get("contents"):
        yield {}


def _parts_empty(body: Body) -> Iterator[Fields]:
    yield from ({"i": i} for i, (content, _) in enumerate(body.contents) if not content.get("parts"))


def _part_without_data(body: Body) -> Iterator[Fields]:
    for i, (_, parts) in enumerate(body.contents):
        for j, part in enumerate(parts):
            if not any(part[key] is not None and key not in ABOUT_DATA for key in part):
                yield {"i": i, "j": j}


def _response_without_name(body: Body) -> Iterator[Fields]:
    for i, (_, parts) in enumerate(body.contents):
        for j, part in enumerate(parts):
            response = either(part, *RESPONSE)
            if isinstance(response, Mapping) and not response.get("name"):
                yield {"i": i, "j": j}


def _functions_repeat(body: Body) -> Iterator[Fields]:
    seen: list[Any] = []
    for _, _, name in body.function_names:
        if isinstance(name, str) and name in seen:
            yield {"name": name}
        seen.append(name)


def _role_unknown(body: Body) -> Iterator[Fields]:
    if any(content.get("role") not in ROLES for content, _ in body.contents):
        yield {}


def _mixed(body: Body) -> Iterator[Fields]:
    if any(of_kind(parts, *CALL) and of_kind(parts, *RESPONSE) for _, parts in body.contents):
        yield {}


def _signature_missing(body: Body) -> Iterator[Fields]:
    """Calls since the user last said something that is no result: of those before, no signature is asked."""
    said = [at for at, turn in enumerate(body.turns) if not turn.of_model and not turn.results]
    for turn in body.turns[said[-1] + 1 :] if said else body.turns:
        if turn.unsigned is not None:
            yield {"name": turn.unsigned, "position": turn.place + 1}


def _is_signing(_: Fields, known: Known) -> bool:
    return SIGNING_MODELS in known.model


def _function_name(body: Body) -> Iterator[Fields]:
    for i, j, name in body.function_names:
        if isinstance(name, str) and not FUNCTION_NAME.fullmatch(name):
            yield {"i": i, "j": j}


def _call_order(body: Body) -> Iterator[Fields]:
    # Model contents in a row are one turn, so the only turn that can come after neither a user nor a result is the first.
    if body.turns and body.turns[0].calls and not body.goes_on:
        yield {}


def _response_count(body: Body) -> Iterator[Fields]:
    for at, turn in enumerate(body.turns):
        if turn.calls and _results_after(body.turns, at) != [turn.calls]:
            yield {}


def _response_order(body: Body) -> Iterator[Fields]:
    cached = _places_after(body.turns, -1) if body.goes_on else ()
    answered = {*cached} | {
        after for at, turn in enumerate(body.turns) if turn.calls for after in _places_after(body.turns, at)
    }
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
        id="parts_empty",
        message="* GenerateContentRequest.contents[{i}].parts: contents.parts must not be empty.\n",
        source="egoist/chatwise-releases#250, langchain-ai/langchain-google#691",
        check=_parts_empty,
        **_GEMINI,
    ),
    ProviderRule(
        id="part_without_data",
        message="* GenerateContentRequest.contents[{i}].parts[{j}].data: required oneof field 'data' must have one initialized "
        "field\n",
        source="boldsoftware/sketch#68, genkit-ai/genkit#3816",
        check=_part_without_data,
        **_GEMINI,
    ),
    ProviderRule(
        id="function_response_name",
        message="* GenerateContentRequest.contents[{i}].parts[{j}].function_response.name: Name cannot be empty.\n",
        source="FoundationAgents/OpenManus#824, router-for-me/CLIProxyAPI#1903",
        check=_response_without_name,
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
        id="function_names_unique",
        message="Duplicate function declaration found: {name}",
        source="smarter-sh/smarter#537, googleapis/dotnet-genai#189",
        check=_functions_repeat,
        **_GEMINI,
    ),
    ProviderRule(
        id="role_unknown",
        message="Please use a valid role: user, model.",
        source="router-for-me/CLIProxyAPI#17, agno-agi/agno#1183",
        check=_role_unknown,
        **_GEMINI,
    ),
    ProviderRule(
        id="function_parts_mixed",
        message="Please ensure that function call turn contains at least one function_call part which can not be mixed with "
        "function_response parts.",
        source="googleapis/python-genai#81",
        check=_mixed,
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
    # Only whether there is one: the provider takes a placeholder of its own in its place. Gemini 3 asks for it, 2.5 does not.
    ProviderRule(
        id="thought_signature_missing",
        message="Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
        "correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call "
        "`default_api:{name}` , position {position}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures "
        "for more details.",
        source="manthanabc/paws#103, nanbingxyz/5ire#405 (models named gemini-3, and not 2.5)",
        check=_signature_missing,
        only=_is_signing,
        **_GEMINI,
    ),
)

RULES = WireRules("gemini", Body, _ROWS)
