"""How providers say that a request is too long for the model, told and recognised. Pure; measures no request."""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal

from fake_models.messages import ErrorReply

#: The spellings an error can have: by code alone, in the words of one provider, in nobody's, or in those of the wire's own
#: provider. `length`, the last one of a script, is no error but a stop with nothing said.
Spelling = Literal["code", "openai", "responses", "anthropic", "gemini", "ollama", "unknown", "provider"]

#: Whose words a wire's provider has.
BY_WIRE = MappingProxyType[str, Spelling](
    {
        "openai_chat": "openai",
        "openai_responses": "responses",
        "anthropic_messages": "anthropic",
        "gemini": "gemini",
        "ollama": "ollama",
    }
)
#: Wires whose errors have no code that could tell an overflow alone: there `code` is in the provider's words.
CODELESS = frozenset({"anthropic_messages", "gemini", "ollama"})

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
        r"exceeds the available context size",  # llama.cpp, and ollama where it hands that on
        r"input length exceeds the context length",  # ollama
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
        "responses": ErrorReply(
            400,
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            type="invalid_request_error",
            code="context_length_exceeded",
            param="input",
        ),
        "anthropic": ErrorReply(400, "prompt is too long: 9001 tokens > 8192 maximum", type="invalid_request_error"),
        # What an error is called beside its words is left to the wire: each of these has its own names.
        "gemini": ErrorReply(400, "The input token count (9001) exceeds the maximum number of tokens allowed (8192)."),
        # As in continuedev/continue#12735; without a template of its own for the model Ollama cuts the prompt and says nothing.
        "ollama": ErrorReply(
            400, "request (9001 tokens) exceeds the available context size (8192 tokens), try increasing it"
        ),
        # In no table on purpose: an agent that guesses at wordings meets one it has not seen.
        "unknown": ErrorReply(400, "Your conversation does not fit this deployment.", type="invalid_request_error"),
    }
)


def overflow_reply(spelling: Spelling, wire: str = "openai_chat") -> ErrorReply:
    """The error in that spelling, as it is told over a wire."""
    if spelling == "provider" or (spelling == "code" and wire in CODELESS):
        spelling = BY_WIRE.get(wire, "openai")
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
        for key in ("code", "error_code", "type", "message"):
            if isinstance(value := body.get(key), str):
                yield value
        yield from _texts(body.get("error"))
        # Anthropic has its codes in here.
        yield from _texts(body.get("details"))
