"""What OpenAI refuses on Chat Completions before its model sees it. Pure; sends nothing."""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice, takewhile
from typing import Any

from fake_models.provider_rules.rule import CAPTURED, Fields, ProviderRule, WireRules


class Body:
    """A raw request body and what several rules look for in it, found once."""

    def __init__(self, data: Fields) -> None:
        self.data = data
        messages, tools = data.get("messages"), data.get("tools")
        #: The messages that are objects, each with its index.
        self.messages: list[tuple[int, Fields]] = (
            [(i, item) for i, item in enumerate(messages) if isinstance(item, dict)]
            if isinstance(messages, list)
            else []
        )
        #: The names of the tools offered, each with its index.
        self.tool_names: list[tuple[int, Any]] = (
            [(i, _get(_get(tool, "function"), "name")) for i, tool in enumerate(tools)]
            if isinstance(tools, list)
            else []
        )

    @cached_property
    def calls(self) -> list[tuple[int, int, Fields]]:
        """The calls of assistant messages that are objects, each with the index of its message and its own."""
        return [
            (i, j, call)
            for i, message in self.messages
            if message.get("role") == "assistant" and isinstance(message.get("tool_calls"), list)
            for j, call in enumerate(message["tool_calls"])
            if isinstance(call, dict)
        ]

    @cached_property
    def batches(self) -> list[tuple[int, list[Any], list[tuple[int, Fields]]]]:
        """Each assistant message with calls: its index, the ids it calls, and the tool messages directly after it."""
        found = []
        for at, (i, message) in enumerate(self.messages):
            calls = message.get("tool_calls")
            if calls and message.get("role") == "assistant" and isinstance(calls, list):
                results = takewhile(lambda later: later[1].get("role") == "tool", islice(self.messages, at + 1, None))
                found.append((i, [_get(call, "id") for call in calls], list(results)))
        return found


def _has(body: Body) -> set[str]:
    """The keys that most bodies do not have, `tool_calls` of messages among them, and `results`, the tools' messages."""
    has = {key for key in ("tools", "tool_choice") if key in body.data}
    for _, message in body.messages:
        if "tool_calls" in message:
            has.add("tool_calls")
        if message.get("role") == "tool":
            has.add("results")
    return has


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


# No set: a role of an odd body may be unhashable.
ROLES = ("system", "assistant", "user", "function", "tool", "developer")
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]+")
#: What some models take as a name.
DOTTED_NAME = re.compile(r"[a-zA-Z0-9_.-]+")
#: The provider's words for what came instead of a text.
KINDS = {dict: "an object", list: "an array", type(None): "null"}
#: What an assistant may say in place of content.
INSTEAD_OF_CONTENT = ("tool_calls", "function_call", "refusal", "audio")
REASONING_MODEL = re.compile(r"(o\d|gpt-5)")
#: Request keys of the API reference, read by a row that is off: the list ages with every release.
KNOWN_KEYS = frozenset(
    {
        "audio",
        "frequency_penalty",
        "function_call",
        "functions",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "messages",
        "metadata",
        "modalities",
        "model",
        "moderation",
        "n",
        "parallel_tool_calls",
        "prediction",
        "presence_penalty",
        "prompt_cache_key",
        "prompt_cache_retention",
        "reasoning_effort",
        "response_format",
        "safety_identifier",
        "seed",
        "service_tier",
        "stop",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "user",
        "verbosity",
        "web_search_options",
    }
)


def _model_missing(body: Body) -> Iterator[Fields]:
    if not body.data.get("model"):
        yield {}


def _messages_missing(body: Body) -> Iterator[Fields]:
    if body.data.get("messages") is None:
        yield {}


def _unknown_key(body: Body) -> Iterator[Fields]:
    yield from ({"key": key} for key in body.data if key not in KNOWN_KEYS)


def _messages_empty(body: Body) -> Iterator[Fields]:
    if body.data.get("messages") == []:
        yield {}


def _role_unknown(body: Body) -> Iterator[Fields]:
    for i, message in body.messages:
        if message.get("role") not in ROLES:
            yield {"i": i, "role": message.get("role")}


def _content_null(body: Body) -> Iterator[Fields]:
    for i, message in body.messages:
        says_else = message.get("role") == "assistant" and any(
            message.get(key) is not None for key in INSTEAD_OF_CONTENT
        )
        # A function message is the one kind whose content may be null.
        if message.get("content") is None and message.get("role") != "function" and not says_else:
            yield {"i": i}


def _content_no_text(body: Body) -> Iterator[Fields]:
    for i, message in body.messages:
        if isinstance(message.get("content"), dict):
            yield {"i": i}


def _call_id_null(body: Body) -> Iterator[Fields]:
    yield from ({"i": i, "j": j} for i, j, call in body.calls if call.get("id", "") is None)


def _call_id_missing(body: Body) -> Iterator[Fields]:
    yield from ({"i": i, "j": j} for i, j, call in body.calls if "id" not in call)


def _call_type_missing(body: Body) -> Iterator[Fields]:
    yield from ({"i": i, "j": j} for i, j, call in body.calls if "type" not in call)


def _call_arguments_no_text(body: Body) -> Iterator[Fields]:
    for i, j, call in body.calls:
        function = call.get("function")
        kind = KINDS.get(type(function.get("arguments", ""))) if isinstance(function, dict) else None
        if kind is not None:
            yield {"i": i, "j": j, "kind": kind}


def _tool_calls_empty(body: Body) -> Iterator[Fields]:
    for i, message in body.messages:
        if message.get("role") == "assistant" and message.get("tool_calls") == []:
            yield {"i": i}


def _tools_empty(body: Body) -> Iterator[Fields]:
    if body.data.get("tools") == []:
        yield {}


def _tool_name_empty(body: Body) -> Iterator[Fields]:
    for i, name in body.tool_names:
        if name == "":
            yield {"i": i}


def _tool_name_pattern(body: Body) -> Iterator[Fields]:
    for i, name in body.tool_names:
        if isinstance(name, str) and name and not DOTTED_NAME.fullmatch(name):
            yield {"i": i}


def _tool_name_dot(body: Body) -> Iterator[Fields]:
    for i, name in body.tool_names:
        dotted = isinstance(name, str) and DOTTED_NAME.fullmatch(name) and not TOOL_NAME.fullmatch(name)
        if dotted and not REASONING_MODEL.match(str(body.data.get("model"))):
            yield {"i": i}


def _stream_options_alone(body: Body) -> Iterator[Fields]:
    if body.data.get("stream_options") is not None and body.data.get("stream") is not True:
        yield {}


def _choice_without_tools(body: Body) -> Iterator[Fields]:
    # An empty list has its own row.
    if body.data.get("tool_choice") is not None and body.data.get("tools") is None:
        yield {}


def _choice_unknown(body: Body) -> Iterator[Fields]:
    choice = body.data.get("tool_choice")
    function = choice.get("function") if isinstance(choice, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if name is not None and body.data.get("tools") is not None and name not in [known for _, known in body.tool_names]:
        yield {"name": name}


def _max_tokens_on_reasoning_model(body: Body) -> Iterator[Fields]:
    if body.data.get("max_tokens") is not None and REASONING_MODEL.match(str(body.data.get("model"))):
        yield {}


def _tool_call_id_missing(body: Body) -> Iterator[Fields]:
    for i, message in body.messages:
        if message.get("role") == "tool" and message.get("tool_call_id") is None:
            yield {"i": i}


def _missing_results(body: Body) -> Iterator[Fields]:
    for i, calls, results in body.batches:
        answered = [message.get("tool_call_id") for _, message in results]
        missing = [call for call in calls if call is None or call not in answered]
        if missing:
            yield {"i": i, "ids": ", ".join(map(str, missing))}


def _orphans(body: Body) -> Iterator[Fields]:
    batched = {j for _, _, results in body.batches for j, _ in results}
    for i, message in body.messages:
        if message.get("role") == "tool" and i not in batched:
            yield {"i": i}


def _unknown_call_ids(body: Body) -> Iterator[Fields]:
    for _, calls, results in body.batches:
        for _, message in results:
            call_id = message.get("tool_call_id")
            if call_id is not None and call_id not in calls:
                yield {"id": call_id}


def _duplicate_results(body: Body) -> Iterator[Fields]:
    for _, _, results in body.batches:
        seen: list[tuple[int, Any]] = []
        for j, message in results:
            call_id = message.get("tool_call_id")
            first = next((i for i, earlier in seen if earlier == call_id), None)
            if first is not None and call_id is not None:
                yield {"id": call_id, "i": first, "j": j}
            seen.append((j, call_id))


_CHAT: Mapping[str, Any] = {"wire": "openai_chat", "status": 400, "type": "invalid_request_error"}

#: In the order in which the provider looks: model, messages, unknown keys, the keys one by one, then the conversation.
_ROWS = (
    ProviderRule(
        id="model_missing",
        code=None,
        param=None,
        message="you must provide a model parameter",
        source=CAPTURED,
        confidence="A",
        mode="enforce",
        check=_model_missing,
        **_CHAT,
    ),
    ProviderRule(
        id="messages_missing",
        code="missing_required_parameter",
        param="messages",
        message="Missing required parameter: 'messages'.",
        source=CAPTURED,
        confidence="A",
        mode="enforce",
        check=_messages_missing,
        **_CHAT,
    ),
    ProviderRule(
        id="unknown_top_level_key",
        code="unknown_parameter",
        param="{key}",
        message="Unknown parameter: '{key}'.",
        source=CAPTURED,
        confidence="A",
        mode="off",
        check=_unknown_key,
        **_CHAT,
    ),
    ProviderRule(
        id="messages_empty",
        code="empty_array",
        param="messages",
        message="Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        source=f"CopilotKit/CopilotKit#529; {CAPTURED}",
        confidence="A",
        mode="enforce",
        check=_messages_empty,
        **_CHAT,
    ),
    ProviderRule(
        id="role_unknown",
        code="invalid_value",
        param="messages[{i}].role",
        message="Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.",
        source=CAPTURED,
        confidence="A",
        mode="enforce",
        check=_role_unknown,
        **_CHAT,
    ),
    ProviderRule(
        id="content_null",
        code=None,
        param="messages.[{i}].content",
        message="Invalid value for 'content': expected a string, got null.",
        source=CAPTURED,
        confidence="A",
        mode="enforce",
        check=_content_null,
        **_CHAT,
    ),
    ProviderRule(
        id="content_no_text",
        code="invalid_type",
        param="messages[{i}].content",
        message="Invalid type for 'messages[{i}].content': expected one of a string or array of objects, but got an object instead.",
        source="pydantic/pydantic-ai#2653",
        confidence="A",
        mode="enforce",
        check=_content_no_text,
        **_CHAT,
    ),
    ProviderRule(
        id="call_id_null",
        code="invalid_type",
        param="messages[{i}].tool_calls[{j}].id",
        message="Invalid type for 'messages[{i}].tool_calls[{j}].id': expected a string, but got null instead.",
        source="VectorlyApp/bluebox#115",
        confidence="A",
        mode="enforce",
        check=_call_id_null,
        about="tool_calls",
        **_CHAT,
    ),
    # Observed, but such a call counts as one without a result, for which the request is refused.
    ProviderRule(
        id="call_id_missing",
        code="missing_required_parameter",
        param="messages[{i}].tool_calls[{j}].id",
        message="Missing required parameter: 'messages[{i}].tool_calls[{j}].id'.",
        source="the message alone, in a log of a gateway; the provider says the same of other keys",
        confidence="B",
        mode="observe",
        check=_call_id_missing,
        about="tool_calls",
        **_CHAT,
    ),
    ProviderRule(
        id="call_type_missing",
        code="missing_required_parameter",
        param="messages[{i}].tool_calls[{j}].type",
        message="Missing required parameter: 'messages[{i}].tool_calls[{j}].type'.",
        source="langchain-ai/langchain-azure#35, the message alone",
        confidence="B",
        mode="observe",
        check=_call_type_missing,
        about="tool_calls",
        **_CHAT,
    ),
    # Quoted for an object; an array and null are told of in the same words elsewhere.
    ProviderRule(
        id="call_arguments_no_text",
        code="invalid_type",
        param="messages[{i}].tool_calls[{j}].function.arguments",
        message="Invalid type for 'messages[{i}].tool_calls[{j}].function.arguments': expected a string, but got {kind} instead.",
        source="aaif-goose/goose-mobile#20",
        confidence="A",
        mode="enforce",
        check=_call_arguments_no_text,
        about="tool_calls",
        **_CHAT,
    ),
    ProviderRule(
        id="assistant_tool_calls_empty",
        code="empty_array",
        param="messages[{i}].tool_calls",
        message="Invalid 'messages[{i}].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array "
        "instead.",
        source=f"home-assistant/core#118577, chatboxai/chatbox#2079; {CAPTURED}",
        confidence="A",
        mode="enforce",
        check=_tool_calls_empty,
        about="tool_calls",
        **_CHAT,
    ),
    ProviderRule(
        id="tools_empty_array",
        code="empty_array",
        param="tools",
        message="Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        source="raw body quoted in a code comment",
        confidence="B",
        mode="enforce",
        check=_tools_empty,
        about="tools",
        **_CHAT,
    ),
    ProviderRule(
        id="tool_name_empty",
        code="empty_string",
        param="tools[{i}].function.name",
        message="Invalid 'tools[{i}].function.name': empty string. Expected a string with minimum length 1, but got an empty string "
        "instead.",
        source=CAPTURED,
        confidence="A",
        mode="enforce",
        check=_tool_name_empty,
        about="tools",
        **_CHAT,
    ),
    ProviderRule(
        id="tool_name_pattern",
        code="invalid_value",
        param="tools[{i}].function.name",
        message="Invalid 'tools[{i}].function.name': string does not match pattern. Expected a string that matches the pattern "
        "'^[a-zA-Z0-9_-]+$'.",
        source="run-llama/llama_index#16093, xinnan-tech/xiaozhi-esp32-server#1466",
        confidence="A",
        mode="enforce",
        check=_tool_name_pattern,
        about="tools",
        **_CHAT,
    ),
    # The pattern that o4-mini quoted has the dot; which other models take one is not known.
    ProviderRule(
        id="tool_name_dot",
        code="invalid_value",
        param="tools[{i}].function.name",
        message="Invalid 'tools[{i}].function.name': string does not match pattern. Expected a string that matches the pattern "
        "'^[a-zA-Z0-9_-]+$'.",
        source="run-llama/llama_index#16093, against danishjsheikh/swagger-mcp#13 (o4-mini)",
        confidence="B",
        mode="observe",
        check=_tool_name_dot,
        about="tools",
        **_CHAT,
    ),
    ProviderRule(
        id="tool_choice_without_tools",
        code=None,
        param="tool_choice",
        message="Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
        source="writer/writer-framework#1013",
        confidence="A",
        mode="enforce",
        check=_choice_without_tools,
        about="tool_choice",
        **_CHAT,
    ),
    # The provider still speaks of functions here although the request says tools.
    ProviderRule(
        id="tool_choice_unknown_name",
        code=None,
        param="function_call",
        message="Invalid value for 'function_call': no function named '{name}' was specified in the 'functions' parameter.",
        source=CAPTURED,
        confidence="A",
        mode="enforce",
        check=_choice_unknown,
        about="tool_choice",
        **_CHAT,
    ),
    ProviderRule(
        id="max_tokens_on_reasoning_model",
        code="unsupported_parameter",
        param="max_tokens",
        message="Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        source=CAPTURED,
        confidence="A",
        mode="off",
        check=_max_tokens_on_reasoning_model,
        **_CHAT,
    ),
    ProviderRule(
        id="stream_options_without_stream",
        code=None,
        param="stream_options",
        message="The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        source="BerriAI/litellm#5803",
        confidence="A",
        mode="enforce",
        check=_stream_options_alone,
        **_CHAT,
    ),
    ProviderRule(
        id="tool_call_id_missing",
        code=None,
        param="messages.[{i}].tool_call_id",
        message="Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.",
        source="MadcowD/ell#325, run-llama/multi-agent-concierge#16",
        confidence="A",
        mode="enforce",
        check=_tool_call_id_missing,
        about="results",
        **_CHAT,
    ),
    # Which message the index means is not established; this one names the assistant's.
    ProviderRule(
        id="missing_tool_results",
        code=None,
        param="messages.[{i}].role",
        message="An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The "
        "following tool_call_ids did not have response messages: {ids}",
        source="router-for-me/CLIProxyAPI#2798, aliasrobotics/cai#111",
        confidence="A",
        mode="enforce",
        check=_missing_results,
        about="tool_calls",
        **_CHAT,
    ),
    ProviderRule(
        id="orphan_tool_message",
        code=None,
        param="messages.[{i}].role",
        message="Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        source="miurla/morphic#136, smarter-sh/smarter#264; the spelling is the provider's",
        confidence="A",
        mode="enforce",
        check=_orphans,
        about="results",
        **_CHAT,
    ),
    ProviderRule(
        id="tool_call_id_not_in_previous",
        code=None,
        param=None,
        message="Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of previous message.",
        source="dapr/dapr-agents#145; its param was not seen",
        confidence="B",
        mode="enforce",
        check=_unknown_call_ids,
        about="results",
        **_CHAT,
    ),
    ProviderRule(
        id="duplicate_tool_message",
        code=None,
        param="messages.[{j}].tool_call_id",
        message="Invalid parameter: Duplicate value for 'tool_call_id' of '{id}', in messages[{i}] and messages[{j}].",
        source="agno-agi/agno#5116",
        confidence="A",
        mode="enforce",
        check=_duplicate_results,
        about="results",
        **_CHAT,
    ),
)

RULES = WireRules("openai_chat", Body, _ROWS, _has)
