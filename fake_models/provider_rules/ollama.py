"""What an Ollama server refuses on /api/chat before its model sees it. Pure; sends nothing."""

from collections.abc import Iterator, Mapping
from typing import Any

from fake_models.provider_rules.rule import Fields, ProviderRule, WireRules

#: The kinds of JSON as the server's reader names them.
KINDS: Mapping[type, str] = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "bool",
    int: "number",
    float: "number",
}


def _model_missing(body: Fields) -> Iterator[Fields]:
    if not body.get("model"):
        yield {}


def _messages(body: Fields) -> Iterator[Fields]:
    listed = body.get("messages")
    yield from (message for message in listed if isinstance(message, Mapping)) if isinstance(listed, list) else ()


def _calls(body: Fields) -> Iterator[Fields]:
    for message in _messages(body):
        calls = message.get("tool_calls")
        yield from (call for call in calls if isinstance(call, Mapping)) if isinstance(calls, list) else ()


def _content_no_text(body: Fields) -> Iterator[Fields]:
    for message in _messages(body):
        content = message.get("content")
        # The reader takes null for an empty text.
        if content is not None and not isinstance(content, str):
            yield {"kind": KINDS[type(content)]}


def _arguments_no_object(body: Fields) -> Iterator[Fields]:
    for call in _calls(body):
        function = call.get("function")
        arguments = function.get("arguments") if isinstance(function, Mapping) else None
        if arguments is not None and not isinstance(arguments, Mapping):
            yield {"kind": KINDS[type(arguments)]}


def _tools_offered(body: Fields) -> Iterator[Fields]:
    if body.get("tools"):
        yield {"model": body.get("model")}


_CHAT: Mapping[str, Any] = {"wire": "ollama", "status": 400, "type": "", "code": None, "param": None}

#: The body is read before its model is looked for. What else other providers refuse, this one leaves to the model: results
#: without calls, calls without results, unknown roles, an empty list of tools.
_ROWS = (
    ProviderRule(
        id="content_no_text",
        message="json: cannot unmarshal {kind} into Go struct field ChatRequest.messages.content of type string",
        source="ollama/ollama#10255, BerriAI/litellm#11273",
        confidence="A",
        mode="enforce",
        check=_content_no_text,
        **_CHAT,
    ),
    ProviderRule(
        id="arguments_no_object",
        message="json: cannot unmarshal {kind} into Go struct field ChatRequest.messages.tool_calls.function.arguments of type "
        "api.ToolCallFunctionArguments",
        source="aliasrobotics/cai#76, neuron-core/neuron-ai#219",
        confidence="A",
        mode="enforce",
        check=_arguments_no_object,
        **_CHAT,
    ),
    ProviderRule(
        id="model_missing",
        message="model is required",
        source="langchain-ai/langchain#20354, pepperoni21/ollama-rs#120",
        confidence="A",
        mode="enforce",
        check=_model_missing,
        **_CHAT,
    ),
    # Depends on the model, which here is none.
    ProviderRule(
        id="tools_not_supported",
        message="registry.ollama.ai/library/{model} does not support tools",
        source="ollama/ollama#14795",
        confidence="A",
        mode="off",
        check=_tools_offered,
        **_CHAT,
    ),
)

RULES = WireRules("ollama", read=dict, rules=_ROWS)
