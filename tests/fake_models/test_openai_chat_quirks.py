"""What the official client makes of each way in which servers stray: its chunks as they come, and what it joins them to."""

import httpx2
import openai
import pytest
from shells import Bench

from fake_models.httpx_transport import transport
from fake_models.messages import ErrorEvent, ErrorReply, Usage
from fake_models.script import CallTurn, Turn
from fake_models.wire.openai_chat_quirks import QUIRKS

MESSAGES = [{"role": "user", "content": "hello"}]
LOOK, SEND = '{"a":1}', '{"b":2}'

OPEN = ("", [], None)
SAID = ("ok", [], None)
TWO = [
    (None, [(0, "call_1", "look", "")], None),
    (None, [(0, None, None, LOOK)], None),
    (None, [(1, "call_2", "send", "")], None),
    (None, [(1, None, None, SEND)], None),
]
END = (None, [], "tool_calls")
JOINED = [("call_1", "look", LOOK), ("call_2", "send", SEND)]


def moved(index):
    return [(None, [(index, *call[1:])], None) for _, [call], _ in TWO]


HEARD = {
    None: ([OPEN, SAID, *TWO, END], JOINED),
    "calls_whole": (
        [
            OPEN,
            SAID,
            (None, [(0, "call_1", "look", LOOK)], None),
            (None, [(1, "call_2", "send", SEND)], None),
            END,
        ],
        JOINED,
    ),
    "calls_interleaved": ([OPEN, SAID, TWO[0], TWO[2], TWO[1], TWO[3], END], JOINED),
    "text_after_calls": ([OPEN, *TWO, SAID, END], JOINED),
    "names_repeated": (
        [
            OPEN,
            SAID,
            (None, [(0, "call_1", "look", "")], None),
            (None, [(0, "call_1", "look", LOOK)], None),
            (None, [(1, "call_2", "send", "")], None),
            (None, [(1, "call_2", "send", SEND)], None),
            END,
        ],
        # The client joins names and ids as it joins arguments.
        [("call_1call_1", "looklook", LOOK), ("call_2call_2", "sendsend", SEND)],
    ),
    "ids_repeated": (
        [
            OPEN,
            SAID,
            (None, [(0, "call_1", "look", "")], None),
            (None, [(0, "call_1", None, LOOK)], None),
            (None, [(1, "call_2", "send", "")], None),
            (None, [(1, "call_2", None, SEND)], None),
            END,
        ],
        # The client joins ids as it joins arguments.
        [("call_1call_1", "look", LOOK), ("call_2call_2", "send", SEND)],
    ),
    "ids_empty": (
        [
            OPEN,
            SAID,
            TWO[0],
            (None, [(0, "", None, LOOK)], None),
            TWO[2],
            (None, [(1, "", None, SEND)], None),
            END,
        ],
        JOINED,
    ),
    "index_zero": ([OPEN, SAID, *moved(0), END], [("call_1call_2", "looksend", LOOK + SEND)]),
    "no_index": ([OPEN, SAID, *moved(None), END], TypeError),
    "duplicate_ids": (
        [OPEN, SAID, *TWO[:2], (None, [(1, "call_1", "send", "")], None), TWO[3], END],
        [("call_1", "look", LOOK), ("call_1", "send", SEND)],
    ),
    "finish_missing": ([OPEN, SAID, *TWO, (None, [], None)], JOINED),
    "usage_cumulative": ([OPEN, SAID, *TWO, END], JOINED),
    "usage_null": ([OPEN, SAID, *TWO, END], JOINED),
    "no_final_marker": ([OPEN, SAID, *TWO, END], JOINED),
}
IDS = [quirk or "none" for quirk in HEARD]


def bench(*quirks):
    calls = (CallTurn("look", {"a": 1}), CallTurn("send", {"b": 2}))
    return Bench(Turn(say="ok", calls=calls, usage=Usage(11, 7), quirks=tuple(quirk for quirk in quirks if quirk)))


def client(given):
    http = httpx2.Client(transport=transport(given.endpoint, httpx2))
    return openai.OpenAI(api_key="k", base_url="http://127.0.0.1:9/v1", http_client=http, max_retries=0)


def chunks(given):
    asked = {"model": "m", "messages": MESSAGES, "stream": True, "stream_options": {"include_usage": True}}
    return list(client(given).chat.completions.create(**asked))


def spent(chunk):
    return chunk.usage and (chunk.usage.prompt_tokens, chunk.usage.completion_tokens)


def test_every_quirk_has_its_row_here():
    assert set(HEARD) == {None, *QUIRKS}


@pytest.mark.parametrize(("quirk", "expected"), [(quirk, row[0]) for quirk, row in HEARD.items()], ids=IDS)
def test_the_client_gives_each_chunk_as_it_came(quirk, expected):
    heard = [
        (
            choice.delta.content,
            [
                (call.index, call.id, call.function.name, call.function.arguments)
                for call in choice.delta.tool_calls or ()
            ],
            choice.finish_reason,
        )
        for chunk in chunks(bench(quirk))
        for choice in chunk.choices
    ]

    assert heard == expected


@pytest.mark.parametrize(("quirk", "expected"), [(quirk, row[1]) for quirk, row in HEARD.items()], ids=IDS)
def test_the_clients_own_joining_gives(quirk, expected):
    with client(bench(quirk)).chat.completions.stream(model="m", messages=MESSAGES) as stream:
        if isinstance(expected, type):
            with pytest.raises(expected):
                stream.get_final_completion()
            return
        [choice] = stream.get_final_completion().choices

    calls = choice.message.tool_calls
    assert [(call.id, call.function.name, call.function.arguments) for call in calls] == expected


@pytest.mark.parametrize(
    ("quirk", "expected"),
    [
        (None, [None] * 7 + [(11, 7)]),
        ("usage_cumulative", [(11, so_far) for so_far in (1, 2, 3, 4, 5, 6, 7, 7)]),
        ("usage_null", [None] * 7),
    ],
)
def test_the_usage_of_each_chunk(quirk, expected):
    assert [spent(chunk) for chunk in chunks(bench(quirk))] == expected


@pytest.mark.parametrize(
    ("quirk", "finish", "usage", "second_id"),
    [
        (None, "tool_calls", (11, 7), "call_2"),
        ("finish_missing", None, (11, 7), "call_2"),
        ("usage_null", "tool_calls", None, "call_2"),
        ("duplicate_ids", "tool_calls", (11, 7), "call_1"),
        ("index_zero", "tool_calls", (11, 7), "call_2"),
    ],
)
def test_a_reply_that_is_not_streamed(quirk, finish, usage, second_id):
    completion = client(bench(quirk)).chat.completions.create(model="m", messages=MESSAGES)
    [choice] = completion.choices

    assert (choice.finish_reason, spent(completion)) == (finish, usage)
    assert [call.id for call in choice.message.tool_calls] == ["call_1", second_id]


def test_what_an_agent_was_not_told_is_not_recorded():
    nothing, twice = bench("usage_null"), bench("duplicate_ids")
    chunks(nothing)
    chunks(twice)

    assert nothing.told("reply")["usage"] is None
    assert [part.get("id") for part in twice.told("reply")["parts"]] == [None, "call_1", "call_1"]


def test_quirks_are_put_together_whatever_the_order_they_are_asked_for_in():
    for quirks in (("calls_whole", "no_index"), ("no_index", "calls_whole")):
        calls = [
            call for chunk in chunks(bench(*quirks)) for one in chunk.choices for call in one.delta.tool_calls or ()
        ]
        assert [(call.index, call.id, call.function.arguments) for call in calls] == [
            (None, "call_1", LOOK),
            (None, "call_2", SEND),
        ]


def test_a_call_without_arguments_survives_every_quirk():
    for quirk in QUIRKS:
        given = Bench(Turn(calls=(CallTurn("look", raw=""),), quirks=(quirk,)))
        [name] = {
            call.function.name
            for chunk in chunks(given)
            for one in chunk.choices
            for call in one.delta.tool_calls or ()
            if call.function.name
        }
        assert name == "look"


def test_an_error_in_mid_stream_is_the_clients_own_error_with_the_body():
    given = Bench(Turn(say="hi", broken=ErrorEvent(ErrorReply(503, ""), 1)))
    with pytest.raises(openai.APIError) as caught:
        chunks(given)

    assert caught.value.body["type"] == "server_error"
