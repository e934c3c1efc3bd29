"""The event stream of an OpenAI Responses reply, made from the reply as it is sent whole. Pure; knows no socket."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from fake_models.wire.codec import DUPLICATE_IDS, Pieces, Quirk, compact, texts_last

Payload = dict[str, Any]
FAILED = "response.failed"


def events(response: Payload, pieces: Pieces) -> tuple[Payload, ...]:
    """
    Payloads of a reply, the whole of which comes last.

    In an incomplete reply nothing is said to be done of the last item: the model was cut off in it.
    """
    begun = {**response, "status": "in_progress", "incomplete_details": None, "output": [], "usage": None}
    cut_off = len(response["output"]) - 1 if response["status"] == "incomplete" else None
    said = [
        event
        for index, item in enumerate(response["output"])
        for event in _item(index, item, pieces)
        if index != cut_off or not event["type"].endswith(".done")
    ]
    return _numbered(
        [
            {"type": "response.created", "response": begun},
            {"type": "response.in_progress", "response": begun},
            *said,
            {"type": f"response.{response['status']}", "response": response},
        ]
    )


def following(payload: Payload, sent: tuple[Payload, ...]) -> Payload:
    """A payload that ends a stream early, with the number and the response that what was sent before it asks for."""
    numbered = {**payload, "sequence_number": len(sent)}
    if payload["type"] != FAILED or not sent:
        return numbered
    done = [event["item"] for event in sent if event["type"] == "response.output_item.done"]
    return {**numbered, "response": {**sent[0]["response"], "output": done, **payload["response"]}}


def says(payload: Payload) -> int:
    """See `Codec.says`. A call begins when its item is added, and is one then, even where a quirk adds it whole."""
    kind = payload["type"]
    return int(kind.endswith(".delta") or (kind == "response.output_item.added" and "name" in payload["item"]))


def frame(payload: Payload) -> bytes:
    """One server-sent event; its name is the payload's type."""
    return f"event: {payload['type']}\ndata: ".encode() + compact(payload) + b"\n\n"


def _item(index: int, item: Payload, pieces: Pieces) -> Iterator[Payload]:
    empty, inside = _BY_TYPE[item["type"]]
    yield {"type": "response.output_item.added", "output_index": index, "item": {**item, **empty}}
    yield from inside({"item_id": item["id"], "output_index": index}, item, pieces)
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _message(place: Payload, item: Payload, pieces: Pieces) -> Iterator[Payload]:
    for number, part in enumerate(item["content"]):
        at = {**place, "content_index": number}
        # A null text is null from the start, so that it does not join to an empty one.
        opening = {**part, "text": None if part["text"] is None else ""}
        yield {"type": "response.content_part.added", **at, "part": opening}
        for piece in pieces(part["text"] or ""):
            yield {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []}
        yield {"type": "response.output_text.done", **at, "text": part["text"], "logprobs": []}
        yield {"type": "response.content_part.done", **at, "part": part}


def _reasoning(place: Payload, item: Payload, pieces: Pieces) -> Iterator[Payload]:
    for number, part in enumerate(item["summary"]):
        at = {**place, "summary_index": number}
        yield {"type": "response.reasoning_summary_part.added", **at, "part": {**part, "text": ""}}
        for piece in pieces(part["text"]):
            yield {"type": "response.reasoning_summary_text.delta", **at, "delta": piece}
        yield {"type": "response.reasoning_summary_text.done", **at, "text": part["text"]}
        yield {"type": "response.reasoning_summary_part.done", **at, "part": part}


def _call(place: Payload, item: Payload, pieces: Pieces) -> Iterator[Payload]:
    for piece in pieces(item["arguments"]):
        yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
    yield {"type": "response.function_call_arguments.done", **place, "arguments": item["arguments"]}


#: What of an item is still empty when it is added, and the events that fill it.
_BY_TYPE: Mapping[str, tuple[Payload, Callable[[Payload, Payload, Pieces], Iterator[Payload]]]] = {
    "message": ({"status": "in_progress", "content": []}, _message),
    "reasoning": ({"summary": [], "encrypted_content": ""}, _reasoning),
    "function_call": ({"status": "in_progress", "arguments": ""}, _call),
}


def _numbered(payloads: Iterable[Payload]) -> tuple[Payload, ...]:
    return tuple({**payload, "sequence_number": number} for number, payload in enumerate(payloads))


def _whole_calls(payloads: tuple[Payload, ...]) -> tuple[Payload, ...]:
    output = payloads[-1]["response"]["output"]
    kept = [payload for payload in payloads if payload["type"] != "response.function_call_arguments.delta"]
    return _numbered(
        {**payload, "item": {**payload["item"], "arguments": output[payload["output_index"]]["arguments"]}}
        if "arguments" in payload.get("item", {})
        else payload
        for payload in kept
    )


QUIRKS = MappingProxyType[str, Quirk](
    {
        "duplicate_ids": DUPLICATE_IDS,
        "text_after_calls": Quirk("the message comes after the calls of the reply", reply=texts_last),
        # Seen from a gateway that closes the response before the chat stream behind it counts: router-for-me/CLIProxyAPI#2531.
        "usage_null": Quirk("usage is null in the last event too", reply=lambda reply: replace(reply, usage=None)),
        # xAI documents of its streams that a call comes whole in one chunk.
        "calls_whole": Quirk("each call is whole when its item is added, and has no deltas", chunks=_whole_calls),
        # A clean close that clients take for success: epam/ai-dial-chat#8213.
        "no_final_marker": Quirk(
            "the stream ends without response.completed or response.incomplete",
            chunks=lambda payloads: payloads[:-1],
            unfinished=True,
        ),
    }
)
