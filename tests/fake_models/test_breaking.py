"""How much of a stream leaves before a break: counted by hand, on every wire, in what was said by then."""

import pytest

from fake_models.breaking import sent
from fake_models.chunking import chunking
from fake_models.messages import ModelRequest, Reply, Text, Thinking, ToolCall
from fake_models.said import payloads
from fake_models.wire import CODECS
from fake_models.wire.codec import Stamp

BERTH = ToolCall("c1", "book", '{"ship":"A"}')
TWO = (BERTH, ToolCall("c2", "book", '{"ship":"B"}'))


def counted(wire, parts, *quirks, name="whole"):
    """How many payloads leave before a break after 0, 1, 2, ... chunks, up to where no more of them do."""
    codec = CODECS[wire]
    reply = Reply(parts, stop="tool_calls" if any(isinstance(p, ToolCall) for p in parts) else "stop", quirks=quirks)
    said = payloads(codec, reply, ModelRequest(wire, "m", (), stream=True), Stamp("i", 0, "m"), chunking(name).pieces)
    trailer = bool(codec.trailer) and all(codec.quirks[one].trailer for one in quirks)
    every = [sent(codec, said, after, trailer=trailer) for after in range(30)]
    return every[: every.index(every[-1]) + 1]


# Payloads by wire, `*` for one that says something:
#   chat       role, *piece ..., finish, [DONE]
#   responses  created, in_progress, (added, part, *piece ..., text done, part done, item done) ..., completed
#   anthropic  message_start, (block start, *piece ..., block stop) ..., message_delta, message_stop
#   gemini     *piece ..., finish         ollama  *piece ..., done
TEXT = {
    "openai_chat": [0, 1, 2, 3],
    "openai_responses": [0, 4, 5, 6, 7, 8],
    "anthropic_messages": [0, 2, 3, 4, 5],
    "gemini": [0, 0, 1],
    "ollama": [0, 0, 1],
}
#: A call is named and then has its arguments: `*added, *delta, done, done` and `*block start, empty delta, *delta, block stop`.
CALL = {
    "openai_chat": [0, 1, 2, 3, 4],
    "openai_responses": [0, 2, 3, 4, 5, 6],
    "anthropic_messages": [0, 1, 2, 4, 5, 6],
    "gemini": [0, 0, 0, 1],
    "ollama": [0, 0, 0, 1],
}
CALLS = {
    "openai_chat": [0, 1, 2, 3, 4, 5, 6],
    "openai_responses": [0, 2, 3, 4, 7, 8, 9, 10],
    "anthropic_messages": [0, 1, 2, 4, 6, 8, 9, 10],
    # Calls in a row come in one chunk.
    "gemini": [0, 0, 0, 0, 0, 1],
    "ollama": [0, 0, 0, 1, 1, 2],
}
#: `added, part added, *piece, 3 done` of the thought and of the text; `block start, *piece, signature, block stop` and the text's.
THOUGHT = {
    "openai_chat": [0, 1, 2, 3, 4],
    "openai_responses": [0, 4, 5, 11, 12, 13, 14],
    "anthropic_messages": [0, 2, 3, 7, 8, 9],
    "gemini": [0, 0, 1, 2],
    "ollama": [0, 0, 1, 2],
}
NOTHING = {
    "openai_chat": [0, 1, 2],
    "openai_responses": [0, 1, 2],
    "anthropic_messages": [0, 1, 2],
    "gemini": [0],
    "ollama": [0],
}
REPLIES = {
    "a text": ((Text("It is"),), TEXT),
    "a call": ((BERTH,), CALL),
    "two calls": (TWO, CALLS),
    "a thought and a text": ((Thinking("Hm"), Text("It is")), THOUGHT),
    "nothing": ((), NOTHING),
}


@pytest.mark.parametrize("wire", sorted(CODECS))
@pytest.mark.parametrize(("parts", "expected"), REPLIES.values(), ids=REPLIES)
def test_a_chunk_is_what_says_something_and_all_that_comes_before_it(wire, parts, expected):
    assert counted(wire, parts) == expected[wire]


@pytest.mark.parametrize("wire", sorted(CODECS))
def test_every_piece_of_a_text_is_a_chunk(wire):
    opening, pieces = TEXT[wire][1], len("It is")

    assert counted(wire, (Text("It is"),), name="character")[: 2 + pieces] == [
        0,
        *range(opening, opening + pieces + 1),
    ]


QUIRKS = {
    # Each call in a chunk of its own: two of what says something.
    "gemini": ("calls_whole", [0, 0, 0, 1, 1, 2]),
    # On these a whole call is one chunk, as it is on Chat: `role, *call, *call, finish`; `*added, done, done`.
    "openai_chat": ("calls_whole", [0, 1, 2, 3, 4]),
    "openai_responses": ("calls_whole", [0, 2, 3, 6, 7, 8]),
}


@pytest.mark.parametrize("wire", QUIRKS)
def test_calls_that_a_quirk_sends_whole(wire):
    quirk, expected = QUIRKS[wire]

    assert counted(wire, TWO, quirk) == expected


def test_without_a_trailer_the_last_payload_ends_the_stream():
    assert counted("openai_chat", (Text("It is"),), "no_final_marker") == [0, 1, 2]
