"""What a model says to an HTTP request by method and path, for every shell that speaks HTTP. Pure; asks no endpoint."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fake_models.messages import ErrorReply
from fake_models.wire import CODECS
from fake_models.wire.codec import Codec

#: The one model that listings name; requests may name any.
MODEL = "fake-model"
_SINCE = "2026-01-01T00:00:00Z"

#: Paths that are no codec's route and yet a provider's, by which a refusal is told in that provider's words; else OpenAI's.
_FAMILIES = (
    ("ollama", re.compile(r"/api/")),
    ("anthropic_messages", re.compile(r"/messages(/|$)")),
    ("gemini", re.compile(r"/v1(alpha|beta)/|/models/[^/]+:")),
    ("openai_responses", re.compile(r"/responses(/|$)")),
)


@dataclass(frozen=True, slots=True)
class Unasked:
    """An answer that needs no model: a JSON body, and where the method is wrong the one that is right."""

    status: int
    body: Any
    allow: str | None = None

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """What goes before the body."""
        return (("Content-Type", "application/json"), *((("Allow", self.allow),) if self.allow else ()))


@dataclass(frozen=True, slots=True)
class _Listing:
    """A path by its end, the method that reads it, and what is there; the pattern's `id` names a model."""

    route: re.Pattern[str]
    body: Callable[[str], Any]
    methods: tuple[str, ...] = ("GET", "HEAD")


def _model(name: str) -> dict[str, Any]:
    """One body in which the SDKs of OpenAI, Anthropic and Gemini each find their own keys; none minds the others'."""
    return {
        "id": name,
        "object": "model",
        "created": 1767225600,
        "owned_by": "conformance",
        "type": "model",
        "display_name": name,
        "created_at": _SINCE,
        "lifecycle": "active",
        "name": f"models/{name}",
        "displayName": name,
        "version": "1",
        "supportedGenerationMethods": ["generateContent", "streamGenerateContent"],
    }


def _models(_: str) -> dict[str, Any]:
    model = _model(MODEL)
    pages = {"first_id": MODEL, "last_id": MODEL, "has_more": False}
    return {"object": "list", "data": [model], **pages, "models": [model]}


_DETAILS = {"format": "", "family": "", "families": [], "parameter_size": "", "quantization_level": ""}


def _tags(_: str) -> dict[str, Any]:
    model = {"name": MODEL, "model": MODEL, "modified_at": _SINCE, "size": 0, "digest": "0" * 64, "details": _DETAILS}
    return {"models": [model]}


def _version(_: str) -> dict[str, Any]:
    return {"version": "0.0.0"}


def _show(_: str) -> dict[str, Any]:
    told = {"modelfile": "", "parameters": "", "template": "", "modified_at": _SINCE}
    return {**told, "details": _DETAILS, "model_info": {}, "capabilities": ["completion", "tools", "thinking"]}


_LISTINGS = (
    _Listing(re.compile(r"/models$"), _models),
    _Listing(re.compile(r"/models/(?P<id>[^:]+)$"), _model),
    _Listing(re.compile(r"/api/tags$"), _tags),
    _Listing(re.compile(r"/api/version$"), _version),
    _Listing(re.compile(r"/api/show$"), _show, ("POST",)),
)


def codec_for(method: str, path: str) -> Codec | None:
    """The wire that a request speaks, told by the end of its path, so that any base URL will do; None: the model is not asked."""
    return _codec(path) if method == "POST" else None


def unmodelled(method: str, path: str) -> Unasked:
    """What is answered without the model: a listing of models where SDKs ask for one, or a refusal that says what there is."""
    allowed: tuple[str, ...] = ("POST",) if _codec(path) is not None else ()
    for listing in _LISTINGS:
        if (found := listing.route.search(path)) is not None and not allowed:
            if method in listing.methods:
                return Unasked(200, listing.body(found.groupdict().get("id", "")))
            allowed = listing.methods
    if allowed:
        return not_allowed(method, path, allowed)
    known = ", ".join(codec.path for codec in CODECS.values())
    return Unasked(
        404, error_body(f"Unknown request URL: {method} {path}. This model answers POST {known}.", path, 404)
    )


def not_allowed(method: str, path: str, allowed: tuple[str, ...] = ("POST",)) -> Unasked:
    """The refusal of a method where others are answered."""
    said = f"{method} is not allowed on {path}. {' and '.join(allowed)} is answered there."
    return Unasked(405, error_body(said, path, 405), ", ".join(allowed))


def error_body(message: str, path: str, status: int = 400) -> Any:
    """An error that no script wrote, as the provider spells it whose wire the path is, or looks like."""
    family = next((name for name, pattern in _FAMILIES if pattern.search(path)), "")
    codec = _codec(path) or CODECS.get(family) or CODECS["openai_chat"]
    return codec.error(ErrorReply(status, message))


@lru_cache(1024)
def _codec(path: str) -> Codec | None:
    return next((codec for codec in CODECS.values() if codec.route.search(path)), None)
