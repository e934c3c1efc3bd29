"""What a wire is: one value that reads requests and writes replies. Pure; knows no provider and no socket."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fake_models.messages import ErrorReply, ModelRequest, Reply

#: Cuts a text into the pieces that stream one by one; joined they are the text again.
Chunking = Callable[[str], tuple[str, ...]]


def compact(value: Any) -> bytes:
    """
    JSON as providers send it: no spaces, and UTF-8 unescaped, so that a cut can fall inside a character.

    Never raises on what JSON can hold; a lone surrogate goes out as its three bytes, which `json.loads` reads back.
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a provider adds to a reply: its id, when it was made (unix seconds), the model's name as the agent sent it."""

    id: str
    created: int
    model: str


@dataclass(frozen=True, slots=True)
class Codec:
    """
    One wire.

    `decode` never raises: what it cannot read it leaves out, since the raw body is judged elsewhere. `whole` gives the JSON
    body of a reply, `chunks` the JSON payloads of a streamed one, unframed; `frame` turns a payload into bytes and `trailer`
    ends the stream. `error` gives the body of an error.
    """

    name: str
    paths: tuple[str, ...]
    decode: Callable[[Mapping[str, Any]], ModelRequest]
    whole: Callable[[Reply, Stamp], Any]
    chunks: Callable[[Reply, Stamp, ModelRequest, Chunking], tuple[Any, ...]]
    error: Callable[[ErrorReply], Any]
    frame: Callable[[Any], bytes]
    trailer: bytes
    stream_type: str
