"""
How servers that speak OpenAI Chat stray from it, each as a change of the payloads. Pure; makes no reply.

Every one was seen with a real server, named beside it.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from types import MappingProxyType
from typing import Any

from fake_models.wire.codec import DUPLICATE_IDS, Quirk

Chunk = Mapping[str, Any]
Chunks = tuple[Chunk, ...]


def _calls(chunk: Chunk) -> tuple[Mapping[str, Any], ...]:
    """The call deltas of a chunk; this project's codec sends one at most."""
    return tuple(call for choice in chunk["choices"] for call in choice["delta"].get("tool_calls", ()))


def _with_calls(chunk: Chunk, calls: list[dict[str, Any]]) -> Chunk:
    (choice,) = chunk["choices"]
    return {**chunk, "choices": [{**choice, "delta": {**choice["delta"], "tool_calls": calls}}]}


def _each_call(change: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Callable[[Chunks], Chunks]:
    def changed(chunks: Chunks) -> Chunks:
        return tuple(_with_calls(one, [change(call) for call in _calls(one)]) if _calls(one) else one for one in chunks)

    return changed


def _whole_calls(chunks: Chunks) -> Chunks:
    kept: list[Chunk] = []
    for chunk in chunks:
        calls = _calls(chunk)
        if calls and "name" not in calls[0]["function"]:
            (begun,), (more,) = _calls(kept[-1]), calls
            function = {
                **begun["function"],
                "arguments": begun["function"]["arguments"] + more["function"]["arguments"],
            }
            kept[-1] = _with_calls(kept[-1], [{**begun, "function": function}])
        else:
            kept.append(chunk)
    return tuple(kept)


def _again(chunks: Chunks, *, named: bool = False) -> Chunks:
    kept: list[Chunk] = []
    first: Mapping[str, Any] = {}
    for chunk in chunks:
        calls = _calls(chunk)
        if calls and "name" in calls[0]["function"]:
            first = calls[0]
        if calls:
            function = {**(first["function"] if named else {}), **calls[0]["function"]}
            kept.append(_with_calls(chunk, [{**first, "function": function}]))
        else:
            kept.append(chunk)
    return tuple(kept)


def _emptied(call: Mapping[str, Any]) -> dict[str, Any]:
    return dict(call) if "name" in call["function"] else {**call, "id": ""}


def _by_turns(chunks: Chunks) -> Chunks:
    by_index: dict[int, list[Chunk]] = {}
    for chunk in chunks:
        for call in _calls(chunk):
            by_index.setdefault(call["index"], []).append(chunk)
    moved = (chunk for turn in zip_longest(*by_index.values()) for chunk in turn if chunk is not None)
    return tuple(next(moved) if _calls(chunk) else chunk for chunk in chunks)


def _text_last(chunks: Chunks) -> Chunks:
    spoken = [one for one in chunks if any(choice["delta"].get("content") for choice in one["choices"])]
    calling = [one for one in chunks if _calls(one)]
    if not spoken or not calling:
        return chunks
    moved = iter((*calling, *spoken))
    return tuple(next(moved) if one in spoken or one in calling else one for one in chunks)


def _unfinished(payload: Any) -> Any:
    return {**payload, "choices": [{**choice, "finish_reason": None} for choice in payload["choices"]]}


def _growing(chunks: Chunks) -> Chunks:
    total = chunks[-1].get("usage")
    if not total:
        return chunks
    count, prompt = len(chunks), total["prompt_tokens"]
    # Rounded up, so that the last one is the total and none is more.
    spent = [-(-total["completion_tokens"] * number // count) for number in range(1, count + 1)]
    return tuple(
        {
            **chunk,
            "usage": {"prompt_tokens": prompt, "completion_tokens": so_far, "total_tokens": prompt + so_far},
        }
        for chunk, so_far in zip(chunks, spent, strict=True)
    )


def _null_usage(payload: Any) -> Any:
    return {**payload, "usage": None}


QUIRKS = MappingProxyType(
    {
        # A parser that finds several calls in a text sends each when it has all of it: Mistral's own API
        # (openclaw/openclaw#130532).
        "calls_whole": Quirk("each call comes whole, in a chunk of its own", chunks=_whole_calls),
        # Seen behind a gateway (maximhq/bifrost#1829); clients that append to the last call (QwenLM/Qwen-Agent#943).
        "calls_interleaved": Quirk("the deltas of several calls come by turns", chunks=_by_turns),
        # vLLM's parsers send on what the model says behind its calls (vllm-project/vllm#39243).
        "text_after_calls": Quirk("the text comes after the calls", chunks=_text_last),
        # Fireworks (SillyTavern/SillyTavern#5948), NVIDIA NIM (NousResearch/hermes-agent#11984), others
        # (spring-projects/spring-ai#5674).
        "names_repeated": Quirk("every delta of a call has its id and its name", chunks=partial(_again, named=True)),
        "ids_repeated": Quirk("every delta of a call has its id", chunks=_again),
        # DashScope (symfony/ai#2220, spring-projects/spring-ai#6369).
        "ids_empty": Quirk("every delta behind a call's first has an empty id", chunks=_each_call(_emptied)),
        # A bridge over Responses and one over Ollama (BerriAI/litellm#21331, #33678).
        "index_zero": Quirk(
            "all calls are on index 0, only their ids tell them apart",
            chunks=_each_call(lambda call: {**call, "index": 0}),
        ),
        # Gemini's OpenAI endpoint (openai/openai-python#2806).
        "no_index": Quirk(
            "no call has an index",
            chunks=_each_call(lambda call: {key: value for key, value in call.items() if key != "index"}),
        ),
        "duplicate_ids": DUPLICATE_IDS,
        # No chunk ever finishes (qualcomm/GenieX#1246); a whole body with a null there (openai/openai-openapi#20).
        "finish_missing": Quirk(
            "no finish reason comes, all else does",
            chunks=lambda chunks: tuple(_unfinished(chunk) for chunk in chunks),
            whole=_unfinished,
            unfinished=True,
        ),
        # vLLM and SGLang where continuous_usage_stats is on (vllm-project/vllm#9357, pydantic/pydantic-ai#4056).
        "usage_cumulative": Quirk("every chunk has the usage so far, the last one all of it", chunks=_growing),
        # simonw/llm#1698, FoundationAgents/MetaGPT#1746.
        "usage_null": Quirk(
            "the usage is null wherever it would stand",
            reply=lambda reply: replace(reply, usage=None),
            chunks=lambda chunks: tuple(_null_usage(chunk) for chunk in chunks),
            whole=_null_usage,
        ),
        # ikawrakow/ik_llama.cpp#467, gpustack/llama-box#2, huggingface/text-generation-inference#2221.
        "no_final_marker": Quirk("the stream ends without [DONE]", trailer=False),
    }
)
