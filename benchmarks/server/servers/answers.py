"""The answer of 200 characters as bytes on the wire, in chunks of 20, for servers that decide nothing."""

import json

TEXT = ("The quick brown fox jumps over the lazy dog. " * 5)[:200]
PIECES = [TEXT[at : at + 20] for at in range(0, len(TEXT), 20)]
_USAGE = {"prompt_tokens": 20, "completion_tokens": 50, "total_tokens": 70}
_SAME = {"id": "chatcmpl-1", "created": 1767225600, "model": "gpt-4o-mini"}


def _payload(delta: dict[str, object], finish: str | None = None) -> dict[str, object]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {**_SAME, "object": "chat.completion.chunk", "choices": [choice], "usage": None}


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


FRAMES = [
    b"data: " + _json(payload) + b"\n\n"
    for payload in (
        _payload({"role": "assistant", "content": ""}),
        *(_payload({"content": piece}) for piece in PIECES),
        _payload({}, "stop"),
        {**_payload({}), "choices": [], "usage": _USAGE},
    )
]
FRAMES.append(b"data: [DONE]\n\n")
BODY = _json(
    {
        **_SAME,
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}],
        "usage": _USAGE,
    }
)


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY)
STREAM = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    + b"".join(map(_chunk, FRAMES))
    + b"0\r\n\r\n"
)
