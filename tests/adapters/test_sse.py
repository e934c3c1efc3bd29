"""Expected values are those measured with the published client 1.0.0."""

import pytest

from conformance.adapters import sse

#: A stream, and the data of its frames.
STREAMS = {
    "LF frames": (b'data: {"a":1}\n\ndata: {"b":2}\n\n', ['{"a":1}', '{"b":2}']),
    "no space after the colon": (b'data:{"a":1}\n\n', ['{"a":1}']),
    "one space is the colon's, the next is data": (b"data:  x\n\n", [" x"]),
    "data over several lines": (b'data: {"a":\ndata: 1}\n\n', ['{"a":\n1}']),
    "comments and other fields": (b': ping\nevent: x\nid: 7\nretry: 10\ndata: {"a":1}\n\n', ['{"a":1}']),
    "a frame of comments alone": (b": ping\n\n: ping\n\n", []),
    "a last frame without its empty line": (b'data: {"a":1}\n\ndata: {"b":2}', ['{"a":1}', '{"b":2}']),
    "a last line with its newline": (b'data: {"a":1}\n', ['{"a":1}']),
    "more empty lines than one": (b"data: x\n\n\n\n\ndata: y\n\n", ["x", "y"]),
    "empty data": (b"data:\n\n", [""]),
    "CR LF parts no frames": (b"data: x\r\n\r\ndata: y\r\n\r\n", ["x\r\ny\r"]),
    "a byte order mark": (b"\xef\xbb\xbfdata: x\n\ndata: y\n\n", ["x", "y"]),
    "letters of several bytes": ("data: 现在几点\n\n".encode(), ["现在几点"]),
    "bytes that are no UTF-8": (b"data: \xff\n\n", ["\ufffd"]),
    "nothing": (b"", []),
}


def data(stream, size):
    frames = sse.Frames()
    chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
    return [one for chunk in chunks for one in frames.feed(chunk)] + list(frames.end())


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_a_stream_is_cut_into_the_clients_frames_however_it_arrives(name, size):
    stream, expected = STREAMS[name]
    assert data(stream, size) == expected


def test_what_came_of_a_frame_that_is_not_whole_can_be_shown():
    frames = sse.Frames()
    assert list(frames.feed(b'data: x\n\ndata: {"type":"RUN_ST')) == ["x"]
    assert frames.rest == 'data: {"type":"RUN_ST'


def test_a_frame_may_be_ten_mebibytes_and_no_more():
    frames = sse.Frames()
    assert list(frames.feed(b"data: " + b"x" * (10 * 1024 * 1024 - 6))) == []
    with pytest.raises(sse.Refused, match=r"more than 10485760 bytes .* buffers no more"):
        list(frames.feed(b"x"))


def test_a_frame_that_is_a_json_object_is_an_event():
    assert sse.event('{"type":"CUSTOM","value":null}') == {"type": "CUSTOM", "value": None}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("[DONE]", r"no \[DONE\].* close the stream instead"),
        ('{"type":"A"}\r\n\r\n{"type":"B"}\r', r"lines end in CR LF.* end lines in LF"),
        ("Internal Server Error", r"is no JSON \(Expecting value"),
        ("", "is no JSON"),
        ('{"value":NaN}', "NaN is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("[1]", "no object; each frame is to hold one event"),
        ('"RUN_STARTED"', "no object"),
    ],
)
def test_what_the_client_refuses_is_refused_with_what_to_do(said, why):
    with pytest.raises(sse.Refused, match=why):
        sse.event(said)
