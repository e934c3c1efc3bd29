import asyncio
from itertools import accumulate

import anthropic
import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shells import SHELLS, Bench

from fake_models.chunking import chunking
from fake_models.httpx_transport import transport
from fake_models.messages import Cut, Usage
from fake_models.script import CallTurn, Turn
from fake_models.server import Server
from fake_models.wire import CODECS

ALL = ["whole", "token", "character", "byte", "adversarial:1", "adversarial:2", "adversarial:77"]
TEXT = 'Zeit: 时间 🙂 "quoted"\n\ttabbed \\ and data: [DONE]\n\nlate'
SAYS = Turn(
    think="hm — 嗯",
    say=TEXT,
    calls=(CallTurn("look", {"at": 'C "1" 时\n'}), CallTurn("send", {})),
    usage=Usage(11, 7),
)


@pytest.mark.parametrize(
    ("name", "text", "pieces"),
    [
        ("whole", "时间 ok", ("时间 ok",)),
        ("token", "", ()),
        ("token", "Hello, a longer sentence.", ("Hell", "o,", " a", " long", "er", " sent", "ence", ".")),
        ("token", " \n", (" \n",)),
        ("token", "时间查询完成: ", ("时间查询", "完成:", " ")),
        ("character", "时a🙂", ("时", "a", "🙂")),
        ("byte", "时a", ("时", "a")),
        ("adversarial:1", "", ()),
    ],
)
def test_a_text_is_cut_into_pieces(name, text, pieces):
    assert chunking(name).pieces(text) == pieces


@pytest.mark.parametrize("name", ALL)
@given(text=st.text())
def test_pieces_join_to_the_text_and_none_is_empty(name, text):
    pieces = chunking(name).pieces(text)

    assert "".join(pieces) == text
    assert "" not in pieces


@pytest.mark.parametrize(
    "name", ["bytes", "", "adversarial", "adversarial:", "adversarial:x", "adversarial:-1", "Whole"]
)
def test_a_chunking_that_there_is_not_is_named_with_those_there_are(name):
    with pytest.raises(ValueError, match="whole, token, character, byte, adversarial:SEED") as caught:
        chunking(name)

    assert repr(name) in str(caught.value)


FRAMES = st.lists(st.binary(min_size=1, max_size=60), max_size=12).map(tuple)


@given(seed=st.integers(0, 10**6), frames=FRAMES)
def test_adversarial_writes_join_to_the_frames_and_the_same_seed_cuts_the_same(seed, frames):
    once, again = (chunking(f"adversarial:{seed}").recut(frames, b"") for _ in range(2))

    assert b"".join(once) == b"".join(frames)
    assert b"" not in once
    assert once == again


@given(seed=st.integers(0, 10**6), count=st.integers(0, 12))
def test_a_keep_alive_stands_only_between_frames(seed, count):
    frames = tuple(b"<%d>" % number for number in range(count))
    came = b"".join(chunking(f"adversarial:{seed}").recut(frames, b"~"))

    assert came.replace(b"~", b"") == b"".join(frames)
    assert not came.startswith(b"~")
    assert not came.endswith(b"~")
    assert came.replace(b">~<", b"><").count(b"~") == 0


def test_bytes_leave_one_by_one():
    assert chunking("byte").recut((b"ab", "时".encode()), b"~") == (b"a", b"b", b"\xe6", b"\x97", b"\xb6")


STREAM = ('data: {"text":"时 \\n \\"x\\" 🙂","more":"\\u00e9"}\n\n'.encode(), b'data: {"n":1}\n\n', b"data: [DONE]\n\n")


def cuts(seed):
    """Where the stream is cut, keep-alives aside."""
    return set(accumulate(map(len, chunking(f"adversarial:{seed}").recut(STREAM, b""))))


@pytest.mark.parametrize(
    ("what", "places"),
    [
        ("inside a code point", [STREAM[0].index("🙂".encode()) + n for n in (1, 2, 3)]),
        ("inside an escape", [STREAM[0].index(b"\\n") + 1]),
        ("inside an escape of a code point", [STREAM[0].index(b"u00e9") + n for n in range(5)]),
        ("inside a key", [STREAM[0].index(b"more") + n for n in (1, 2, 3)]),
        ("inside the start of a line", [len(STREAM[0]) + n for n in (1, 2, 3, 4, 5)]),
        ("inside the end of a frame", [len(STREAM[0]) - 1]),
    ],
)
def test_some_seed_cuts(what, places):
    assert any(cuts(seed) & set(places) for seed in range(20)), what


def test_some_writes_hold_the_end_of_one_frame_and_the_start_of_the_next_and_some_a_whole_frame_more():
    writes = [write for seed in range(20) for write in chunking(f"adversarial:{seed}").recut(STREAM, b"")]

    assert any(b"\n\ndata" in write and not write.startswith(b"data") for write in writes)
    assert any(write.count(b"\n\n") >= 2 for write in writes)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("wire", sorted(CODECS))
@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
def test_the_seed_gives_the_same_bytes_and_what_is_put_between_is_the_wires_own(shell, wire, seed):
    bodies = []
    for _ in range(2):
        bench = Bench(SAYS, chunking=chunking(f"adversarial:{seed}"))
        bodies.append(shell(bench, wire, stream=True).body)
        assert bench.told("reply_done") == {"call": "m1", "bytes": len(bodies[-1]), "by": "kit"}

    assert bodies[0] == bodies[1]
    assert (b": keep-alive" in bodies[0]) <= (CODECS[wire].comment == b": keep-alive\n\n")
    if not CODECS[wire].comment:
        kinds = {line[:1] for line in bodies[0].split(b"\n")}
        assert kinds <= ({b"{", b""} if wire == "ollama" else {b"d", b""})


def test_what_is_cut_off_is_cut_off_before_it_is_cut_up():
    bench = Bench(Turn(say=TEXT, broken=Cut(after_bytes=150)), chunking=chunking("byte"))
    plain = Bench(Turn(say=TEXT), chunking=chunking("character"))

    cut = SHELLS["transport"](bench, "openai_chat", stream=True).body
    assert cut == SHELLS["transport"](plain, "openai_chat", stream=True).body[:150]


# The official clients read all of it.


async def openai_hears(url, http):
    client = openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", http_client=http, max_retries=0)
    messages = [{"role": "user", "content": "hello"}]
    text, thinking, calls, usage = "", "", {}, None
    asked = {"model": "m", "messages": messages, "stream": True, "stream_options": {"include_usage": True}}
    async for chunk in await client.chat.completions.create(**asked):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            thinking += getattr(choice.delta, "reasoning_content", None) or ""
            for call in choice.delta.tool_calls or ():
                name, arguments = calls.get(call.index, ("", ""))
                calls[call.index] = (name or call.function.name, arguments + (call.function.arguments or ""))
    return text, thinking, [calls[index] for index in sorted(calls)], (usage.prompt_tokens, usage.completion_tokens)


async def anthropic_hears(url, http):
    client = anthropic.AsyncAnthropic(api_key="k", base_url=url, http_client=http, max_retries=0)
    messages = [{"role": "user", "content": "hello"}]
    async with client.messages.stream(model="m", max_tokens=100, messages=messages) as stream:
        said = await stream.get_final_message()
    thinking, text, *calls = said.content
    told = [(call.name, call.input) for call in calls]
    return text.text, thinking.thinking, told, (said.usage.input_tokens, said.usage.output_tokens)


CLIENTS = {
    "openai": (openai_hears, [("look", '{"at":"C \\"1\\" 时\\n"}'), ("send", "{}")]),
    "anthropic": (anthropic_hears, [("look", {"at": 'C "1" 时\n'}), ("send", {})]),
}


async def through_transport(bench, hears):
    async with httpx2.AsyncClient(transport=transport(bench.endpoint, httpx2)) as http:
        return await hears("http://127.0.0.1:9", http)


async def through_socket(bench, hears):
    async with Server() as server, httpx2.AsyncClient(timeout=20) as http:
        return await hears(server.mount("s", bench), http)


@pytest.mark.parametrize("way", [through_transport, through_socket])
@pytest.mark.parametrize("name", [*ALL, *(f"adversarial:{seed}" for seed in range(3, 12))])
@pytest.mark.parametrize(("hears", "calls"), CLIENTS.values(), ids=CLIENTS)
def test_the_official_client_hears_the_same_however_it_is_chunked(hears, calls, name, way):
    bench = Bench(SAYS, chunking=chunking(name))

    assert asyncio.run(way(bench, hears)) == (TEXT, "hm — 嗯", calls, (11, 7))
