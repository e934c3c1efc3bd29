"""How providers say that a request is too long for the model, told and recognised. Pure; measures no request."""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal

from fake_models.messages import ErrorReply

#: The spellings an error can have; `length`, the fifth one of a script, is no error but a stop with nothing said.
Spelling = Literal["code", "openai", "anthropic", "unknown"]

#: Statuses that an overflow comes with. Rate limits (429) speak of tokens too and are none.
STATUSES = frozenset({400, 413})

CODES = frozenset({"context_length_exceeded"})

#: Wordings per provider, searched in the message, any case.
WORDINGS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"maximum context length is",  # openai chat
        r"exceeds the context window",  # openai responses
        r"prompt is too long",  # anthropic
        r"input token count .*exceeds the maximum number of tokens allowed",  # gemini
    )
)

REPLIES = MappingProxyType[Spelling, ErrorReply](
    {
        # The message says nothing, so only a reader of the code can tell.
        "code": ErrorReply(
            400,
            "The request was rejected.",
            type="invalid_request_error",
            code="context_length_exceeded",
            param="messages",
        ),
        "openai": ErrorReply(
            400,
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens. "
            "Please reduce the length of the messages.",
            type="invalid_request_error",
            code="context_length_exceeded",
            param="messages",
        ),
        "anthropic": ErrorReply(400, "prompt is too long: 9001 tokens > 8192 maximum", type="invalid_request_error"),
        # In no table on purpose: an agent that guesses at wordings meets one it has not seen.
        "unknown": ErrorReply(400, "Your conversation does not fit this deployment.", type="invalid_request_error"),
    }
)


def overflow_reply(spelling: Spelling) -> ErrorReply:
    """Give the error in that spelling."""
    return REPLIES[spelling]


def is_overflow(status: int, body: Any) -> bool:
    """Whether an error of any provider means that the request was too long, by its code or its wording."""
    if status not in STATUSES:
        return False
    return any(
        any(code in text for code in CODES) or any(wording.search(text) for wording in WORDINGS)
        for text in _texts(body)
    )


def _texts(body: Any) -> Iterator[str]:
    """Codes and messages of an error body; not the rest of it, where a provider may quote the request."""
    if isinstance(body, str):
        yield body
    elif isinstance(body, list | tuple):
        for item in body:
            yield from _texts(item)
    elif isinstance(body, Mapping):
        for key in ("code", "type", "message"):
            if isinstance(value := body.get(key), str):
                yield value
        yield from _texts(body.get("error"))
