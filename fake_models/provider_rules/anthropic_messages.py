"""What Anthropic refuses on Messages before its model sees it. Pure; sends nothing."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fake_models.provider_rules.anthropic_body import Body, blocks, placed
from fake_models.provider_rules.anthropic_thoughts import (
    left_out,
    signature_changed,
    signature_missing,
    signed_here,
    thought_here,
)
from fake_models.provider_rules.rule import CAPTURED, Fields, ProviderRule, WireRules

# No set: a role of an odd body may be unhashable.
ROLES = ("user", "assistant", "system")
CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
#: Output tokens that models of a family may be asked for, read by a row that is off: new ones come with every release.
OUTPUT_LIMITS = (("claude-3-5", 8192), ("claude-3-", 4096))
#: Request keys of the API reference, read by a row that is off: the list ages with every release.
KNOWN_KEYS = frozenset(
    {
        "cache_control",
        "container",
        "context_management",
        "diagnostics",
        "inference_geo",
        "max_tokens",
        "mcp_servers",
        "messages",
        "metadata",
        "model",
        "output_config",
        "output_format",
        "service_tier",
        "speed",
        "stop_sequences",
        "stream",
        "system",
        "temperature",
        "thinking",
        "tool_choice",
        "tools",
        "top_k",
        "top_p",
        "user_profile_id",
        "workspace_id",
    }
)


def _model_missing(body: Body) -> Iterator[Fields]:
    if "model" not in body.data:
        yield {}


def _any_without_tools(body: Body) -> Iterator[Fields]:
    if body.choice.get("type") == "any" and not body.data.get("tools"):
        yield {}


def _auto_without_tools(body: Body) -> Iterator[Fields]:
    if body.choice.get("type") == "auto" and not body.data.get("tools"):
        yield {}


def _choice_unknown(body: Body) -> Iterator[Fields]:
    name = body.choice.get("name")
    if body.choice.get("type") == "tool" and name not in [tool.get("name") for _, tool in body.tools]:
        yield {"name": name}


def _tool_name_pattern(body: Body) -> Iterator[Fields]:
    for i, tool in body.tools:
        name = tool.get("name")
        if _is_custom(tool) and isinstance(name, str) and not TOOL_NAME.fullmatch(name):
            yield {"i": i}


def _is_custom(tool: Fields) -> bool:
    return tool.get("type") in (None, "custom")


def _schema_missing(body: Body) -> Iterator[Fields]:
    yield from ({"i": i} for i, tool in body.tools if _is_custom(tool) and "input_schema" not in tool)


def _schema_type_missing(body: Body) -> Iterator[Fields]:
    for i, tool in body.tools:
        schema = tool.get("input_schema")
        if _is_custom(tool) and isinstance(schema, Mapping) and "type" not in schema:
            yield {"i": i}


def _tool_names_repeat(body: Body) -> Iterator[Fields]:
    names = [tool["name"] for _, tool in body.tools if isinstance(tool.get("name"), str)]
    if len(set(names)) < len(names):
        yield {}


def _messages_missing(body: Body) -> Iterator[Fields]:
    if "messages" not in body.data:
        yield {}


def _messages_no_list(body: Body) -> Iterator[Fields]:
    if "messages" in body.data and not isinstance(body.data["messages"], list):
        yield {}


def _messages_empty(body: Body) -> Iterator[Fields]:
    if body.data.get("messages") == []:
        yield {}


def _role_unknown(body: Body) -> Iterator[Fields]:
    for _, message in body.messages:
        if message.get("role") not in ROLES:
            yield {"role": message.get("role")}


def _content_missing(body: Body) -> Iterator[Fields]:
    yield from ({"i": i} for i, message in body.messages if "content" not in message)


def _content_no_list(body: Body) -> Iterator[Fields]:
    for i, message in body.messages:
        if not isinstance(message.get("content", ""), str | list):
            yield {"i": i}


def _call_id_pattern(body: Body) -> Iterator[Fields]:
    for i, j, block in blocks(body.messages, "tool_use"):
        if isinstance(block.get("id"), str) and not CALL_ID.fullmatch(block["id"]):
            yield {"i": i, "j": j}


def _input_no_object(body: Body) -> Iterator[Fields]:
    for i, j, block in blocks(body.messages, "tool_use"):
        if not isinstance(block.get("input", {}), Mapping):
            yield {"i": i, "j": j}


def _input_missing(body: Body) -> Iterator[Fields]:
    yield from ({"i": i, "j": j} for i, j, block in blocks(body.messages, "tool_use") if "input" not in block)


def _ids_missing(body: Body) -> Iterator[Fields]:
    for kind, key in (("tool_use", "id"), ("tool_result", "tool_use_id")):
        for i, j, block in blocks(body.messages, kind):
            if block.get(key) is None:
                yield {"i": i, "j": j, "field": f"{kind}.{key}"}


def _error_empty(body: Body) -> Iterator[Fields]:
    for i, j, block in blocks(body.messages, "tool_result"):
        if block.get("is_error") is True and block.get("content") in (None, "", []):
            yield {"i": i, "j": j}


def _max_tokens_null(body: Body) -> Iterator[Fields]:
    if body.data.get("max_tokens", 0) is None:
        yield {}


def _max_tokens_missing(body: Body) -> Iterator[Fields]:
    if "max_tokens" not in body.data:
        yield {}


def _max_tokens_above_model(body: Body) -> Iterator[Fields]:
    model, asked = str(body.data.get("model")), body.data.get("max_tokens")
    limit = next((limit for family, limit in OUTPUT_LIMITS if model.startswith(family)), None)
    if limit is not None and isinstance(asked, int) and asked > limit:
        yield {"n": asked, "max": limit, "model": model}


def _unknown_key(body: Body) -> Iterator[Fields]:
    yield from ({"key": key} for key in body.data if key not in KNOWN_KEYS)


def _system_first(body: Body) -> Iterator[Fields]:
    if body.messages and body.messages[0][1].get("role") == "system":
        yield {"i": body.messages[0][0]}


def _system_misplaced(body: Body) -> Iterator[Fields]:
    for (role, turn), (following, _) in zip(body.turns, body.turns[1:], strict=False):
        # At the head it has its own row.
        if role == "system" and following != "assistant" and turn[0] != body.messages[0]:
            yield {"i": turn[-1][0]}


def _system_after_answer(body: Body) -> Iterator[Fields]:
    for (before, answers), (role, turn) in zip(body.turns, body.turns[1:], strict=False):
        # The provider's own tools leave their calls and results in the answer.
        kinds = [block.get("type") for _, _, block in placed(answers)]
        if (before, role) == ("assistant", "system") and (not kinds or kinds[-1] in ("text", "thinking")):
            yield {"i": turn[0][0]}


def _user_content_empty(body: Body) -> Iterator[Fields]:
    for role, turn in body.turns:
        if role == "user" and all(message.get("content") in ("", []) for _, message in turn):
            yield {"i": turn[0][0]}


def _text_block_empty(body: Body) -> Iterator[Fields]:
    if any(block.get("text") == "" for _, _, block in blocks(body.messages, "text")):
        yield {}


def _text_blank(body: Body) -> Iterator[Fields]:
    for message in body.messages:
        content = [block for _, _, block in placed([message])]
        texts = [block.get("text") for block in content if block.get("type") == "text"]
        if (
            texts
            and len(texts) == len(content)
            and all(isinstance(one, str) and one and one.isspace() for one in texts)
        ):
            yield {}


def _call_ids_repeat(body: Body) -> Iterator[Fields]:
    for role, turn in body.turns:
        seen: list[Any] = []
        for i, j, block in blocks(turn, "tool_use") if role == "assistant" else ():
            if block.get("id") in seen:
                yield {"i": i, "j": j}
            seen.append(block.get("id"))


def _missing_results(body: Body) -> Iterator[Fields]:
    for calls, results in body.exchanges:
        answered = [block.get("tool_use_id") for _, _, block in results]
        missing = [(i, block.get("id")) for i, _, block in calls if block.get("id") not in answered]
        if missing:
            yield {"i": missing[0][0], "ids": ", ".join(str(id_) for _, id_ in missing)}


def _orphans(body: Body) -> Iterator[Fields]:
    for calls, results in body.exchanges:
        known = [block.get("id") for _, _, block in calls]
        for i, j, block in results:
            if block.get("tool_use_id") not in known:
                yield {"i": i, "j": j, "id": block.get("tool_use_id")}


def _duplicate_results(body: Body) -> Iterator[Fields]:
    for _, results in body.exchanges:
        seen: list[Any] = []
        for i, j, block in results:
            if block.get("tool_use_id") in seen:
                yield {"i": i, "j": j, "id": block.get("tool_use_id")}
            seen.append(block.get("tool_use_id"))


def _results_not_first(body: Body) -> Iterator[Fields]:
    for i, message in body.messages:
        kinds = [block.get("type") == "tool_result" for _, _, block in placed([(i, message)])]
        if message.get("role") == "user" and kinds != sorted(kinds, reverse=True):
            yield {"i": i, "n": sum(kinds)}


def _roles_repeat(body: Body) -> Iterator[Fields]:
    for role, turn in body.turns:
        if role in ("user", "assistant") and len(turn) > 1:
            yield {"role": role}


def _first_is_no_user(body: Body) -> Iterator[Fields]:
    if body.messages and body.messages[0][1].get("role") == "assistant":
        yield {}


def _message_empty(body: Body) -> Iterator[Fields]:
    for i, message in body.messages:
        is_last_answer = message.get("role") == "assistant" and message is body.messages[-1][1]
        if message.get("content") in ("", []) and not is_last_answer:
            yield {"i": i}


_ERROR: Mapping[str, Any] = {
    "wire": "anthropic_messages",
    "status": 400,
    "type": "invalid_request_error",
    # The envelope has a place for neither.
    "code": None,
    "param": None,
}
_SEEN: Mapping[str, Any] = {**_ERROR, "confidence": "A", "mode": "enforce"}
#: Told of by code and comments alone, or concluded from the provider's types and from what it says of the like.
_HEARSAY: Mapping[str, Any] = {**_ERROR, "confidence": "B", "mode": "observe"}
#: Refused once and accepted since, or no loop's doing.
_OFF: Mapping[str, Any] = {**_ERROR, "confidence": "A", "mode": "off"}

#: In the order in which the provider looks: model, tool choice, tools, messages one by one, the other keys, unknown keys, and
#: the shape of the conversation last.
_ROWS = (
    ProviderRule(
        id="model_missing",
        message="model: Field required",
        source=CAPTURED,
        check=_model_missing,
        **_SEEN,
    ),
    # The choice with no list and with an empty one; an empty list alone is accepted (run-llama/llama_index#17928).
    ProviderRule(
        id="tool_choice_any_without_tools",
        message="tool_choice.any may only be specified while providing tools",
        source=CAPTURED,
        check=_any_without_tools,
        **_SEEN,
    ),
    ProviderRule(
        id="tool_choice_auto_without_tools",
        message="tool_choice.auto may only be specified while providing tools",
        source="concluded from what the provider says of `any`",
        check=_auto_without_tools,
        **_HEARSAY,
    ),
    ProviderRule(
        id="tool_choice_unknown",
        message="Tool '{name}' not found in provided tools",
        source=CAPTURED,
        check=_choice_unknown,
        **_SEEN,
    ),
    ProviderRule(
        id="tool_name_pattern",
        message="tools.{i}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'",
        source=f"home-assistant/core#147760; {CAPTURED}",
        check=_tool_name_pattern,
        **_SEEN,
    ),
    ProviderRule(
        id="input_schema_missing",
        message="tools.{i}.custom.input_schema: Field required",
        source="concluded from what the provider says of its type, and from its client's types",
        check=_schema_missing,
        **_HEARSAY,
    ),
    ProviderRule(
        id="input_schema_type_missing",
        message="tools.{i}.custom.input_schema.type: Field required",
        source="Kilo-Org/kilocode#12238, lidge-jun/opencodex#75",
        check=_schema_type_missing,
        **_SEEN,
    ),
    ProviderRule(
        id="tool_names_unique",
        message="tools: Tool names must be unique.",
        source="microsoft/vscode#278073",
        check=_tool_names_repeat,
        **_SEEN,
    ),
    ProviderRule(
        id="messages_missing",
        message="messages: Field required",
        source=f"sourcegraph/sourcegraph-public-snapshot#61586; {CAPTURED}",
        check=_messages_missing,
        **_SEEN,
    ),
    ProviderRule(
        id="messages_no_list",
        message="messages: Input should be a valid array",
        source=CAPTURED,
        check=_messages_no_list,
        **_SEEN,
    ),
    ProviderRule(
        id="messages_empty",
        message="messages: at least one message is required",
        source=CAPTURED,
        check=_messages_empty,
        **_SEEN,
    ),
    # System messages are accepted behind the first, though the text names two roles only.
    ProviderRule(
        id="role_unknown",
        message='messages: Unexpected role "{role}". Allowed roles are "user" or "assistant"',
        source=CAPTURED,
        check=_role_unknown,
        **_SEEN,
    ),
    ProviderRule(
        id="content_missing",
        message="messages.{i}.content: Field required",
        source=CAPTURED,
        check=_content_missing,
        **_SEEN,
    ),
    ProviderRule(
        id="content_no_list",
        message="messages.{i}.content: Input should be a valid array",
        source=CAPTURED,
        check=_content_no_list,
        **_SEEN,
    ),
    ProviderRule(
        id="tool_use_id_pattern",
        message="messages.{i}.content.{j}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        source="anomalyco/opencode#1279, maximhq/bifrost#5097",
        check=_call_id_pattern,
        **_SEEN,
    ),
    ProviderRule(
        id="tool_id_missing",
        message="messages.{i}.content.{j}.{field}: Field required",
        source="concluded from the provider's client, whose types require both",
        check=_ids_missing,
        **_HEARSAY,
    ),
    ProviderRule(
        id="tool_use_input_missing",
        message="messages.{i}.content.{j}.tool_use.input: Field required",
        source="liushuangls/go-anthropic#67",
        check=_input_missing,
        **_SEEN,
    ),
    ProviderRule(
        id="tool_use_input_not_dict",
        message="messages.{i}.content.{j}.tool_use.input: Input should be a valid dictionary",
        source="anthropics/claude-code#6695",
        check=_input_no_object,
        **_SEEN,
    ),
    ProviderRule(
        id="tool_result_error_empty",
        message="messages.{i}.content.{j}.tool_result: content cannot be empty if `is_error` is true",
        source="bytedance/trae-agent#230, jlevy/markform#153",
        check=_error_empty,
        **_SEEN,
    ),
    ProviderRule(
        id="thinking_signature_missing",
        message="messages.{i}.content.{j}.thinking.signature: Field required",
        source="lbjlaq/Antigravity-Manager#1650, openclaw/openclaw#8664",
        check=signature_missing,
        **_SEEN,
    ),
    ProviderRule(
        id="max_tokens_null",
        message="max_tokens: Input should be a valid integer",
        source="concluded from what the provider says of other keys",
        check=_max_tokens_null,
        **_HEARSAY,
    ),
    ProviderRule(
        id="max_tokens_missing",
        message="max_tokens: Field required",
        source=CAPTURED,
        check=_max_tokens_missing,
        **_SEEN,
    ),
    ProviderRule(
        id="max_tokens_above_model",
        message="max_tokens: {n} > {max}, which is the maximum allowed number of output tokens for {model}",
        source="ChatGPTNextWeb/NextChat#4964",
        check=_max_tokens_above_model,
        **_OFF,
    ),
    ProviderRule(
        id="unknown_key",
        message="{key}: Extra inputs are not permitted",
        source=CAPTURED,
        check=_unknown_key,
        **_OFF,
    ),
    ProviderRule(
        id="system_message_first",
        message="messages.{i}: use the top-level 'system' parameter for the initial system prompt; the directive-only form (content: [] with output_config) is accepted at any position",
        source=CAPTURED,
        check=_system_first,
        **_SEEN,
    ),
    ProviderRule(
        id="system_message_misplaced",
        message="messages.{i}: role 'system' must precede an 'assistant' message or end the array; the directive-only form (content: [] with output_config) is accepted at any position",
        source=CAPTURED,
        check=_system_misplaced,
        **_SEEN,
    ),
    # The place is documented, the words are this project's own.
    ProviderRule(
        id="system_message_after_answer",
        message="messages.{i}: role 'system' must follow a 'user' message",
        source="UKGovernmentBEIS/inspect_ai#4095, maximhq/bifrost#3945, which quote the provider's guide",
        check=_system_after_answer,
        **_HEARSAY,
    ),
    ProviderRule(
        id="user_content_empty",
        message="messages.{i}: user messages must have non-empty content",
        source=CAPTURED,
        check=_user_content_empty,
        **_SEEN,
    ),
    ProviderRule(
        id="empty_text_block",
        message="messages: text content blocks must be non-empty",
        source="anthropics/claude-code#59812, miurla/morphic#83",
        check=_text_block_empty,
        **_SEEN,
    ),
    # Measured: beside any other block it is accepted.
    ProviderRule(
        id="blank_text_block",
        message="messages: text content blocks must contain non-whitespace text",
        source="anthropics/claude-code#23440, LibreChat-AI/agents#124",
        check=_text_blank,
        **_SEEN,
    ),
    # Every capture has both calls in one turn; whether the ids of two turns may be the same is not established.
    ProviderRule(
        id="duplicate_tool_use_id",
        message="messages.{i}.content.{j}: `tool_use` ids must be unique",
        source="trycua/cua#524, anthropics/claude-code#20700",
        check=_call_ids_repeat,
        **_SEEN,
    ),
    # The index is the assistant's message.
    ProviderRule(
        id="missing_tool_result",
        message="messages.{i}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        source="anthropics/claude-code#5060, anthropics/claude-code#5989",
        check=_missing_results,
        **_SEEN,
    ),
    ProviderRule(
        id="orphan_tool_result",
        message="messages.{i}.content.{j}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
        source="anthropics/claude-code#13460, anthropics/claude-code#18947",
        check=_orphans,
        **_SEEN,
    ),
    ProviderRule(
        id="duplicate_tool_result",
        message="messages.{i}.content.{j}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}",
        source="vectorize-io/hindsight#4250",
        check=_duplicate_results,
        confidence="B",
        mode="enforce",
        **_ERROR,
    ),
    # Any turn of the loop, with a call that came with a thought. Thinking that is `adaptive` does not ask for it.
    ProviderRule(
        id="thinking_left_out",
        message="messages.{i}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{type}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking",
        source="anomalyco/opencode#3077, Kilo-Org/kilocode#5219, deepset-ai/haystack-core-integrations#2146",
        check=left_out,
        only=thought_here,
        **_SEEN,
    ),
    ProviderRule(
        id="thinking_signature_changed",
        message="messages.{i}.content.{j}: Invalid `signature` in `thinking` block",
        source="lbjlaq/Antigravity-Manager#498, ding113/claude-code-hub#518",
        check=signature_changed,
        only=signed_here,
        **_SEEN,
    ),
    # Documented to this day; whether in these words is not established.
    ProviderRule(
        id="tool_result_not_first",
        message="messages.{i}: Did not find {n} tool_result block(s) at the beginning of this message. Messages following tool_use blocks must begin with a matching number of tool_result blocks.",
        source="apify/tester-mcp-client#12 (2025-03)",
        check=_results_not_first,
        confidence="B",
        mode="observe",
        **_ERROR,
    ),
    ProviderRule(
        id="roles_alternate_legacy",
        message='messages: roles must alternate between "user" and "assistant", but found multiple "{role}" roles in a row',
        source="mattermost/mattermost-plugin-agents#180 (2024-05), modelcontextprotocol/quickstart-resources#20 (Bedrock, 2025-03)",
        check=_roles_repeat,
        **_OFF,
    ),
    ProviderRule(
        id="first_must_be_user_legacy",
        message='messages: first message must use the "user" role',
        source="lobehub/lobehub#1601 (2024-03)",
        check=_first_is_no_user,
        **_OFF,
    ),
    ProviderRule(
        id="empty_message_legacy",
        message="messages.{i}: all messages must have non-empty content except for the optional final assistant message",
        source="anthropics/claude-code#6774 (2025-08)",
        check=_message_empty,
        **_OFF,
    ),
)

RULES = WireRules("anthropic_messages", Body, _ROWS)
