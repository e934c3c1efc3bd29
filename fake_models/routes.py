"""What a model says to an HTTP request by method and path, for every shell that speaks HTTP. Pure; asks no endpoint."""

import json
from typing import Any

from fake_models.messages import ErrorReply
from fake_models.wire import CODECS
from fake_models.wire.codec import Codec

#: The one model that a listing names; requests may name any.
MODELS = {"object": "list", "data": [{"id": "fake-model", "object": "model", "created": 0, "owned_by": "conformance"}]}


def codec_for(method: str, path: str) -> Codec | None:
    """The wire that a request speaks, told by the end of its path, so that any base URL will do; None: the model is not asked."""
    return _codec(path) if method == "POST" else None


def unmodelled(method: str, path: str) -> tuple[int, Any]:
    """Status and body of what is answered without the model: the listing of models, or a refusal that says what there is."""
    if method in {"GET", "HEAD"} and path.endswith("/models"):
        return 200, MODELS
    if _codec(path) is not None:
        return 405, error_body(f"{method} is not allowed on {path}. This model answers POST there.", path)
    known = ", ".join(codec.path for codec in CODECS.values())
    return 404, error_body(f"Unknown request URL: {method} {path}. This model answers POST {known}.", path)


def error_body(message: str, path: str, status: int = 400) -> Any:
    """An error that no script wrote, as the provider spells it whose wire the path is."""
    codec = _codec(path) or CODECS["openai_chat"]
    return codec.error(ErrorReply(status, message))


def json_or_text(content: bytes) -> Any:
    """A body; text that is no JSON stays text, which whoever is asked refuses and records as any other odd body."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return content.decode("utf-8", "replace")


def _codec(path: str) -> Codec | None:
    return next((codec for codec in CODECS.values() if codec.route.search(path)), None)
