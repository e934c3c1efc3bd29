"""
How servers of Gemini's wire stray from it, as changes of replies and payloads. Pure; makes no reply of its own.

Where each was seen stands beside it. Usage in every chunk is no quirk here: the API tells it so.
"""

from dataclasses import replace
from types import MappingProxyType
from typing import Any

from fake_models.messages import Reply
from fake_models.wire.codec import DUPLICATE_IDS, Quirk, each, texts_last

Payload = dict[str, Any]
Payloads = tuple[Payload, ...]


def _unfinished(payload: Payload) -> Payload:
    finish = ("finishReason", "finishMessage")
    return {
        **payload,
        "candidates": [
            {key: value for key, value in candidate.items() if key not in finish} for candidate in payload["candidates"]
        ],
    }


def _counted_last(payloads: Payloads) -> Payloads:
    uncounted = ({key: value for key, value in one.items() if key != "usageMetadata"} for one in payloads[:-1])
    return (*uncounted, *payloads[-1:])


def _null_usage(payload: Payload) -> Payload:
    return {**payload, "usageMetadata": None}


def _calls_alone(payloads: Payloads) -> Payloads:
    return tuple(alone for payload in payloads for alone in _one_part_each(payload))


def _one_part_each(payload: Payload) -> list[Payload]:
    (candidate,) = payload["candidates"]
    content = candidate.get("content", {})
    parts = content.get("parts", [])
    if len(parts) < 2:
        return [payload]
    return [{**payload, "candidates": [{**candidate, "content": {**content, "parts": [part]}}]} for part in parts]


def _silenced(reply: Reply) -> Reply:
    return replace(reply, parts=(), stop="filter", finish=None)


def _blocked(payload: Payload) -> Payload:
    rest = {key: value for key, value in payload.items() if key not in ("candidates", "responseId")}
    return {"promptFeedback": {"blockReason": "SAFETY"}, **rest}


QUIRKS = MappingProxyType[str, Quirk](
    {
        # Each call of a batch in a chunk of its own, with no index to tell them by (brainlid/langchain#620).
        "calls_whole": Quirk("each call comes in a chunk of its own", chunks=_calls_alone),
        # spring-projects/spring-ai#2029
        "text_after_calls": Quirk("texts come after the calls", reply=texts_last),
        "duplicate_ids": DUPLICATE_IDS,
        # strands-agents/sdk-typescript#717
        "finish_missing": Quirk(
            "no finish reason comes, all else does", chunks=each(_unfinished), whole=_unfinished, unfinished=True
        ),
        # docker/docker-agent#2848: Gemini 3 counts in a chunk that says nothing else.
        "usage_last": Quirk("only the last chunk has usage", chunks=_counted_last),
        # Seen on other wires; a gateway from one of them hands it on.
        "usage_null": Quirk(
            "usage is null",
            reply=lambda reply: replace(reply, usage=None),
            chunks=each(_null_usage),
            whole=_null_usage,
        ),
        # Tiendil/feeds.fun#396: where it is the prompt that the filter stops, there is no candidate at all. Stands last, since
        # the others look into candidates.
        "prompt_blocked": Quirk(
            "the prompt is blocked: nothing is said, and no candidate comes",
            reply=_silenced,
            chunks=each(_blocked),
            whole=_blocked,
        ),
    }
)
