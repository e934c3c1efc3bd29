"""What OpenAI refuses on Responses before its model sees it. Pure; sends nothing."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from fake_models.provider_rules.openai_responses_body import Body, Called
from fake_models.provider_rules.rule import CAPTURED, Fields, ProviderRule, WireRules
from fake_models.wire.openai_responses_memory import CONTINUES

# No sets: what is looked up in them may be unhashable in an odd body.
ROLES = ("assistant", "system", "developer", "user")
CONTENT_TYPES = (
    "input_text",
    "input_image",
    "input_audio",
    "output_text",
    "refusal",
    "input_file",
    "computer_screenshot",
    "summary_text",
    "encrypted_content",
    # Not in the provider's list, but in the one that it gives for a user's content.
    "scoped_content",
)
CHOICES = ("none", "auto", "required")
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]+")
MAX_CALL_ID = 64
#: What an item must have; the provider asks for more of other kinds.
REQUIRED = {
    "function_call": ("call_id", "name", "arguments"),
    "function_call_output": ("call_id", "output"),
    "custom_tool_call": ("call_id",),
    "custom_tool_call_output": ("call_id", "output"),
}
#: How the ids of items begin that a reply has.
PREFIXES = {"function_call": "fc", "message": "msg", "reasoning": "rs"}
#: Request keys of the API reference, read by a row that is off: the list ages with every release.
KNOWN_KEYS = frozenset(
    {
        "background",
        "context_management",
        "conversation",
        "include",
        "input",
        "instructions",
        "max_output_tokens",
        "max_tool_calls",
        "metadata",
        "model",
        "moderation",
        "parallel_tool_calls",
        "previous_response_id",
        "prompt",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning",
        "safety_identifier",
        "service_tier",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "text",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "truncation",
        "user",
    }
)


def _model_missing(body: Body) -> Iterator[Fields]:
    # A stored prompt may name the model.
    if "model" not in body.data and body.data.get("prompt") is None:
        yield {}


def _messages_given(body: Body) -> Iterator[Fields]:
    if "messages" in body.data:
        yield {}


def _input_missing(body: Body) -> Iterator[Fields]:
    # A stored prompt may hold the input; with previous_response_id alone the request was refused.
    stored = body.data.get("prompt") is not None or body.data.get("conversation") is not None
    if "input" not in body.data and not stored:
        yield {}


def _unknown_key(body: Body) -> Iterator[Fields]:
    yield from ({"key": key} for key in body.data if key not in KNOWN_KEYS and key != "messages")


def _message_tool_calls(body: Body) -> Iterator[Fields]:
    yield from ({"i": i} for i, message in body.messages if message.get("tool_calls") is not None)


def _role_unknown(body: Body) -> Iterator[Fields]:
    for i, message in body.messages:
        role = message.get("role")
        if role not in ROLES:
            yield {"i": i, "role": role if isinstance(role, str) else ""}


def _content_missing(body: Body) -> Iterator[Fields]:
    yield from ({"i": i} for i, message in body.messages if message.get("role") in ROLES and "content" not in message)


def _content_type_unknown(body: Body) -> Iterator[Fields]:
    for i, j, _, part in body.content_parts:
        if isinstance(part.get("type"), str) and part["type"] not in CONTENT_TYPES:
            yield {"i": i, "j": j, "type": part["type"]}


def _assistant_input(body: Body) -> Iterator[Fields]:
    for i, j, role, part in body.content_parts:
        if role == "assistant" and part.get("type") == "input_text":
            yield {"i": i, "j": j}


def _user_output(body: Body) -> Iterator[Fields]:
    for i, j, role, part in body.content_parts:
        if role == "user" and part.get("type") == "output_text":
            yield {"i": i, "j": j}


def _member_missing(body: Body) -> Iterator[Fields]:
    for i, item in body.items:
        members = next((keys for kind, keys in REQUIRED.items() if item.get("type") == kind), ())
        yield from ({"i": i, "key": key} for key in members if key not in item)


def _call_ids(body: Body) -> Iterator[tuple[int, str]]:
    for i, item in body.items:
        if item.get("type") in list(REQUIRED) and isinstance(item.get("call_id"), str):
            yield i, item["call_id"]


def _call_id_empty(body: Body) -> Iterator[Fields]:
    yield from ({"i": i} for i, call_id in _call_ids(body) if not call_id)


def _call_id_long(body: Body) -> Iterator[Fields]:
    yield from ({"i": i, "length": len(call_id)} for i, call_id in _call_ids(body) if len(call_id) > MAX_CALL_ID)


def _item_id_prefix(body: Body) -> Iterator[Fields]:
    for i, item in body.items:
        prefix = next((prefix for kind, prefix in PREFIXES.items() if item.get("type") == kind), "")
        item_id = item.get("id")
        if isinstance(item_id, str) and item_id and not item_id.startswith(prefix):
            yield {"i": i, "id": item_id, "prefix": prefix}


def _tool_type_missing(body: Body) -> Iterator[Fields]:
    yield from ({"i": i} for i, tool in body.tools if "type" not in tool)


def _tool_name_missing(body: Body) -> Iterator[Fields]:
    yield from ({"i": i} for i, tool in body.functions if "name" not in tool)


def _tool_name_empty(body: Body) -> Iterator[Fields]:
    yield from ({"i": i} for i, tool in body.functions if tool.get("name") == "")


def _tool_name_pattern(body: Body) -> Iterator[Fields]:
    for i, tool in body.functions:
        name = tool.get("name")
        if isinstance(name, str) and name and not TOOL_NAME.fullmatch(name):
            yield {"i": i}


def _choice_unknown(body: Body) -> Iterator[Fields]:
    choice = body.data.get("tool_choice")
    if isinstance(choice, str) and choice not in CHOICES:
        yield {"choice": choice}


def _choice_nameless(body: Body) -> Iterator[Fields]:
    choice = body.data.get("tool_choice")
    if isinstance(choice, Mapping) and choice.get("type") == "function" and "name" not in choice:
        yield {}


def _choice_unknown_name(body: Body) -> Iterator[Fields]:
    choice = body.data.get("tool_choice")
    named = choice.get("name") if isinstance(choice, Mapping) and choice.get("type") == "function" else None
    if named is not None and named not in [tool.get("name") for _, tool in body.functions] and not body.continues:
        yield {}


def _choice_without_tools(body: Body) -> Iterator[Fields]:
    if body.data.get("tool_choice") == "required" and not body.data.get("tools") and not body.data.get("prompt"):
        yield {}


def _input_empty(body: Body) -> Iterator[Fields]:
    if body.data.get("input") in ("", []) and not body.continues:
        yield {}


def _previous_unknown(body: Body) -> Iterator[Fields]:
    if body.data.get(CONTINUES) is not None:
        yield {"id": body.data[CONTINUES]}


def _same_item_id(body: Body) -> Iterator[Fields]:
    seen: set[str] = set()
    for item in body.conversation:
        item_id = item.get("id")
        if isinstance(item_id, str) and item_id in seen:
            yield {"id": item_id}
        elif isinstance(item_id, str) and item_id:
            seen.add(item_id)


def _reasoning_alone(body: Body) -> Iterator[Fields]:
    nothing: Fields = {"role": None}
    for item, after in pairwise([*body.conversation, nothing]):
        answers = str(after.get("type")).endswith("_output")
        followed = after.get("role", "assistant") == "assistant" and not answers
        if item.get("type") == "reasoning" and isinstance(item.get("id"), str) and not followed:
            yield {"id": item["id"]}


def _orphan_output(body: Body) -> Iterator[Fields]:
    if not body.continues:
        yield from map(_named, body.pairing[1])


def _duplicate_output(body: Body) -> Iterator[Fields]:
    yield from map(_named, body.pairing[2])


def _missing_output(body: Body) -> Iterator[Fields]:
    yield from map(_named, body.pairing[0])


def _named(called: Called) -> Fields:
    """A call as the provider names it."""
    return {"kind": called[0].replace("_", " "), "id": called[1]}


_RESPONSES: Mapping[str, Any] = {"wire": "openai_responses", "status": 400, "type": "invalid_request_error"}

#: In the order in which the provider looks: model, input, unknown keys, the keys one by one, then the conversation.
_ROWS = (
    ProviderRule(
        id="model_missing",
        code="missing_required_parameter",
        param="model",
        message="Missing required parameter: 'model'.",
        source=CAPTURED,
        confidence="A",
        mode="enforce",
        check=_model_missing,
        **_RESPONSES,
    ),
    ProviderRule(
        id="messages_instead_of_input",
        code="unsupported_parameter",
        param=None,
        message="Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'. Try again with the new "
        "parameter. See the API documentation for more information: "
        "https://platform.openai.com/docs/api-reference/responses/create.",
        source=f"madox2/vim-ai#162, where there is no input either; {CAPTURED}",
        confidence="A",
        mode="enforce",
        check=_messages_given,
        **_RESPONSES,
    ),
    ProviderRule(
        id="input_missing",
        code="missing_required_parameter",
        param="input",
        message="Missing required parameter: 'input'.",
        source=CAPTURED,
        confidence="A",
        mode="enforce",
        check=_input_missing,
        **_RESPONSES,
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
        **_RESPONSES,
    ),
    ProviderRule(
        id="message_tool_calls",
        code="unknown_parameter",
        param="input[{i}].tool_calls",
        message="Unknown parameter: 'input[{i}].tool_calls'.",
        source="openai/openai-python#2677",
        confidence="A",
        mode="enforce",
        check=_message_tool_calls,
        **_RESPONSES,
    ),
    ProviderRule(
        id="role_unknown",
        code="invalid_value",
        param="input[{i}]",
        message="Invalid value: '{role}'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
        source=f"anomalyco/opencode#10803 (role tool); {CAPTURED}",
        confidence="A",
        mode="enforce",
        check=_role_unknown,
        **_RESPONSES,
    ),
    ProviderRule(
        id="content_missing",
        code="missing_required_parameter",
        param="input[{i}].content",
        message="Missing required parameter: 'input[{i}].content'.",
        source=CAPTURED,
        confidence="A",
        mode="enforce",
        check=_content_missing,
        **_RESPONSES,
    ),
    ProviderRule(
        id="content_type_unknown",
        code="invalid_value",
        param="input[{i}].content[{j}].type",
        message="Invalid value: '{type}'. Supported values are: 'input_text', 'input_image', 'input_audio', 'output_text', 'refusal', "
        "'input_file', 'computer_screenshot', 'summary_text', and 'encrypted_content'.",
        source=CAPTURED,
        confidence="A",
        mode="enforce",
        check=_content_type_unknown,
        **_RESPONSES,
    ),
    ProviderRule(
        id="assistant_content_input_text",
        code="invalid_value",
        param="input[{i}].content[{j}]",
        message="Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
        source=f"tinyhumansai/openhuman#3624, jamesrochabrun/SwiftOpenAI#136; {CAPTURED}",
        confidence="A",
        mode="enforce",
        check=_assistant_input,
        **_RESPONSES,
    ),
    ProviderRule(
        id="user_content_output_text",
        code="invalid_value",
        param="input[{i}].content[{j}]",
        message="Invalid value: 'output_text'. Supported values are: 'input_text', 'input_image', 'input_file', 'scoped_content', and "
        "'input_audio'.",
        source=CAPTURED,
        confidence="A",
        mode="enforce",
        check=_user_output,
        **_RESPONSES,
    ),
    ProviderRule(
        id="item_member_missing",
        code="missing_required_parameter",
        param="input[{i}].{key}",
        message="Missing required parameter: 'input[{i}].{key}'.",
        source="timothy-agent/timothy#702 (output), openai/codex#6700 (another member)",
        confidence="A",
        mode="enforce",
        check=_member_missing,
        **_RESPONSES,
    ),
    ProviderRule(
        id="call_id_empty",
        code="empty_string",
        param="input[{i}].call_id",
        message="Invalid 'input[{i}].call_id': empty string. Expected a string with minimum length 1, but got an empty string instead.",
        source="BigPizzaV3/CodexPlusPlus#315",
        confidence="A",
        mode="enforce",
        check=_call_id_empty,
        **_RESPONSES,
    ),
    ProviderRule(
        id="call_id_too_long",
        code="string_above_max_length",
        param="input[{i}].call_id",
        message="Invalid 'input[{i}].call_id': string too long. Expected a string with maximum length 64, but got a string with length "
        "{length} instead.",
        source="router-for-me/CLIProxyAPIPlus#430, AnswerDotAI/fastllm#45",
        confidence="A",
        mode="enforce",
        check=_call_id_long,
        **_RESPONSES,
    ),
    # Its code and param were not seen beside the message.
    ProviderRule(
        id="item_id_prefix",
        code="invalid_value",
        param="input[{i}].id",
        message="Invalid 'input[{i}].id': '{id}'. Expected an ID that begins with '{prefix}'.",
        source="nodetool-ai/nodetool#4252 (fc), jlcodes99/cockpit-tools#2090 (rs)",
        confidence="B",
        mode="observe",
        check=_item_id_prefix,
        **_RESPONSES,
    ),
    ProviderRule(
        id="tool_type_missing",
        code="missing_required_parameter",
        param="tools[{i}].type",
        message="Missing required parameter: 'tools[{i}].type'.",
        source=CAPTURED,
        confidence="A",
        mode="enforce",
        check=_tool_type_missing,
        **_RESPONSES,
    ),
    # A tool in the shape of Chat Completions, its name inside `function`, ends here.
    ProviderRule(
        id="tool_name_missing",
        code="missing_required_parameter",
        param="tools[{i}].name",
        message="Missing required parameter: 'tools[{i}].name'.",
        source=f"icebear0828/codex-proxy#399; {CAPTURED}",
        confidence="A",
        mode="enforce",
        check=_tool_name_missing,
        **_RESPONSES,
    ),
    ProviderRule(
        id="tool_name_empty",
        code="empty_string",
        param="tools[{i}].name",
        message="Invalid 'tools[{i}].name': empty string. Expected a string with minimum length 1, but got an empty string instead.",
        source="a comment in diegosouzapw/OmniRoute, which drops such tools",
        confidence="B",
        mode="observe",
        check=_tool_name_empty,
        **_RESPONSES,
    ),
    ProviderRule(
        id="tool_name_pattern",
        code="invalid_value",
        param="tools[{i}].name",
        message="Invalid 'tools[{i}].name': string does not match pattern. Expected a string that matches the pattern "
        "'^[a-zA-Z0-9_-]+$'.",
        source="justrach/codegraff#930, openai/openai-dotnet#441",
        confidence="A",
        mode="enforce",
        check=_tool_name_pattern,
        **_RESPONSES,
    ),
    ProviderRule(
        id="tool_choice_unknown",
        code="invalid_value",
        param="tool_choice",
        message="Invalid value: '{choice}'. Supported values are: 'none', 'auto', and 'required'.",
        source=CAPTURED,
        confidence="A",
        mode="enforce",
        check=_choice_unknown,
        **_RESPONSES,
    ),
    ProviderRule(
        id="tool_choice_name_missing",
        code="missing_required_parameter",
        param="tool_choice.name",
        message="Missing required parameter: 'tool_choice.name'.",
        source=CAPTURED,
        confidence="A",
        mode="enforce",
        check=_choice_nameless,
        **_RESPONSES,
    ),
    # Seen of the provider for tools that it runs itself; vLLM says it of functions in the same words.
    ProviderRule(
        id="tool_choice_unknown_name",
        code=None,
        param="tool_choice",
        message="Tool choice 'function' not found in 'tools' parameter.",
        source="the validation of vllm-project/vllm",
        confidence="B",
        mode="observe",
        check=_choice_unknown_name,
        **_RESPONSES,
    ),
    ProviderRule(
        id="tool_choice_without_tools",
        code=None,
        param="tool_choice",
        message="Tool choice 'required' must be specified with 'tools' parameter.",
        source="bodies quoted in the code of several clients; auto and none pass without tools",
        confidence="B",
        mode="observe",
        check=_choice_without_tools,
        **_RESPONSES,
    ),
    ProviderRule(
        id="input_empty",
        code="missing_required_parameter",
        param=None,
        message="One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be provided.",
        source=CAPTURED,
        confidence="A",
        mode="enforce",
        check=_input_empty,
        **_RESPONSES,
    ),
    ProviderRule(
        id="previous_response_not_found",
        code="previous_response_not_found",
        param="previous_response_id",
        message="Previous response with id '{id}' not found.",
        source="router-for-me/CLIProxyAPI#2954, bigduu/Bamboo-agent#513 (store false)",
        confidence="A",
        mode="enforce",
        check=_previous_unknown,
        **_RESPONSES,
    ),
    ProviderRule(
        id="duplicate_item_id",
        code=None,
        param="input",
        message="Duplicate item found with id {id}. Remove duplicate items from your input and try again.",
        source="openai/openai-agents-python#1789, vercel/ai#7883",
        confidence="A",
        mode="enforce",
        check=_same_item_id,
        **_RESPONSES,
    ),
    # Not everywhere: jin-bo/agentao#321 had such requests accepted, so nobody is refused for it.
    ProviderRule(
        id="reasoning_without_its_item",
        code=None,
        param="input",
        message="Item '{id}' of type 'reasoning' was provided without its required following item.",
        source="continuedev/continue#8933",
        confidence="A",
        mode="observe",
        check=_reasoning_alone,
        **_RESPONSES,
    ),
    ProviderRule(
        id="orphan_output",
        code=None,
        param="input",
        message="No tool call found for {kind} output with call_id {id}.",
        source="continuedev/continue#10092, james-6-23/codex2api#414; of a custom tool call in bodies of clients' tests",
        confidence="A",
        mode="enforce",
        check=_orphan_output,
        **_RESPONSES,
    ),
    # The provider binds outputs to calls one to one, so a second one has no call.
    ProviderRule(
        id="duplicate_output",
        code=None,
        param="input",
        message="No tool call found for {kind} output with call_id {id}.",
        source="openai/codex, comment in codex-rs/core/src/context_manager/normalize.rs",
        confidence="B",
        mode="enforce",
        check=_duplicate_output,
        **_RESPONSES,
    ),
    ProviderRule(
        id="missing_output",
        code=None,
        param="input",
        message="No tool output found for {kind} {id}.",
        source="symgraph/GhidrAssist#78 (function call), Soju06/codex-lb#1168 (custom tool call)",
        confidence="A",
        mode="enforce",
        check=_missing_output,
        **_RESPONSES,
    ),
)

RULES = WireRules("openai_responses", Body, _ROWS)
