import pytest

from fake_models.messages import ErrorReply
from fake_models.overflow import is_overflow, overflow_reply
from fake_models.wire.openai_chat import CODEC


def said(message, **keys):
    return {"error": {"message": message, **keys}}


TOO_LONG = {
    "openai": (
        400,
        said("This model's maximum context length is 128000 tokens. However, your messages resulted in 202868."),
    ),
    "openai responses": (400, said("Your input exceeds the context window of this model. Please adjust your input.")),
    "code alone": (400, said("no", code="context_length_exceeded")),
    "anthropic": (
        400,
        {
            "type": "error",
            "error": {"type": "invalid_request_error", "message": "prompt is too long: 2 tokens > 1 maximum"},
        },
    ),
    "gemini": (400, said("The input token count (9) exceeds the maximum number of tokens allowed (8).", code=400)),
    "gemini in a list": (400, [said("The input token count exceeds the maximum number of tokens allowed (8).")]),
    "llama.cpp and ollama": (
        400,
        said("request (42947 tokens) exceeds the available context size (8192 tokens), try increasing it"),
    ),
    "ollama": (400, {"error": "the input length exceeds the context length"}),
    "as a 413": (413, said("Prompt is too long")),
    "error as text": (400, {"error": "prompt is too long"}),
    "body as text": (400, '{"code": "context_length_exceeded"'),
}
OTHER = {
    "a rate limit that speaks of tokens": (
        429,
        said("Rate limit reached: too many tokens per min (TPM). Limit 8, Used 9."),
    ),
    "the right words with a rate limit's status": (429, said("prompt is too long")),
    "the right words with a server error": (500, said("prompt is too long")),
    "a body too large for the front door": (413, said("Request Entity Too Large")),
    "a max_tokens that is too large": (
        400,
        said("max_tokens is too large: 9. This model supports at most 8 completion tokens."),
    ),
    "any other refusal": (400, said("Invalid 'tools': empty array.")),
    "a request quoted in the error": (400, {"error": {"message": "no", "request": "prompt is too long"}}),
    "no body": (400, None),
    "an odd body": (400, {"error": [None, 3, {"message": 4}]}),
}


@pytest.mark.parametrize(("status", "body"), TOO_LONG.values(), ids=TOO_LONG.keys())
def test_an_overflow_is_known_by_its_code_or_its_words(status, body):
    assert is_overflow(status, body)


@pytest.mark.parametrize(("status", "body"), OTHER.values(), ids=OTHER.keys())
def test_another_refusal_is_no_overflow(status, body):
    assert not is_overflow(status, body)


@pytest.mark.parametrize(
    ("spelling", "code", "known"),
    [
        ("code", "context_length_exceeded", True),
        ("openai", "context_length_exceeded", True),
        ("responses", "context_length_exceeded", True),
        ("anthropic", None, True),
        ("gemini", None, True),
        ("ollama", None, True),
        ("unknown", None, False),
    ],
)
def test_an_overflow_is_told_in_each_spelling(spelling, code, known):
    error = overflow_reply(spelling)
    body = CODEC.error(error)

    assert (error.status, body["error"]["code"]) == (400, code)
    assert is_overflow(error.status, body) is known


@pytest.mark.parametrize(
    ("wire", "spelling"),
    [
        ("openai_chat", "openai"),
        ("openai_responses", "responses"),
        ("anthropic_messages", "anthropic"),
        ("gemini", "gemini"),
        ("ollama", "ollama"),
        ("a wire without words of its own", "openai"),
    ],
)
def test_a_wires_provider_has_words_of_its_own(wire, spelling):
    assert overflow_reply("provider", wire) == overflow_reply(spelling)


@pytest.mark.parametrize("wire", ["anthropic_messages", "gemini", "ollama"])
def test_where_errors_have_no_code_the_spelling_by_code_is_the_providers_words(wire):
    assert overflow_reply("code", wire) == overflow_reply("provider", wire)
    assert overflow_reply("code", "openai_responses").code == "context_length_exceeded"


def test_the_spelling_by_code_says_it_nowhere_else():
    assert not is_overflow(400, said(overflow_reply("code").message))


@pytest.mark.parametrize("status", [400, 413])
def test_the_usual_words_of_a_status_are_no_overflow(status):
    assert not is_overflow(status, CODEC.error(ErrorReply(status, "")))
