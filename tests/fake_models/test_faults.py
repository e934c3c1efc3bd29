"""Every fault that a turn can have, on every wire, over every shell: what a plain client sees of it, and what is recorded."""

import json

import httpx2
import pytest
from shells import REQUESTS, SHELLS, Bench, over_transport, request

from fake_models.chunking import CHARACTER
from fake_models.errors import ModelError, StreamBroken
from fake_models.httpx_transport import transport
from fake_models.in_process import CallableModel
from fake_models.messages import Cut, ErrorEvent, ErrorReply, NoConnection, Stall
from fake_models.overflow import BY_WIRE, is_overflow
from fake_models.script import FOREVER, CallTurn, ErrorTurn, Turn
from fake_models.wire import CODECS

WIRES = sorted(CODECS)
HELLO = Turn(say="Hello there, 时间")
CALLS = Turn(say="I look.", calls=(CallTurn("look", {"at": "C-1"}), CallTurn("send", {})))

every_shell = pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
every_wire = pytest.mark.parametrize("wire", WIRES)


def frames(wire, body):
    """A stream's events, or lines, as they stand in its bytes; told by the wire's own separator and not by its codec."""
    mark = b"\n" if wire == "ollama" else b"\n\n"
    assert body.endswith(mark)
    return [frame + mark for frame in body.split(mark)[:-1]]


def unbroken(wire, turn=HELLO, *, stream=True, **options):
    return over_transport(Bench(turn, **options), wire, stream=stream).body


def test_every_wire_has_a_request_here():
    assert sorted(REQUESTS) == WIRES


@every_shell
@every_wire
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_without_a_fault_both_shells_send_the_same_bytes_and_all_of_them(shell, wire, stream):
    bench = Bench(HELLO)
    seen = shell(bench, wire, stream=stream)

    assert (seen.status, seen.broke) == (200, False)
    assert seen.body == unbroken(wire, stream=stream)
    assert bench.told("reply")["fault"] is None
    assert bench.told("reply_done") == {"call": "m1", "bytes": len(seen.body), "by": "kit"}


# Errors in a reply's place.

STATUSES = [400, 401, 403, 404, 408, 409, 413, 429, 500, 502, 503, 529]
#: Where each wire's provider puts the text of an error.
TEXT_OF = {
    "openai_chat": lambda body: body["error"]["message"],
    "openai_responses": lambda body: body["error"]["message"],
    "anthropic_messages": lambda body: body["error"]["message"],
    "gemini": lambda body: body["error"]["message"],
    "ollama": lambda body: body["error"],
}


@every_shell
@every_wire
@pytest.mark.parametrize("status", STATUSES)
def test_an_error_status_has_its_providers_body_and_says_when_to_come_back(shell, wire, status):
    bench = Bench(Turn(error=ErrorTurn(status, message="as said", retry_after_s=0)))
    seen = shell(bench, wire, stream=True)

    assert (seen.status, seen.broke) == (status, False)
    assert TEXT_OF[wire](json.loads(seen.body)) == "as said"
    assert seen.headers["content-type"] == "application/json"
    assert (seen.headers["retry-after"], seen.headers["retry-after-ms"]) == ("0", "1")
    assert bench.told("reply")["fault"]["error"]["body"] == json.loads(seen.body)
    assert bench.told("reply_done")["by"] == "kit"


@every_wire
@pytest.mark.parametrize("status", STATUSES)
def test_an_error_that_says_nothing_has_words_of_its_provider(wire, status):
    text = TEXT_OF[wire](json.loads(unbroken(wire, Turn(error=ErrorTurn(status)))))

    assert len(text) > 5
    assert not is_overflow(status, text)


PAGES = {
    "an error body": ({"error": {"message": "no"}}, "application/json", b'{"error":{"message":"no"}}'),
    "a page": ("<html>wait</html>", "text/html; charset=utf-8", b"<html>wait</html>"),
    "broken JSON": ('{"choices": [', "application/json", b'{"choices": ['),
    "nothing": ("", "application/json", b""),
}


@every_shell
@every_wire
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_a_200_that_is_no_reply_is_sent_as_it_is_written(shell, wire, stream, page):
    body, content_type, sent = page
    seen = shell(Bench(Turn(error=ErrorTurn(200, body=body))), wire, stream=stream)

    assert (seen.status, seen.headers["content-type"], seen.body, seen.broke) == (200, content_type, sent, False)


@every_wire
@pytest.mark.parametrize("spelling", ["provider", "code", "openai", "responses", "anthropic", "gemini", "ollama"])
def test_an_overflow_is_known_for_one_in_every_spelling_on_every_wire(wire, spelling):
    bench = Bench(Turn(overflow=spelling))
    seen = over_transport(bench, wire, stream=False)

    assert seen.status == 400
    assert is_overflow(400, json.loads(seen.body))


@every_wire
def test_an_overflow_in_unknown_words_is_known_by_nobody(wire):
    seen = over_transport(Bench(Turn(overflow="unknown")), wire, stream=False)

    assert (seen.status, is_overflow(400, json.loads(seen.body))) == (400, False)


PROVIDERS_WORDS = {
    "openai_chat": "This model's maximum context length is",
    "openai_responses": "Your input exceeds the context window of this model.",
    "anthropic_messages": "prompt is too long: ",
    "gemini": "The input token count (",
    "ollama": "exceeds the available context size",
}


@every_wire
def test_an_overflow_in_the_wires_own_words(wire):
    seen = over_transport(Bench(Turn(overflow="provider")), wire, stream=False)

    assert PROVIDERS_WORDS[wire] in TEXT_OF[wire](json.loads(seen.body))
    assert wire in BY_WIRE


# Breaks.

#: What of a text leaves before a break after 0, 1 and 2 chunks, in frames: all before its first piece, then that piece.
LEFT = {
    "openai_chat": (0, 1, 2),
    "openai_responses": (0, 4, 5),
    "anthropic_messages": (0, 2, 3),
    "gemini": (0, 0, 1),
    "ollama": (0, 0, 1),
}


@every_shell
@every_wire
@pytest.mark.parametrize("reset", [False, True], ids=["clean", "reset"])
@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_stream_is_cut_after_so_many_chunks(shell, wire, reset, count):
    expected = b"".join(frames(wire, unbroken(wire, chunking=CHARACTER))[: LEFT[wire][count]])
    bench = Bench(Turn(say=HELLO.say, broken=Cut(after_chunks=count, reset=reset)), chunking=CHARACTER)
    seen = shell(bench, wire, stream=True)

    # A reset may overtake what was sent before it, on a real socket.
    assert seen.status in ({200, None} if reset else {200})
    assert expected.startswith(seen.body) if reset else seen.body == expected
    assert seen.broke is reset
    assert bench.told("reply")["fault"] == {"cut": {"after_chunks": count, "after_bytes": None, "reset": reset}}
    assert bench.told("reply_done") == {"call": "m1", "bytes": len(expected), "by": "cut"}


@every_shell
@every_wire
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("limit", [0, 1, 30, 77])
def test_an_answer_is_cut_after_so_many_bytes(shell, wire, stream, limit):
    bench = Bench(Turn(say=HELLO.say, broken=Cut(after_bytes=limit)))
    seen = shell(bench, wire, stream=stream)

    assert (seen.status, seen.body) == (200, unbroken(wire, stream=stream)[:limit])
    # Only a length that was announced tells that something is missing.
    assert seen.broke is not stream
    assert bench.told("reply_done") == {"call": "m1", "bytes": limit, "by": "cut"}


@every_shell
@every_wire
@pytest.mark.parametrize("count", [0, 1])
def test_a_stream_falls_silent_after_so_many_chunks(shell, wire, count):
    bench = Bench(Turn(say=HELLO.say, broken=Stall(count)))
    seen = shell(bench, wire, stream=True)

    assert bench.hangs == 1
    assert b"".join(frames(wire, unbroken(wire))[: LEFT[wire][count]]).startswith(seen.body)
    assert seen.broke
    assert bench.told("reply")["fault"] == {"stall": {"after_chunks": count}}
    assert bench.told("reply_done")["by"] == "cut"


OVERLOADED = ErrorReply(529, "Overloaded, sorry.")


@every_shell
@every_wire
@pytest.mark.parametrize("count", [0, 1])
def test_a_stream_tells_of_an_error_after_so_many_chunks_and_ends(shell, wire, count):
    bench = Bench(Turn(say=HELLO.say, broken=ErrorEvent(OVERLOADED, count)))
    seen = shell(bench, wire, stream=True)
    *before, told = frames(wire, seen.body)

    assert (seen.status, seen.broke) == (200, False)
    assert before == frames(wire, unbroken(wire))[: LEFT[wire][count]]
    assert b"Overloaded, sorry." in told
    assert bench.told("reply")["fault"]["error_event"]["error"]["status"] == 529
    assert bench.told("reply")["fault"]["error_event"]["error"]["body"] == json.loads(told[told.index(b"{") :])
    assert bench.told("reply_done")["by"] == "kit"


@every_shell
@every_wire
def test_without_a_stream_the_error_is_the_answer(shell, wire):
    bench = Bench(Turn(say=HELLO.say, broken=ErrorEvent(OVERLOADED, 1)))
    seen = shell(bench, wire, stream=False)

    assert (seen.status, TEXT_OF[wire](json.loads(seen.body)), seen.broke) == (529, "Overloaded, sorry.", False)
    assert bench.told("reply")["status"] == 529
    assert bench.told("reply")["fault"]["error_event"]["error"]["body"] == json.loads(seen.body)


@every_shell
@every_wire
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_a_refused_connection_gives_no_byte(shell, wire, stream):
    bench = Bench(Turn(broken=NoConnection()))
    seen = shell(bench, wire, stream=stream)

    assert (seen.status, seen.body, seen.broke) == (None, b"", True)
    assert bench.told("reply")["fault"] == {"refuse": {}}
    assert bench.told("reply_done") == {"call": "m1", "bytes": 0, "by": "cut"}


def test_over_the_transport_a_refused_connection_is_the_librarys_own_error():
    inner = transport(Bench(Turn(broken=NoConnection())).endpoint, httpx2)
    path, body = request("openai_chat", stream=False)
    with httpx2.Client(transport=inner) as client, pytest.raises(httpx2.ConnectError, match="refused"):
        client.post(f"http://127.0.0.1:9{path}", json=body)


@every_shell
@every_wire
def test_a_slow_reply_takes_the_scenarios_time_and_none_of_ours(shell, wire):
    bench = Bench(Turn(say=HELLO.say, wait_s=7, pace_s=0.5))
    seen = shell(bench, wire, stream=True)
    writes = len(frames(wire, unbroken(wire)))

    assert seen.body == unbroken(wire)
    assert bench.slept_s == [7, *[0.5] * (writes - 1)]


# What is said wrongly.


@every_shell
@every_wire
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_a_finish_reason_that_nobody_knows_is_sent_as_written(shell, wire, stream):
    if wire == "openai_responses":
        return  # This wire has a status and no reason.
    bench = Bench(Turn(say=HELLO.say, finish="out_of_luck"))
    seen = shell(bench, wire, stream=stream)

    assert seen.body.count(b'"out_of_luck"') == 1
    assert bench.told("reply")["fault"] == {"finish": "out_of_luck"}


ARGUMENTS = {"malformed": '{"at": Oslo}', "truncated": '{"at": "Os', "no object": "[1]", "empty": ""}
#: Wires whose calls have their arguments as text. The others cannot carry what is no object, and say in `carried` what they do.
AS_TEXT = ("openai_chat", "openai_responses")


@every_shell
@every_wire
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("raw", ARGUMENTS.values(), ids=ARGUMENTS)
def test_broken_arguments_are_recorded_as_they_were_told(shell, wire, stream, raw):
    bench = Bench(Turn(calls=(CallTurn("look", raw=raw),)))
    seen = shell(bench, wire, stream=stream)
    recorded = [part["arguments"] for part in bench.told("reply")["parts"] if part["type"] == "tool_call"]

    assert not seen.broke
    if wire in AS_TEXT:
        assert recorded == [raw]
        assert json.dumps(raw).encode() in seen.body
    else:
        assert bench.told("reply")["status"] == seen.status
        assert len(recorded) <= 1


IDS = {
    "missing": ((CallTurn("look", id_shape="missing"),), [None]),
    "empty": ((CallTurn("look", id_shape="empty"),), [""]),
    "given": ((CallTurn("look", id="c9", id_shape="given"),), ["c9"]),
    "repeated": (
        (CallTurn("look", id="c9", id_shape="given"), CallTurn("send", id="c9", id_shape="given")),
        ["c9"] * 2,
    ),
}


@every_shell
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize(("calls", "ids"), IDS.values(), ids=IDS)
def test_ids_are_sent_as_they_are_given(shell, stream, calls, ids):
    bench = Bench(Turn(calls=calls))
    seen = shell(bench, "openai_chat", stream=stream)

    sent = [json.loads(part) for part in _objects(seen.body)]
    choices = [choice for body in sent for choice in body["choices"]]
    told = [call for one in choices for call in one.get("delta", one.get("message")).get("tool_calls", ())]
    assert [call.get("id") for call in told if "name" in call["function"]] == ids
    assert [part["id"] for part in bench.told("reply")["parts"]] == ids


def _objects(body):
    lines = [line.removeprefix(b"data: ") for line in body.split(b"\n")]
    return [line for line in lines if line.startswith(b"{")]


def test_an_id_can_be_used_again_in_a_later_round():
    call = CallTurn("look", id="c1", id_shape="given")
    bench = Bench(Turn(calls=(call,), repeat=FOREVER))
    for _ in range(2):
        over_transport(bench, "openai_chat", stream=False)

    replies = [data for kind, data in bench.records if kind == "reply"]
    assert [part["id"] for reply in replies for part in reply["parts"]] == ["c1", "c1"]


# Quirks.

EVERY_QUIRK = [(wire, quirk) for wire in WIRES for quirk in CODECS[wire].quirks]


@every_shell
@pytest.mark.parametrize(("wire", "quirk"), EVERY_QUIRK)
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_a_quirk_is_played_and_recorded_and_ends_as_any_reply(shell, wire, quirk, stream):
    bench = Bench(Turn(say=CALLS.say, calls=CALLS.calls, quirks=(quirk,)))
    seen = shell(bench, wire, stream=stream)

    assert (seen.status, seen.broke) == (200, False)
    assert bench.told("reply")["fault"] == {"quirks": [quirk]}
    assert bench.told("reply_done") == {"call": "m1", "bytes": len(seen.body), "by": "kit"}


@pytest.mark.parametrize("wire", [wire for wire in WIRES if "ids_repeated" not in CODECS[wire].quirks])
def test_a_quirk_that_the_wire_does_not_have_is_refused_and_says_which_there_are(wire):
    bench = Bench(Turn(say="hi", quirks=("ids_repeated",)))
    seen = over_transport(bench, wire, stream=True)
    refused = bench.told("refused")

    assert (seen.status, refused["by"]) == (400, "script")
    assert refused["nearest"]["turn"] == 0
    for word in ("ids_repeated", wire, *CODECS[wire].quirks):
        assert word in refused["message"]
    assert bench.endpoint.unplayed("r1") == (0,)


# In the agent's own process.


def in_process(*turns):
    bench = Bench(*turns)
    return bench, CallableModel(bench.endpoint)


def test_in_process_a_refused_connection_is_a_broken_one():
    for stream in (False, True):
        bench, model = in_process(Turn(broken=NoConnection()))
        _, body = request("openai_chat", stream=stream)
        with pytest.raises(StreamBroken):
            list(model.stream_model(body)) if stream else model.model(body)
        assert bench.told("reply_done") == {"call": "m1", "bytes": 0, "by": "cut"}


def test_in_process_the_error_of_a_stream_is_its_last_chunk():
    bench, model = in_process(Turn(say="hi", broken=ErrorEvent(OVERLOADED, 1)))
    first, last = model.stream_model(request("openai_chat", stream=True)[1])

    assert "choices" in first
    assert last["error"]["message"] == "Overloaded, sorry."
    assert bench.told("reply_done")["by"] == "kit"


def test_in_process_the_error_of_a_reply_that_is_not_streamed_is_raised():
    _, model = in_process(Turn(say="hi", broken=ErrorEvent(OVERLOADED, 1)))

    with pytest.raises(ModelError) as caught:
        model.model(request("openai_chat", stream=False)[1])

    assert caught.value.status == 529
