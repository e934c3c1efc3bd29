"""
How servers that speak Anthropic Messages stray from it, each as a change of the payloads. Pure; makes no reply.

Every one was seen with a real server, named beside it.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from fake_models.wire.codec import DUPLICATE_IDS, Quirk, each, texts_last

Payload = Mapping[str, Any]
Chunks = tuple[Payload, ...]


def _without_reason(payload: Payload) -> Payload:
    if payload["type"] == "message_delta":
        return {**payload, "delta": {**payload["delta"], "stop_reason": None}}
    return {**payload, "stop_reason": None} if payload["type"] == "message" else payload


def _with_null_usage(payload: Payload) -> Payload:
    if payload["type"] == "message_start":
        return {**payload, "message": {**payload["message"], "usage": None}}
    return {**payload, "usage": None} if payload["type"] in {"message_delta", "message"} else payload


def _bare(chunks: Chunks) -> Chunks:
    *said, end = chunks
    return (*said, {**end, "usage": {key: end["usage"][key] for key in end["usage"] if key == "output_tokens"}})


def _counted_last(chunks: Chunks) -> Chunks:
    start, *said, end = chunks
    message = start["message"]
    return ({**start, "message": {**message, "usage": dict.fromkeys(message["usage"], 0)}}, *said, end)


QUIRKS = MappingProxyType[str, Quirk](
    {
        "duplicate_ids": DUPLICATE_IDS,
        # sgl-project/sglang#24293
        "text_after_calls": Quirk("texts come after the calls", reply=texts_last),
        # The provider itself did so once: decolua/9router#2209, docker/docker-agent#4360.
        "usage_bare": Quirk("the last event tells the output tokens alone", chunks=_bare),
        # sgl-project/sglang#20678
        "usage_last": Quirk("input tokens are 0 at the start and told with the last event", chunks=_counted_last),
        # farion1231/cc-switch#2303, Alishahryar1/free-claude-code#209. The official client's own reader of streams fails on it.
        "usage_null": Quirk(
            "usage is null",
            chunks=each(_with_null_usage),
            whole=_with_null_usage,
            reply=lambda reply: replace(reply, usage=None),
        ),
        # looplj/axonhub#2000: a gateway has no reason to tell where the server behind it gave none.
        "finish_missing": Quirk("stop_reason stays null", chunks=each(_without_reason), whole=_without_reason),
        # esengine/DeepSeek-Reasonix#8756, tombii/better-ccflare#307
        "no_final_marker": Quirk("the stream ends without message_stop", trailer=False),
    }
)
