"""Chat bodies over the official SDK of each wire: requests translated there, replies back. Repairs nothing, retries nothing."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import anthropic
import httpx
import httpx2
import ollama
import openai
from google import genai
from google.genai import errors as genai_errors
from google.genai import types

from fake_models.errors import ModelError, StreamBroken

#: What an SDK raises where the connection breaks.
BROKEN = (
    anthropic.APIConnectionError,
    openai.APIConnectionError,
    httpx.TransportError,
    httpx2.TransportError,
    ConnectionError,
)


#: One for all: a client reads every certificate there is when it is made, and these speak to this machine alone.
HTTP = httpx2.Client(verify=False)


@dataclass(frozen=True)
class Way:
    """How the kit says that a model is reached."""

    base_url: str
    key: str


@dataclass(frozen=True)
class Heard:
    """A piece of a reply, whole or of a stream. `calls` are (index, id, name, arguments), `reply` is the reply's id."""

    text: str | None = None
    thinking: str | None = None
    calls: tuple[tuple[int, str | None, str | None, str], ...] = ()
    finish: str | None = None
    usage: tuple[int, int] | None = None
    error: Any = None
    reply: str | None = None


Ask = Callable[..., Iterator[Heard]]


def whole(ask: Ask, way: Way, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """A Chat reply, of all pieces."""
    heard = list(_sent(ask, way, dict(body), headers or {}, stream=False))
    if failed := next((one.error for one in heard if one.error is not None), None):
        return {"error": failed}
    texts = [one.text for one in heard if one.text is not None]
    message: dict[str, Any] = {"role": "assistant", "content": "".join(texts) if texts else None}
    if thought := "".join(one.thinking or "" for one in heard):
        message["reasoning_content"] = thought
    if calls := [call for one in heard for call in one.calls]:
        message["tool_calls"] = [_call(*call) for call in calls]
    choice = {"index": 0, "message": message, "finish_reason": next((o.finish for o in heard if o.finish), None)}
    spent = next((one.usage for one in heard if one.usage), None)
    return {"id": next((one.reply for one in heard if one.reply), ""), "choices": [choice], **_usage(spent)}


def streamed(
    ask: Ask, way: Way, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> Iterator[dict[str, Any]]:
    """Chat chunks, one per piece."""
    for one in _sent(ask, way, dict(body), headers or {}, stream=True):
        if one.error is not None:
            yield {"error": one.error}
            return
        delta: dict[str, Any] = {"content": one.text}
        if one.thinking:
            delta["reasoning_content"] = one.thinking
        if one.calls:
            delta["tool_calls"] = [_call(*call) for call in one.calls]
        choice = {"index": 0, "delta": delta, "finish_reason": one.finish}
        yield {"id": one.reply or "", "choices": [choice], **_usage(one.usage)}


def _sent(ask: Ask, way: Way, body: dict[str, Any], headers: Mapping[str, str], *, stream: bool) -> Iterator[Heard]:
    try:
        yield from ask(way, body, headers, stream=stream)
    except BROKEN as error:
        raise StreamBroken(repr(error)) from error
    except ollama.ResponseError as error:
        yield _told(error.status_code, {"error": {"message": error.error}}, {})
    except genai_errors.APIError as error:
        yield _told(error.code, error.details, getattr(error.response, "headers", None) or {})
    except (openai.APIStatusError, anthropic.APIStatusError) as error:
        yield _told(error.status_code, _body(error.response), error.response.headers, error.body)
    except openai.APIError as error:
        yield Heard(error=error.body or {"message": error.message})
    except (TypeError, ValueError) as error:
        # A body that is no JSON, or none of the wire's: SDKs say so by errors of many kinds, or trip over it.
        yield Heard(error={"message": f"no reply: {error!r}"})


def _told(status: Any, body: Any, headers: Mapping[str, str], in_stream: Any = None) -> Heard:
    """An error that the model answered with; one that a stream told after it had begun well is heard as a piece of it."""
    if isinstance(status, int) and status >= 400:
        raise ModelError(status, body, dict(headers))
    return Heard(error=in_stream or body)


def _fields(reply: Any) -> dict[str, Any]:
    """A parsed reply as an object; what the SDK passed through as a text is the message of an error."""
    return {"error": {"message": str(reply)[:200]}} if isinstance(reply, str) else reply.model_dump(exclude_unset=True)


def _body(response: Any) -> Any:
    try:
        return response.json()
    except ValueError:
        return response.text


def _call(index: int, call_id: str | None, name: str | None, arguments: str) -> dict[str, Any]:
    named = {} if call_id is None else {"id": call_id}
    return {"index": index, **named, "type": "function", "function": {"name": name or "", "arguments": arguments}}


def _usage(spent: tuple[int, int] | None) -> dict[str, Any]:
    if spent is None:
        return {}
    return {"usage": {"prompt_tokens": spent[0], "completion_tokens": spent[1], "total_tokens": sum(spent)}}


def _object(arguments: str) -> dict[str, Any]:
    """Arguments as an object, which these wires want; what is none becomes an empty one."""
    try:
        given = json.loads(arguments)
    except ValueError:
        return {}
    return given if isinstance(given, dict) else {}


def _functions(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [tool["function"] for tool in body.get("tools", ())]


def _choice(body: Mapping[str, Any]) -> str | None:
    """Auto, none, required, or a tool's name."""
    choice = body.get("tool_choice")
    return choice["function"]["name"] if isinstance(choice, dict) else choice


def _rows(messages: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The messages with tool results that stand in a row together."""
    row: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] == "tool":
            row.append(message)
            continue
        if row:
            yield "tool", row
            row = []
        yield message["role"], [message]
    if row:
        yield "tool", row


def _names(messages: list[dict[str, Any]]) -> dict[str, str]:
    return {
        call["id"]: call["function"]["name"] for message in messages for call in message.get("tool_calls") or () if call
    }


# OpenAI Chat.


def chat(way: Way, body: dict[str, Any], headers: Mapping[str, str], *, stream: bool) -> Iterator[Heard]:
    """`openai`, Chat Completions."""
    client = openai.OpenAI(base_url=way.base_url, api_key=way.key, max_retries=0, http_client=HTTP)
    asked = partial(client.chat.completions.create, **body, extra_headers=headers)
    if not stream:
        reply = _fields(asked())
        if not isinstance(reply.get("choices"), list):
            yield Heard(error=reply.get("error") or reply)
            return
        yield Heard(reply=reply.get("id"))
        yield from (_of_choice(c["message"], c["finish_reason"], reply.get("usage")) for c in reply["choices"])
        return
    for chunk in asked(stream=True):
        said = chunk.model_dump(exclude_unset=True)
        yield Heard(reply=said.get("id"))
        for choice in said["choices"]:
            yield _of_choice(choice["delta"], choice.get("finish_reason"), None)
        if said.get("usage"):
            yield Heard(usage=(said["usage"]["prompt_tokens"], said["usage"]["completion_tokens"]))


def _of_choice(message: Mapping[str, Any], finish: str | None, usage: Any) -> Heard:
    calls = tuple(
        (
            call.get("index", position),
            call.get("id"),
            call.get("function", {}).get("name"),
            call.get("function", {}).get("arguments") or "",
        )
        for position, call in enumerate(message.get("tool_calls") or ())
    )
    spent = (usage["prompt_tokens"], usage["completion_tokens"]) if usage else None
    return Heard(message.get("content"), message.get("reasoning_content"), calls, finish, spent)


# OpenAI Responses.


def responses(
    way: Way,
    body: dict[str, Any],
    headers: Mapping[str, str],
    *,
    stream: bool,
    previous: str | None = None,
    store: bool = False,
) -> Iterator[Heard]:
    """`openai`, Responses. `previous`: the body holds only what comes after the response of this id."""
    asked: dict[str, Any] = {"model": body["model"], "input": list(_items(body["messages"])), "store": store}
    if previous is not None:
        asked["previous_response_id"] = previous
    if tools := _functions(body):
        asked["tools"] = [{"type": "function", "strict": False, **tool} for tool in tools]
    if choice := _choice(body):
        known = choice in ("auto", "none", "required")
        asked["tool_choice"] = choice if known else {"type": "function", "name": choice}
    client = openai.OpenAI(base_url=way.base_url, api_key=way.key, max_retries=0, http_client=HTTP)
    if not stream:
        yield from _response(_fields(client.responses.create(**asked, extra_headers=headers)))
        return
    yield from _responses_stream(client.responses.create(**asked, stream=True, extra_headers=headers))


def _responses_stream(events: Any) -> Iterator[Heard]:
    at: dict[int, int] = {}
    for event in events:
        match event.type:
            case "response.output_text.delta":
                yield Heard(text=event.delta)
            case "response.reasoning_summary_text.delta":
                yield Heard(thinking=event.delta)
            case "response.output_item.added" if event.item.type == "function_call":
                at[event.output_index] = len(at)
                yield Heard(calls=((at[event.output_index], event.item.call_id, event.item.name, ""),))
            case "response.function_call_arguments.delta":
                yield Heard(calls=((at[event.output_index], None, None, event.delta),))
            case "response.completed" | "response.incomplete":
                ended = event.response.model_dump()
                yield Heard(finish=_ended(ended), usage=_spent(ended), reply=ended["id"])
            case "response.failed":
                yield Heard(error=event.response.model_dump()["error"])
            case "error":
                yield Heard(error={"code": event.code, "message": event.message})


def _items(messages: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for message in messages:
        if message["role"] == "tool":
            yield {"type": "function_call_output", "call_id": message["tool_call_id"], "output": message["content"]}
            continue
        if message.get("content") is not None:
            yield {"role": message["role"], "content": message["content"]}
        for call in message.get("tool_calls") or ():
            yield {"type": "function_call", "call_id": call["id"], **call["function"]}


def _response(reply: Mapping[str, Any]) -> Iterator[Heard]:
    if not reply.get("output") and reply.get("status") is None:
        yield Heard(error=reply.get("error") or {"message": "no response"})
        return
    calls = 0
    for item in reply["output"]:
        if item["type"] == "message":
            yield from (Heard(text=part["text"]) for part in item["content"] if part["type"] == "output_text")
        elif item["type"] == "reasoning":
            yield from (Heard(thinking=part["text"]) for part in item["summary"])
        elif item["type"] == "function_call":
            yield Heard(calls=((calls, item.get("call_id"), item["name"], item["arguments"]),))
            calls += 1
    yield Heard(finish=_ended(reply), usage=_spent(reply), reply=reply["id"])


def _ended(reply: Mapping[str, Any]) -> str:
    if reply["status"] == "incomplete":
        return {"max_output_tokens": "length", "content_filter": "content_filter"}[
            reply["incomplete_details"]["reason"]
        ]
    return "tool_calls" if any(item["type"] == "function_call" for item in reply["output"]) else "stop"


def _spent(reply: Mapping[str, Any]) -> tuple[int, int] | None:
    usage = reply.get("usage")
    return (usage["input_tokens"], usage["output_tokens"]) if usage else None


# Anthropic Messages.

ANTHROPIC_STOPS = {
    "end_turn": "stop",
    "max_tokens": "length",
    "refusal": "content_filter",
    "tool_use": "tool_calls",
    "model_context_window_exceeded": "length",
}


def messages(way: Way, body: dict[str, Any], headers: Mapping[str, str], *, stream: bool) -> Iterator[Heard]:
    """`anthropic`, Messages."""
    system = [m["content"] for m in body["messages"] if m["role"] in ("system", "developer")]
    asked: dict[str, Any] = {
        "model": body["model"],
        "max_tokens": 1024,
        "messages": list(_blocks([m for m in body["messages"] if m["role"] not in ("system", "developer")])),
    }
    if system:
        asked["system"] = "\n\n".join(system)
    if tools := _functions(body):
        asked["tools"] = [
            {"name": t["name"], "description": t["description"], "input_schema": t["parameters"]} for t in tools
        ]
    if choice := _choice(body):
        types_ = {"auto": {"type": "auto"}, "none": {"type": "none"}, "required": {"type": "any"}}
        asked["tool_choice"] = types_.get(choice, {"type": "tool", "name": choice})
    client = anthropic.Anthropic(base_url=way.base_url, api_key=way.key, max_retries=0, http_client=HTTP)
    made = client.messages.create(**asked, stream=stream, extra_headers=headers)
    yield from _anthropic_stream(made) if stream else _anthropic_whole(_fields(made))


def _blocks(given: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for role, row in _rows(given):
        if role == "tool":
            results = [{"type": "tool_result", "tool_use_id": m["tool_call_id"], "content": m["content"]} for m in row]
            yield {"role": "user", "content": results}
            continue
        message = row[0]
        said = [{"type": "text", "text": message["content"]}] if (message.get("content") or "").strip() else []
        used = [
            {
                "type": "tool_use",
                "id": c["id"],
                "name": c["function"]["name"],
                "input": _object(c["function"]["arguments"]),
            }
            for c in message.get("tool_calls") or ()
        ]
        if said or used:
            yield {"role": role, "content": said + used}


def _anthropic_whole(reply: Mapping[str, Any]) -> Iterator[Heard]:
    if not isinstance(reply.get("content"), list):
        yield Heard(error=reply.get("error") or {"message": "no message"})
        return
    calls = 0
    for block in reply["content"]:
        if block["type"] == "text":
            yield Heard(text=block["text"])
        elif block["type"] == "thinking":
            yield Heard(thinking=block["thinking"])
        elif block["type"] == "tool_use":
            yield Heard(calls=((calls, block.get("id"), block["name"], json.dumps(block["input"])),))
            calls += 1
    usage = reply.get("usage") or {}
    yield Heard(
        reply=reply.get("id"),
        finish=ANTHROPIC_STOPS.get(reply["stop_reason"], reply["stop_reason"]),
        usage=(usage["input_tokens"], usage["output_tokens"]) if usage.get("input_tokens") is not None else None,
    )


def _anthropic_stream(events: Any) -> Iterator[Heard]:
    at: dict[int, int] = {}
    begun = 0
    for event in events:
        match event.type:
            case "message_start":
                begun = event.message.usage.input_tokens if event.message.usage else 0
                yield Heard(reply=event.message.id)
            case "content_block_start" if event.content_block.type == "tool_use":
                at[event.index] = len(at)
                yield Heard(calls=((at[event.index], event.content_block.id, event.content_block.name, ""),))
            case "content_block_start" if event.content_block.type == "text":
                yield Heard(text=event.content_block.text)
            case "content_block_delta":
                match event.delta.type:
                    case "text_delta":
                        yield Heard(text=event.delta.text)
                    case "thinking_delta":
                        yield Heard(thinking=event.delta.thinking)
                    case "input_json_delta":
                        yield Heard(calls=((at[event.index], None, None, event.delta.partial_json),))
            case "message_delta":
                counted = event.usage is not None and event.usage.output_tokens is not None
                usage = (begun, event.usage.output_tokens) if counted else None
                reason = event.delta.stop_reason
                yield Heard(finish=ANTHROPIC_STOPS.get(reason, reason), usage=usage)


# Gemini.

GEMINI_STOPS = {"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "content_filter"}


def gemini(way: Way, body: dict[str, Any], headers: Mapping[str, str], *, stream: bool) -> Iterator[Heard]:
    """`google-genai`."""
    system = [m["content"] for m in body["messages"] if m["role"] in ("system", "developer")]
    config: dict[str, Any] = {"http_options": {"headers": dict(headers)}}
    if system:
        config["system_instruction"] = "\n\n".join(system)
    if tools := _functions(body):
        declared = [
            {"name": t["name"], "description": t["description"], "parameters_json_schema": t["parameters"]}
            for t in tools
        ]
        config["tools"] = [{"function_declarations": declared}]
    if choice := _choice(body):
        mode = {"auto": "AUTO", "none": "NONE", "required": "ANY"}.get(choice, "ANY")
        named = {} if choice in ("auto", "none", "required") else {"allowed_function_names": [choice]}
        config["tool_config"] = {"function_calling_config": {"mode": mode, **named}}
    client = genai.Client(api_key=way.key, http_options={"base_url": way.base_url, "httpx_client": HTTP})
    asked = {
        "model": body["model"],
        "contents": list(_contents(body["messages"])),
        "config": types.GenerateContentConfig(**config),
    }
    calls = [0]
    if not stream:
        yield from _generated(client.models.generate_content(**asked), calls)
        return
    for chunk in client.models.generate_content_stream(**asked):
        yield from _generated(chunk, calls)


def _contents(given: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    names = _names(given)
    for role, row in _rows([m for m in given if m["role"] not in ("system", "developer")]):
        if role == "tool":
            parts = [
                {
                    "function_response": {
                        "id": m["tool_call_id"],
                        "name": names.get(m["tool_call_id"], "unknown"),
                        "response": {"result": m["content"]},
                    }
                }
                for m in row
            ]
            yield {"role": "user", "parts": parts}
            continue
        message = row[0]
        parts = [{"text": message["content"]}] if message.get("content") else []
        parts += [
            {
                "function_call": {
                    "id": c["id"],
                    "name": c["function"]["name"],
                    "args": _object(c["function"]["arguments"]),
                }
            }
            for c in message.get("tool_calls") or ()
        ]
        if parts:
            yield {"role": "model" if role == "assistant" else "user", "parts": parts}


def _generated(reply: Any, calls: list[int]) -> Iterator[Heard]:
    candidate = (reply.candidates or [None])[0]
    if candidate is None and reply.prompt_feedback is None:
        yield Heard(error={"message": "no candidate and no feedback"})
        return
    content = candidate.content if candidate else None
    for part in (content.parts if content else None) or ():
        if part.function_call:
            call = part.function_call
            yield Heard(calls=((calls[0], call.id, call.name, json.dumps(call.args or {})),))
            calls[0] += 1
        elif part.thought:
            yield Heard(thinking=part.text)
        elif part.text is not None:
            yield Heard(text=part.text)
    reason = candidate.finish_reason.value if candidate and candidate.finish_reason else None
    finish = GEMINI_STOPS.get(reason, reason) if reason else None
    spent = reply.usage_metadata
    yield Heard(reply=reply.response_id)
    counted = spent is not None and spent.prompt_token_count is not None
    yield Heard(
        finish="tool_calls" if finish == "stop" and calls[0] else finish,
        usage=(spent.prompt_token_count, spent.candidates_token_count or 0) if counted and finish else None,
    )


# Ollama.


def ollama_chat(way: Way, body: dict[str, Any], headers: Mapping[str, str], *, stream: bool) -> Iterator[Heard]:
    """`ollama`. It knows no choice of tools: where none may be called, none is offered."""
    asked: dict[str, Any] = {"model": body["model"], "messages": list(_turns(body["messages"])), "stream": stream}
    if (tools := body.get("tools")) and _choice(body) != "none":
        asked["tools"] = tools
    client = ollama.Client(host=way.base_url, verify=False, headers={"Authorization": f"Bearer {way.key}", **headers})
    made = client.chat(**asked)
    calls = 0
    for part in made if stream else [made]:
        said = part.message
        for call in said.tool_calls or ():
            arguments = json.dumps(dict(call.function.arguments))
            yield Heard(calls=((calls, getattr(call, "id", None), call.function.name, arguments),))
            calls += 1
        finish = part.done_reason
        spent = part.prompt_eval_count
        yield Heard(
            text=said.content or None,
            thinking=said.thinking or None,
            finish="tool_calls" if finish == "stop" and calls else finish,
            usage=(spent, part.eval_count or 0) if spent is not None else None,
        )


def _turns(given: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    names = _names(given)
    for message in given:
        if message["role"] == "tool":
            name = names.get(message["tool_call_id"], "unknown")
            yield {"role": "tool", "tool_name": name, "content": message["content"]}
            continue
        turn: dict[str, Any] = {"role": message["role"], "content": message.get("content") or ""}
        if calls := message.get("tool_calls"):
            turn["tool_calls"] = [
                {"function": {"name": c["function"]["name"], "arguments": _object(c["function"]["arguments"])}}
                for c in calls
            ]
        yield turn


SDKS: Mapping[str, Ask] = {
    "openai_chat": chat,
    "openai_responses": responses,
    "anthropic_messages": messages,
    "gemini": gemini,
    "ollama": ollama_chat,
}
