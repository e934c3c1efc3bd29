"""What a model's failure means: too long a prompt, worth another attempt, or final. Pure; tries nothing again."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from conformance.reference.hearing import NoReply, ToldError
from fake_models.errors import ModelError, StreamBroken

#: Statuses that tell a client to come back later.
TRANSIENT = frozenset({408, 409, 429})
#: A 429 that no waiting cures.
QUOTA = "insufficient_quota"
#: Only these statuses can mean an overflow; a rate limit (429) speaks of tokens too and is none.
OVERFLOW_STATUSES = frozenset({400, 413})
OVERFLOW_CODES = frozenset({"context_length_exceeded"})
OVERFLOW_WORDING = re.compile(
    r"maximum context length|context window|prompt is too long|input token count .*exceeds"
    r"|available context size|exceeds the context length",
    re.IGNORECASE,
)
#: What an error in mid-stream is called that may pass, by code or type: no status comes with it.
PASSING = frozenset(
    {"server_error", "api_error", "overloaded_error", "rate_limit_exceeded", "rate_limit_error", "timeout_error"}
)


@dataclass(frozen=True, slots=True)
class Failure:
    """
    A model call that brought no reply. It was `cancelled` where the caller wanted the run to end, `stopped` where a hook did, and
    a `hook` kept it back by an exception.

    `cause` names status and provider code, and nothing the provider quoted: its message may hold the key that was sent.
    `wait_s` are the seconds that the provider asks to wait.
    """

    kind: Literal["overflow", "transient", "final", "cancelled", "stopped", "hook"]
    cause: str
    wait_s: float = 0.0


def failure(error: Exception) -> Failure:
    """What the error of a model call means."""
    match error:
        case ModelError(status=status, body=body, headers=headers):
            cause = _named(f"the model answered with status {status}", _code(body))
            return Failure(_kind(status, body), cause, _wait_s(headers.get("retry-after", "")))
        case ToldError(body=body):
            cause = _named("the model told of an error in the middle of its reply", _code(body))
            return Failure(_told_kind(body), cause)
        case StreamBroken():
            return Failure("transient", "the connection to the model broke before its reply was whole")
        case NoReply(code=code):
            return Failure("final", _named(str(error), code))
    raise error


def _kind(status: int, body: Any) -> Literal["overflow", "transient", "final"]:
    if status in OVERFLOW_STATUSES and _is_too_long(body):
        return "overflow"
    transient = (status in TRANSIENT or status >= 500) and QUOTA not in _texts(body)
    return "transient" if transient else "final"


def _told_kind(body: Any) -> Literal["overflow", "transient", "final"]:
    said = set(_texts(body))
    if _is_too_long(body):
        return "overflow"
    return "transient" if said & PASSING and QUOTA not in said else "final"


def _is_too_long(body: Any) -> bool:
    return any(text in OVERFLOW_CODES or OVERFLOW_WORDING.search(text) for text in _texts(body))


def _wait_s(retry_after: str) -> float:
    # The header may hold a date as well; whoever sends one is asked again after the ordinary pause.
    return float(retry_after) if retry_after.isdecimal() else 0.0


def _named(what: str, code: str | None) -> str:
    return f"{what}, code {code}" if code else what


def _code(body: Any) -> str | None:
    error = body.get("error") if isinstance(body, Mapping) else None
    fields = error if isinstance(error, Mapping) else {}
    return next((fields[key] for key in ("code", "type") if isinstance(fields.get(key), str)), None)


def _texts(body: Any) -> Iterator[str]:
    """Codes and messages of an error body, which providers nest in `error`."""
    if isinstance(body, str):
        yield body
    elif isinstance(body, Mapping):
        yield from (body[key] for key in ("code", "type", "message") if isinstance(body.get(key), str))
        yield from _texts(body.get("error"))
