"""What recordings say of faults that came in later: errors in mid-stream, refused connections, streams that say no end."""

from dataclasses import replace

import pytest
from story import Story

from conformance.reading.classes import transient
from conformance.reading.failures import broke, error, names, no_reply, status
from conformance.reading.joined import view
from conformance.reading.stream_places import sent
from conformance.rule import OK, SHOULD, Finding
from conformance.rules import BY_ID
from fake_models.chunking import chunking
from fake_models.wire import CODECS


def fault(status_, **body):
    return {"error_event": {"after_chunks": 1, "error": {"status": status_, "body": {"error": body}}}}


def one(given, *, stream=True, **reply):
    s = Story()
    s.ask(extra={"stream": True} if stream else None)
    s.reply("It", fault=given, keep=False, **reply)
    return seen_of(s)


def seen_of(story):
    seen = view(story.recording())
    return seen, seen.runs[0].calls[0]


@pytest.mark.parametrize(
    ("came", "passes"), [(500, True), (503, True), (529, True), (429, True), (408, True), (400, False), (401, False)]
)
def test_a_stream_that_told_of_an_error_failed_as_that_error_does(came, passes):
    seen, call = one(fault(came, message="sorry", type="server_error", code=None))

    assert (call.failed, call.reply.complete, call.said) == (True, False, ())
    assert (status(call), transient(call), no_reply(call)) == (200, passes, False)
    assert broke(call, seen) == "error"
    assert names(call) == ("server_error", "sorry")


def test_without_a_stream_it_is_an_answer_with_that_status():
    seen, call = one(fault(503, message="sorry"), stream=False, status=503)

    assert (status(call), transient(call), call.failed) == (503, True, True)
    assert broke(call, seen) is None
    assert error(call)["body"] == {"error": {"message": "sorry"}}


@pytest.mark.parametrize("stream", [True, False])
def test_an_error_in_mid_stream_can_be_an_overflow(stream):
    said = fault(400, message="no", code="context_length_exceeded")
    _, call = one(said, stream=stream, status=200 if stream else 400)

    assert call.overflow


@pytest.mark.parametrize("stream", [True, False])
def test_a_refused_connection_is_no_status_and_may_pass(stream):
    seen, call = one({"refuse": {}}, stream=stream, by="cut")

    assert (status(call), transient(call), call.failed, broke(call, seen)) == (None, True, True, "connection")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"type": "error", "error": {"type": "overloaded_error", "message": "m"}}, ("overloaded_error", "m")),
        ({"type": "error", "code": "server_error", "message": "m", "param": None}, ("server_error", "m")),
        ({"error": {"code": 503, "message": "m", "status": "UNAVAILABLE"}}, ("503", "UNAVAILABLE", "m")),
        ([{"error": {"message": "m"}}], ("m",)),
        ({"error": "in words"}, ("in words",)),
        ("<html>", ()),
        (None, ()),
    ],
)
def test_an_error_is_named_in_every_wires_shape(body, expected):
    _, call = one({"error": {"status": 503, "body": body}}, status=503)

    assert names(call) == expected


# A stream that says no finish reason, though all of it came.

UNFINISHED = {"quirks": ["finish_missing"]}
CALL = (("look", {}, "c1"),)


def unfinished(*, stream=True, calls=(), acts=False, text="It is 42."):
    s = Story()
    s.ask(extra={"stream": True} if stream else None)
    s.reply(text, calls=calls, fault=UNFINISHED, keep=acts)
    if acts:
        s.execute("look", {}, "c1", 42)
    return s


def test_a_stream_without_a_finish_reason_is_no_whole_reply_but_may_have_been_one():
    seen, call = seen_of(unfinished())

    assert (call.failed, call.reply.unfinished, broke(call, seen)) == (True, True, "text")


def test_a_body_without_a_finish_reason_came_whole():
    seen, call = seen_of(unfinished(stream=False))

    assert (call.failed, call.reply.unfinished, broke(call, seen)) == (False, False, None)


def test_who_takes_such_a_stream_for_an_answer_is_only_doubted():
    s = unfinished()
    s.outcome("answered", text="It is 42.")
    seen = view(s.recording())

    assert [one.level for one in BY_ID["REC-7"].check(seen)] == [SHOULD]
    assert [one for one in BY_ID["RUN-3"].check(seen) if isinstance(one, Finding)] == []
    assert [one for one in BY_ID["RUN-5"].check(seen) if isinstance(one, Finding)] == []


def test_who_acts_on_the_calls_of_such_a_stream_has_taken_it_for_whole():
    s = unfinished(calls=CALL, acts=True)
    s.ask()
    s.reply("42")
    s.outcome("answered", text="42")
    seen = view(s.recording())
    first, second = seen.runs[0].calls

    assert (first.failed, len(first.said), second.kind, second.round) == (False, 1, "regular", 2)
    assert [one.level for one in BY_ID["REC-7"].check(seen)] == [SHOULD]
    for rule in ("ACT-1", "ACT-6", "ACT-13", "HIS-1", "HIS-2", "LIM-1", "HIS-10", "RUN-3"):
        assert [one for one in BY_ID[rule].check(seen) if isinstance(one, Finding)] == [], rule


def test_who_asks_again_after_such_a_stream_has_made_an_attempt():
    s = unfinished(calls=CALL)
    s.ask(again=True)
    s.reply("42")
    s.outcome("answered", text="42")
    seen = view(s.recording())

    assert [call.kind for call in seen.runs[0].calls] == ["regular", "attempt"]
    assert list(BY_ID["REC-7"].check(seen)) == [OK]


# Where a stream was cut, on every wire and however it was chunked.

RECORDED = [
    {"type": "text", "text": "It is forty-two"},
    {"type": "tool_call", "id": "c1", "name": "look", "arguments": '{"at":"Oslo"}'},
]
BODIES = {
    "openai_chat": ("/v1/chat/completions", {"messages": [], "stream": True}),
    "openai_responses": ("/v1/responses", {"input": "x", "stream": True}),
    "anthropic_messages": ("/v1/messages", {"messages": [], "stream": True}),
    "gemini": ("/v1beta/models/m:streamGenerateContent", {"contents": []}),
    "ollama": ("/api/chat", {"messages": []}),
}


#: Whether a wire tells a call's name and its arguments apart.
SPLIT = {
    "openai_chat": True,
    "openai_responses": True,
    "anthropic_messages": True,
    "gemini": False,
    "ollama": False,
}


def cut(wire, name, after, parts=RECORDED):
    path, body = BODIES[wire]
    s = Story()
    s.ask()
    s.records[-1].data.update(wire=wire, path=path, body=body)
    given = {"cut": {"after_chunks": after, "after_bytes": None, "reset": False}}
    s.reply(parts=parts, stop="tool_calls", fault=given, by="cut", keep=False)
    told = s.recording()
    header = replace(told.header, wire=wire, cell={"stream": True, "chunking": name})
    return view(replace(told, header=header))


@pytest.mark.parametrize("name", ["whole", "token", "character", "byte", "adversarial:3"])
@pytest.mark.parametrize("wire", sorted(CODECS))
def test_a_cut_is_placed_by_what_was_sent_before_it(wire, name):
    text, arguments = (len(chunking(name).pieces(said)) for said in ("It is forty-two", '{"at":"Oslo"}'))
    # The opening, the pieces of the text, and then the call's name; where a call is never split, its arguments too.
    begins = 1 + text + (1 if SPLIT[wire] else 2)
    seen = {after: cut(wire, name, after) for after in range(1 + text + 1 + arguments + 9)}
    places = {after: broke(one.runs[0].calls[0], one) for after, one in seen.items()}

    assert {places[after] for after in range(begins)} == {"text"}
    assert places[begins] == "call"
    # A break comes before what ends a stream: that is the finish reason, but where a trailer comes behind it.
    assert places[max(places)] == (None if CODECS[wire].trailer else "call")


def test_a_call_counts_as_much_on_every_wire():
    """The scenarios' batch of two calls, cut behind its opening, the first call and the second one's name."""
    two = [{"type": "tool_call", "id": f"c{n}", "name": "look", "arguments": "{}"} for n in range(2)]
    begun = {}
    for wire in CODECS:
        seen = cut(wire, "whole", 4, two)
        [call] = seen.runs[0].calls
        begun[wire] = sent(call.reply, call.request, seen.recording.header, 4)

    # Ollama's second call would be whole, and Gemini sends both in one chunk.
    assert {wire: one.calls for wire, one in begun.items()} == {
        "openai_chat": 2,
        "openai_responses": 2,
        "anthropic_messages": 2,
        "gemini": 0,
        "ollama": 1,
    }
    assert not any(one.finished for one in begun.values())


def test_a_chunking_that_this_kit_does_not_know_is_read_as_the_coarsest():
    seen = cut("openai_chat", "by-moonlight", 1)

    assert broke(seen.runs[0].calls[0], seen) == "text"
