import pytest

from conformance.reading.agui import Event, expand, reasoning_messages, text_messages, tool_calls, tool_results
from conformance.reading.agui_order import order
from conformance.reading.event_shapes import shape

RUN = {"threadId": "t", "runId": "r"}
#: How a stream is written below: one word an event, the sign says what it does, what follows names what it does it to.
SIGNS = {
    "R+": ("RUN_STARTED", lambda _: RUN),
    "R-": ("RUN_FINISHED", lambda _: RUN),
    "R!": ("RUN_ERROR", lambda _: {"message": "boom"}),
    "T+": ("TEXT_MESSAGE_START", lambda m: {"messageId": m, "role": "assistant"}),
    "T=": ("TEXT_MESSAGE_CONTENT", lambda m: {"messageId": m, "delta": "x"}),
    "T-": ("TEXT_MESSAGE_END", lambda m: {"messageId": m}),
    "T~": ("TEXT_MESSAGE_CHUNK", lambda m: ({"messageId": m} if m else {}) | {"delta": "a"}),
    "Q+": ("REASONING_MESSAGE_START", lambda m: {"messageId": m, "role": "reasoning"}),
    "Q=": ("REASONING_MESSAGE_CONTENT", lambda m: {"messageId": m, "delta": "x"}),
    "Q-": ("REASONING_MESSAGE_END", lambda m: {"messageId": m}),
    "Q~": ("REASONING_MESSAGE_CHUNK", lambda m: {"messageId": m, "delta": "a"}),
    "Z+": ("REASONING_START", lambda m: {"messageId": m}),
    "Z-": ("REASONING_END", lambda m: {"messageId": m}),
    "C+": ("TOOL_CALL_START", lambda c: {"toolCallId": c, "toolCallName": "f"}),
    "C=": ("TOOL_CALL_ARGS", lambda c: {"toolCallId": c, "delta": "{}"}),
    "C-": ("TOOL_CALL_END", lambda c: {"toolCallId": c}),
    "C>": ("TOOL_CALL_RESULT", lambda c: {"messageId": f"of-{c}", "toolCallId": c, "content": "ok"}),
    "C~": ("TOOL_CALL_CHUNK", lambda c: _tool_chunk(*c.split("/"))),
    "S+": ("STEP_STARTED", lambda s: {"stepName": s}),
    "S-": ("STEP_FINISHED", lambda s: {"stepName": s}),
    "A+": ("SUBAGENT_STARTED", lambda a: {"subagentRunId": a, "name": "helper"}),
    "A-": ("SUBAGENT_FINISHED", lambda a: {"subagentRunId": a}),
    "RAW": ("RAW", lambda _: {"event": 1}),
    "CUS": ("CUSTOM", lambda _: {"name": "n", "value": 1}),
    "DEL": ("STATE_DELTA", lambda _: {"delta": [{"op": "replace", "path": "/a", "value": 1}]}),
    "THI": ("THINKING_START", lambda _: {}),
}


def _tool_chunk(call, name=""):
    return {"delta": "{}"} | ({"toolCallId": call} if call else {}) | ({"toolCallName": name} if name else {})


def told(words, changes=None):
    """The events of a stream as written; `changes` puts fields over the event at a place, None takes nothing away."""
    events = []
    for word in words.split():
        kind, fields = SIGNS[word[:3] if word[:3] in SIGNS else word[:2]]
        events.append({"type": kind, **fields(word[2:])})
    for place, fields in (changes or {}).items():
        events[place] |= fields
    return events


def seen(words, changes=None):
    return [Event(place, event) for place, event in enumerate(told(words, changes), start=1)]


# Verdicts measured with the published TypeScript client 1.0.0 and Python models 1.0.0.
ORACLE = [
    ("a closed message id is opened again", "R+ T+m T=m T-m T+m T-m R-", {}, "accept", "accept"),
    ("a closed call id is opened again", "R+ C+c C-c C+c C-c R-", {}, "accept", "accept"),
    ("an error alone", "R!", {}, "accept", "accept"),
    ("an error, then a run", "R! R+ R-", {}, "accept", "accept"),
    ("an error with all open", "R+ T+m C+c S+s R!", {}, "accept", "accept"),
    ("an error after the finish", "R+ R- R!", {}, "accept", "accept"),
    ("a message after the error", "R+ R! T+m", {}, "reject", "accept"),
    ("a finish after the error", "R+ R! R-", {}, "reject", "accept"),
    ("a second run after the error", "R+ R! R+ R-", {}, "accept", "accept"),
    ("two finishes", "R+ R- R-", {}, "reject", "accept"),
    ("no terminal", "R+ T+m T=m", {}, "accept", "accept"),
    ("a result before the end", "R+ C+c C>c C-c R-", {}, "accept", "accept"),
    ("a result of nothing", "R+ C>zz R-", {}, "accept", "accept"),
    ("a result twice", "R+ C+c C-c C>c C>c R-", {}, "accept", "accept"),
    ("parallel calls, mixed", "R+ C+a C+b C=a C=b C-b C-a R-", {}, "accept", "accept"),
    ("two messages, mixed", "R+ T+a T+b T=a T=b T-a T-b R-", {}, "accept", "accept"),
    ("a call in an open message", "R+ T+m C+c C-c T-m R-", {2: {"parentMessageId": "m"}}, "accept", "accept"),
    ("a parent nobody knows", "R+ C+c C-c R-", {1: {"parentMessageId": "nope"}}, "accept", "accept"),
    ("another run's finish", "R+ R-", {1: {"runId": "other"}}, "accept", "accept"),
    ("a delta without a state", "R+ DEL R-", {}, "accept", "accept"),
    ("an open span at the finish", "R+ Z+z R-", {}, "reject", "accept"),
    ("a thought outside a span", "R+ Q+z Q=z Q-z R-", {}, "accept", "accept"),
    ("events of a former version", "R+ THI R-", {}, "accept", "reject"),
    ("a step twice", "R+ S+s S+s R-", {}, "reject", "accept"),
    ("chunks of one message", "R+ T~m T~ R-", {}, "accept", "accept"),
    ("a first chunk without an id", "R+ T~ R-", {}, "reject", "accept"),
    ("chunks around a call", "R+ T~m C~c/f T~m R-", {}, "accept", "accept"),
    ("a call's chunk without a name", "R+ C~c R-", {}, "reject", "accept"),
    ("a call's chunk without an id", "R+ C~/f R-", {}, "reject", "accept"),
    ("chunks of two calls in turn", "R+ C~a/f C~b/f C~a R-", {}, "reject", "accept"),
    ("a call's chunk with another name", "R+ C~a/f C~a/g R-", {}, "reject", "accept"),
    ("a raw event between chunks", "R+ T~m RAW T~ R-", {}, "accept", "accept"),
    ("a custom event between chunks", "R+ T~m CUS T~ R-", {}, "reject", "accept"),
    ("an empty chunk of a thought", "R+ Q~q Q~q R-", {2: {"delta": ""}}, "accept", "accept"),
    ("chunks without a terminal", "R+ T~m", {}, "accept", "accept"),
    ("null metadata", "R+ T+m T-m R-", {1: {"metadata": None}}, "reject", "accept"),
    ("a null parent", "R+ C+c C-c R-", {1: {"parentMessageId": None}}, "reject", "accept"),
    ("a null outcome", "R+ R-", {1: {"outcome": None}}, "reject", "accept"),
    ("an unknown outcome", "R+ R-", {1: {"outcome": {"type": "failed"}}}, "accept", "reject"),
    (
        "an interrupt without interrupts",
        "R+ R-",
        {1: {"outcome": {"type": "interrupt", "interrupts": []}}},
        "reject",
        "reject",
    ),
    ("a tool's text message", "R+ T+m T-m R-", {1: {"role": "tool"}}, "reject", "reject"),
    ("half a millisecond", "R+ R-", {0: {"timestamp": 1.5}}, "reject", "reject"),
    ("nothing", "", {}, "accept", "accept"),
]


@pytest.mark.parametrize(("name", "words", "changes", "client", "models"), ORACLE, ids=[row[0] for row in ORACLE])
def test_streams_are_accepted_and_refused_as_the_published_parsers_do(name, words, changes, client, models):
    events = told(words, changes)

    by_models = [fault for event in events if (fault := shape(event).model) is not None]
    by_client = [fault for event in events for fault in shape(event).client]
    refused = order(seen(words, changes)).refused

    assert bool(by_models) == (models == "reject")
    # Where the models refuse a shape, the client need not be asked for it again.
    assert (bool(refused or by_client) or (models == client == "reject")) == (client == "reject")


def test_a_reasoning_message_without_a_role_is_refused_by_the_client_alone():
    event = {"type": "REASONING_MESSAGE_START", "messageId": "z"}

    assert shape(event).model is None
    assert shape(event).client == ("role is missing; the client wants 'reasoning'",)


def test_snake_case_is_refused_by_the_client_alone_and_still_read():
    start = {"type": "TEXT_MESSAGE_START", "message_id": "m", "role": "assistant"}
    events = [
        Event(1, {"type": "RUN_STARTED", **RUN}),
        Event(2, start),
        Event(3, {"type": "TEXT_MESSAGE_END", "messageId": "m"}),
    ]

    assert shape(start).model is None
    assert shape(start).client == ("message_id is spelled in snake_case; the client reads messageId",)
    assert order(events).refused == ()


@pytest.mark.parametrize(
    ("event", "faults"),
    [
        ({"type": "CUSTOM", "name": "n", "value": None}, ()),
        ({"type": "RAW", "event": {"a": None}}, ()),
        ({"type": "RUN_FINISHED", **RUN, "result": None, "rawEvent": None}, ()),
        ({"type": "TEXT_MESSAGE_END", "messageId": "m", "timestamp": 1.0}, ()),
        ({"type": "TEXT_MESSAGE_END", "messageId": "m", "bogus": 1}, ()),
        (
            {"type": "TEXT_MESSAGE_END", "messageId": "m", "timestamp": "15"},
            ("timestamp is '15'; the client wants a whole number",),
        ),
        (
            {"type": "RUN_FINISHED", **RUN, "usage": [{"model": None, "inputTokens": 1}]},
            ("usage[0].model is null; the client wants it left out",),
        ),
        (
            {
                "type": "RUN_FINISHED",
                **RUN,
                "outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "x", "message": None}]},
            },
            ("outcome.interrupts[0].message is null; the client wants it left out",),
        ),
    ],
)
def test_the_client_wants_absent_fields_left_out_wherever_they_stand(event, faults):
    assert shape(event).model is None
    assert shape(event).client == faults


@pytest.mark.parametrize(
    ("event", "fault"),
    [
        ({"type": "NOPE"}, "type is 'NOPE', which is none of AG-UI's"),
        ({"messageId": "m"}, "type is None, which is none of AG-UI's"),
        ({"type": "RUN_ERROR"}, "message: Field required"),
        ({"type": "TOOL_CALL_END", "toolCallId": 1}, "toolCallId: Input should be a valid string"),
    ],
)
def test_a_shape_that_the_models_refuse_is_named_by_its_field(event, fault):
    assert shape(event).model == fault


def kinds(events):
    return " ".join(event.type.replace("TEXT_MESSAGE", "T").replace("TOOL_CALL", "C") for event in events)


@pytest.mark.parametrize(
    ("words", "expanded"),
    [
        ("R+ T~m T~ R-", "RUN_STARTED T_START T_CONTENT T_CONTENT T_END RUN_FINISHED"),
        (
            "R+ T~m C~c/f T~m R-",
            "RUN_STARTED T_START T_CONTENT T_END C_START C_ARGS C_END T_START T_CONTENT T_END RUN_FINISHED",
        ),
        ("R+ T~m RAW T~ R-", "RUN_STARTED T_START T_CONTENT RAW T_CONTENT T_END RUN_FINISHED"),
        ("R+ T~m", "RUN_STARTED T_START T_CONTENT"),
        ("R+ T~ T~ T~m", "RUN_STARTED T_START T_CONTENT"),
    ],
)
def test_chunks_expand_as_in_the_published_client(words, expanded):
    assert kinds(expand(seen(words))[0]) == expanded


def test_chunks_of_subagents_do_not_close_each_other():
    changes = {1: {"subagentRunId": "s"}, 2: {}, 3: {"subagentRunId": "s"}}
    events = seen("R+ T~a T~b T~ R-", changes)

    expanded, refused = expand(events)

    assert refused == ()
    assert [message.text for message in text_messages(events)] == ["aa", "a"]
    assert kinds(expanded).endswith("T_END T_END RUN_FINISHED")


@pytest.mark.parametrize(
    ("words", "changes", "message"),
    [
        ("R+ T=m R-", {}, "TEXT_MESSAGE_CONTENT is about text message 'm', which is not open"),
        ("R+ C-c R-", {}, "TOOL_CALL_END is about tool call 'c', which is not open"),
        ("R+ T+m T-m T-m R-", {}, "TEXT_MESSAGE_END is about text message 'm', which is not open"),
        ("R+ T+m T+m T-m R-", {}, "TEXT_MESSAGE_START opens text message 'm', which is already open"),
        ("R+ Z-z R-", {}, "REASONING_END is about reasoning span 'z', which is not open"),
        ("R+ S-s R-", {}, "STEP_FINISHED is about step 's', which is not open"),
        ("R+ S+s S-s R-", {2: {"subagentRunId": "a"}}, "STEP_FINISHED is about step 's', which is not open"),
        ("T+m T-m", {}, "TEXT_MESSAGE_START comes before RUN_STARTED"),
        ("R+ R+ R-", {}, "RUN_STARTED comes while the run before is still active"),
        ("R+ T+m T=m T-m R-", {2: {"subagentRunId": "a"}}, "TEXT_MESSAGE_CONTENT says subagent 'a'"),
        (
            "R+ T+m C+c C-c T-m R-",
            {1: {"subagentRunId": "a"}, 2: {"subagentRunId": "b", "parentMessageId": "m"}},
            "its message 'm' was opened by subagent 'a'",
        ),
        ("R+ A+a A-a A+a A-a R-", {}, "SUBAGENT_STARTED starts subagent 'a' again"),
    ],
)
def test_what_the_client_refuses_is_said_once_with_what_was_expected(words, changes, message):
    refused = order(seen(words, changes)).refused

    assert len(refused) == 1
    assert message in refused[0].message


def test_many_deltas_of_a_message_that_never_began_are_one_fault():
    assert len(order(seen("R+ T=m T=m T=m T-m R-")).refused) == 1


def test_an_end_after_its_opener_was_refused_is_not_blamed_again():
    assert len(order(seen("R+ C~c C~c C~c R-")).refused) == 1


def test_messages_are_joined_in_the_order_they_were_opened():
    events = seen("R+ T+a T+b T=b T=a T=a T-b R-", {1: {"role": "user"}})

    assert [(m.id, m.role, m.text, m.seq, m.closed) for m in text_messages(events)] == [
        ("a", "user", "xx", 2, False),
        ("b", "assistant", "x", 3, True),
    ]


def test_a_message_opened_again_is_a_message_of_its_own():
    assert [m.text for m in text_messages(seen("R+ T+m T=m T-m T+m T=m T=m T-m R-"))] == ["x", "xx"]


def test_thoughts_are_no_text():
    events = seen("R+ Z+z Q+q Q=q Q-q Z-z R-")

    assert text_messages(events) == ()
    assert [(m.role, m.text) for m in reasoning_messages(events)] == [("reasoning", "x")]


def test_calls_and_results_are_joined_across_chunks():
    events = seen("R+ C+a C+b C=a C-b C-a C~c/g C>a R-")

    assert [(call.id, call.name, call.arguments, call.end_seq) for call in tool_calls(events)] == [
        ("a", "f", "{}", 6),
        ("b", "f", "", 5),
        ("c", "g", "{}", 8),
    ]
    assert [(result.call_id, result.content, result.seq) for result in tool_results(events)] == [("a", "ok", 8)]


def test_a_result_in_parts_is_joined():
    content = [{"type": "text", "text": "4"}, {"type": "text", "text": "2"}]

    assert tool_results(seen("R+ C>a R-", {1: {"content": content}}))[0].content == "42"
