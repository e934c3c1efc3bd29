"""Bytes that are kept and sent again are those that a wire would make anew."""

import pytest

from fake_models import said
from fake_models.chunking import CHARACTER, WHOLE
from fake_models.messages import ModelRequest, Reply, Text, Thinking, ToolCall, Usage
from fake_models.wire import CODECS
from fake_models.wire.codec import Stamp

REPLIES = {
    "text": Reply((Text("hello 时"),), usage=Usage(11, 3)),
    "thinking": Reply((Thinking("hm"), Text("yes"))),
    "calls": Reply((ToolCall("c1", "f", '{"x":1}'), ToolCall("c2", "g", "{}")), stop="tool_calls", usage=Usage(1, 1)),
    "finish": Reply((Text("x"),), finish="odd"),
    "a text that looks like an id left open": Reply((Text("\0id\0 and \0another\0"),)),
    "nothing": Reply(),
}


@pytest.mark.parametrize("chunking", [WHOLE, CHARACTER], ids=lambda one: one.name)
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES.keys())
@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS.keys())
def test_a_reply_has_the_same_bytes_whether_they_were_kept_or_not(codec, reply, stream, chunking):
    for name, model, created, usage in (("resp_m1", "a", 1, True), ("resp_m2", "a", 1, True), ('"\n', "b", 2, False)):
        request = ModelRequest(codec.name, model, (), stream=stream, include_usage=usage)
        stamp = Stamp(name, created, model)

        values = said.payloads(codec, reply, request, stamp, chunking.pieces)
        sent = said.frames(codec, reply, request, stamp, chunking.pieces)

        assert sent == said.framed(codec, values, stream=stream)
        assert b"".join(sent) == said.whole(codec, reply, request, stamp, chunking.pieces)


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS.keys())
def test_numbers_are_written_as_each_script_has_them_though_they_are_equal(codec):
    request = ModelRequest(codec.name, "m", (), stream=True, include_usage=True)
    stamp = Stamp("i", 1, "m")

    for usage in (Usage(1, 1), Usage(1.0, 1), Usage(True, 1), Usage(1, 1)):
        reply = Reply((Text("equal"),), usage=usage)
        values = said.payloads(codec, reply, request, stamp, WHOLE.pieces)
        sent = said.frames(codec, reply, request, stamp, WHOLE.pieces)
        assert sent == said.framed(codec, values, stream=True)


def test_a_long_reply_is_not_kept():
    codec, cut = CODECS["openai_chat"], []
    request = ModelRequest(codec.name, "m", (), stream=True)
    reply = Reply((Text("x" * (said.KEPT_CHARS + 1)),))

    def pieces(text):
        cut.append(text)
        return (text,) if text else ()

    before = said._kept.cache_info().currsize
    assert b"x" * 100 in said.whole(codec, reply, request, Stamp("reply_m1", 1, "m"), pieces)
    assert said._kept.cache_info().currsize == before


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS.keys())
def test_a_reply_that_is_said_again_is_not_made_again(codec):
    request = ModelRequest(codec.name, "m", (), stream=True)
    reply = Reply((Text("said again and again"),))
    cut = []

    def pieces(text):
        cut.append(text)
        return (text,) if text else ()

    for number in range(5):
        said.frames(codec, reply, request, Stamp(f"reply_m{number}", 1, "m"), pieces)

    # Twice, to be sure that what stands for the id stands for nothing else.
    assert cut.count("said again and again") == 2
