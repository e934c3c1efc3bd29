"""STR over tiny hand-told recordings: what may differ from cell to cell, how deltas join, when they go out."""

import pytest
from story import Story

from conformance.judge import Verdict, judge, judge_suite
from conformance.reading.joined import view
from conformance.rule import SHOULD, Finding
from conformance.rules.streaming import RULES, cells_are_equal, chunks_do_not_matter, deltas_go_out
from conformance.rules.streaming_joined import each_call_came_out
from conformance.rules.streaming_plays import FAULTED

BLOCKING = {"stream": False, "chunking": "whole"}
WHOLE = {"stream": True, "chunking": "whole"}
TOKEN = {"stream": True, "chunking": "token"}


def told(cell=BLOCKING, *, wire="openai_chat", scenario=None, **story):
    s = Story(scenario=scenario, capabilities={"streaming": True}, **story)
    s.header |= {"cell": cell, "wire": wire}
    if cell["stream"]:
        s.records.clear()
        s.runs = 0
        s.history.clear()
        s.begin("What is it?", stream=True)
    return s


def played(
    cell=BLOCKING,
    *,
    system=None,
    extra=None,
    tools=("look",),
    arguments=None,
    ran=None,
    result=42,
    fault=None,
    text="42",
    kind="answered",
    first="",
    beside=None,
):
    """An agent that looks and answers; every argument changes what it asks, runs or says, or what its model does."""
    s = told(cell)
    s.event("RUN_STARTED")
    if system is not None:
        s.history.insert(0, {"role": "system", "content": system})
    if first:
        s.history[-1] = {"role": "user", "content": first}
    s.ask(tools=list(tools), extra=extra)
    if fault == 503:
        s.fail(503)
        s.ask(again=True)
    s.reply(
        **({} if beside is None else {"text": beside}),
        calls=[("look", arguments or {}, "c1")],
        fault=fault if isinstance(fault, dict) else None,
        by="cut" if isinstance(fault, dict) and "cut" in fault else "kit",
        keep=not (isinstance(fault, dict) and "cut" in fault),
    )
    for one in [arguments or {}] if ran is None else ran:
        s.execute("look", one, "c1", result)
    s.ask(tools=list(tools), extra=extra)
    s.reply(text="42")
    s.text(text)
    s.event("RUN_FINISHED" if kind == "answered" else "RUN_ERROR")
    s.outcome(kind, text=text)
    return s


def judged(check, *stories):
    """By place: the findings, `ok` for what was found right."""
    found = {}
    for place, one in check([view(s.recording()) for s in stories]):
        found.setdefault(place, []).append(one if isinstance(one, Finding) else "ok")
    return found


def finding(check, *stories, at=1):
    (one,) = [one for one in judged(check, *stories)[at] if isinstance(one, Finding)]
    return one


def test_two_cells_that_go_the_same_way_are_equal_and_the_first_is_held_against_nothing():
    assert judged(cells_are_equal, played(), played(WHOLE)) == {1: ["ok"]}


def test_a_cell_alone_shows_nothing():
    assert judged(cells_are_equal, played(WHOLE)) == {}
    assert judged(cells_are_equal, played(), played()) == {}, "repeats of one cell"


def test_plays_of_different_scenarios_are_not_held_against_each_other():
    other = told(WHOLE, scenario={"id": "another"})
    assert judged(cells_are_equal, played(), other) == {}


def test_stream_keys_are_no_difference():
    keys = {"stream": True, "stream_options": {"include_usage": True}}
    assert judged(cells_are_equal, played(), played(WHOLE, extra=keys)) == {1: ["ok"]}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"system": "It is 2026-11-30 10:00:01, 7 left."}, {"system": "It is 2026-11-30 10:00:02, 8 left."}),
        ({"first": "run 0b1f6a34-58a5-4e1f-9a3e-0c1d2e3f4a5b"}, {"first": "run 11111111-58a5-4e1f-9a3e-0c1d2e3f4a5b"}),
        ({"extra": {"user": "a", "metadata": {"trace": 1}}}, {"extra": {"user": "b", "metadata": {"trace": 2}}}),
    ],
    ids=["a clock in the system text", "an id thrown for the play", "keys that name the call"],
)
def test_what_passes_is_no_difference(one, other):
    assert judged(cells_are_equal, played(**one), played(WHOLE, **other)) == {1: ["ok"]}


@pytest.mark.parametrize(
    ("differs", "says"),
    [
        ({"first": "Another?"}, 'm1 is another request: messages[0], user is "Another?", expected "What is it?"'),
        ({"system": "Be brief."}, "m1 is another request: it has messages[0], system"),
        ({"tools": ()}, "m1 is another request: it has tool_choice null where the other has tool look"),
        ({"extra": {"temperature": 1}}, "m1 is another request: it has temperature 1, the other none"),
        ({"extra": {"tool_choice": "none"}}, 'm1 is another request: tool_choice is "none", expected null'),
        ({"beside": "I look."}, 'm2 is another request: it has messages[1], assistant "I look."'),
        ({"result": 41}, 'm2 is another request: the result of that call of look is "41", expected "42"'),
        ({"arguments": {"at": 1}}, 'm2 is another request: messages[1], call of look is {"at": 1}, expected {}'),
        ({"kind": "error"}, "run r1 ends as error by RUN_ERROR, expected answered by RUN_FINISHED"),
    ],
)
def test_the_first_thing_that_differs_is_named(differs, says):
    one = finding(cells_are_equal, played(), played(WHOLE, **differs))
    assert one.message.startswith(says)
    assert one.message.endswith(", as in blocking; the first cell that differs is streaming/whole")
    assert one.level is None


def test_what_runs_is_compared_whatever_the_order():
    more = [{"n": 1}, {"n": 2}]
    assert judged(cells_are_equal, played(ran=more, result="x"), played(WHOLE, ran=more[::-1], result="x")) == {
        1: ["ok"]
    }
    one = finding(chunks_do_not_matter, played(ran=more), played(WHOLE, ran=[{"n": 1}]))
    assert one.message.startswith('run r1 runs no further tool, expected look {"n": 2}')


def test_a_request_more_has_no_like():
    longer = played(WHOLE)
    longer.ask()
    one = finding(cells_are_equal, played(), longer)
    assert one.message.startswith("run r1 makes 3 requests, expected 2; m3 has no like")


def test_every_cell_that_differs_has_its_finding_and_each_names_the_first():
    both = judged(cells_are_equal, played(), played(WHOLE, first="A?"), played(TOKEN, first="A?"))
    assert [one.message for (one,) in both.values()] == [both[1][0].message] * 2
    assert both[1][0].message.endswith("the first cell that differs is streaming/whole")


def test_another_text_alone_is_no_other_request_execution_or_outcome():
    assert judged(cells_are_equal, played(), played(TOKEN, text="4")) == {1: ["ok"]}


def test_an_agent_that_does_one_thing_and_another_in_one_cell_is_not_judged_by_cells():
    unsteady = [played(), played(first="A?"), played(WHOLE, first="A?")]
    assert judged(cells_are_equal, *unsteady) == {2: ["ok"]}


def test_a_run_that_never_ended_is_judged_elsewhere():
    hung = played(WHOLE, first="A?")
    hung.end("hung")
    assert judged(cells_are_equal, played(), hung) == {}


def test_runs_beside_each_other_may_go_another_way_each_time():
    runs = [{"user": "What is it?", "model": [{"answer": "42"}], "start": start} for start in ("after", "with")]
    one, other = played(), played(WHOLE, first="A?")
    for story in (one, other):
        story.plan["runs"] = runs
    assert judged(cells_are_equal, one, other) == {}


@pytest.mark.parametrize("several", [True, False], ids=["one after the other", "all the same"])
def test_results_that_depend_on_which_call_comes_first_are_a_race(several):
    returned = [{"returns": 1}, {"returns": 2}] if several else [{"returns": 1}]
    looks = {"look": {"description": "Looks.", "parameters": {"type": "object"}, "sequence": returned}}

    def looked_twice(cell, first, second):
        s = told(cell)
        s.plan["tools"] = looks
        s.event("RUN_STARTED")
        s.ask()
        s.reply(calls=[("look", {}, "c1"), ("look", {}, "c2")])
        for one in ("c1", "c2"):
            s.execute("look", {}, one)
        for number, value in ((1, first), (2, second)):
            s.record("tool", "result", exec=f"x{number}", result=value)
            s.answer(f"c{number}", str(value))
        s.ask()
        s.reply(text="42")
        s.text("42")
        s.event("RUN_FINISHED")
        s.outcome("answered", text="42")
        return s

    found = judged(cells_are_equal, looked_twice(BLOCKING, 1, 2), looked_twice(WHOLE, 2, 1))
    assert (found == {}) is several


@pytest.mark.parametrize("turned", [True, False], ids=["in another order", "in the order said"])
def test_calls_that_did_not_begin_in_the_order_said_have_raced_though_none_overlapped(turned):
    returned = [{"returns": 1}, {"returns": 2}]
    looks = {"look": {"description": "Looks.", "parameters": {"type": "object"}, "sequence": returned}}

    def looked_twice(cell, *order, first):
        s = told(cell)
        s.plan["tools"] = looks
        s.event("RUN_STARTED")
        s.ask()
        s.reply(calls=[("look", {}, "c1"), ("look", {}, "c2")])
        for value, one in enumerate(order, start=1):
            s.execute("look", {}, one, value, keep=False)
        s.answer("c1", str(first))
        s.answer("c2", str(3 - first))
        s.ask()
        s.reply(text="42")
        s.text("42")
        s.event("RUN_FINISHED")
        s.outcome("answered", text="42")
        return s

    order = ("c2", "c1") if turned else ("c1", "c2")
    found = judged(cells_are_equal, looked_twice(BLOCKING, "c1", "c2", first=1), looked_twice(WHOLE, *order, first=2))
    assert (found == {}) is turned


@pytest.mark.parametrize(
    ("declared", "began", "raced"),
    [("concurrent", ("c1",), True), ("sequential", ("c1",), False), ("concurrent", (), False)],
    ids=["side by side", "one after the other", "before any began"],
)
def test_which_calls_side_by_side_began_before_one_of_them_raised_the_run_is_a_race(declared, began, raced):
    def looked(cell, *began):
        s = told(cell, dialect={"parallel_tools": declared})
        s.event("RUN_STARTED")
        s.ask()
        s.reply(calls=[("look", {"at": 1}, "c1"), ("look", {"at": 2}, "c2")])
        for one in began:
            s.execute("look", {"at": int(one[1])}, one, 42)
        s.event("RUN_ERROR")
        s.raises("TypeError", "no id")
        s.end("raised")
        return s

    found = judged(cells_are_equal, looked(BLOCKING, "c1", "c2"), looked(WHOLE, *began))
    assert (found == {}) is raced or not began


def test_after_a_refused_request_a_difference_is_a_warning():
    assert judged(cells_are_equal, played(fault=503), played(WHOLE, fault=503)) == {1: ["ok"]}
    one = finding(cells_are_equal, played(fault=503), played(WHOLE, fault=503, kind="error"))
    assert one.level == SHOULD
    assert "after a fault of the model (error)" in one.message


def test_before_a_fault_a_difference_is_none_of_its():
    one = finding(cells_are_equal, played(fault=503), played(WHOLE, fault=503, first="A?"))
    assert one.level is None
    assert "fault" not in one.message


@pytest.mark.parametrize(
    "fault", [{"cut": {"after_chunks": 2, "after_bytes": None, "reset": True}}, {"quirks": ["index_zero"]}]
)
def test_what_follows_a_broken_or_an_odd_stream_may_differ(fault):
    assert judged(cells_are_equal, played(), played(WHOLE, fault=fault, kind="error")) == {}


def test_every_fault_has_what_must_be_equal_in_spite_of_it():
    assert {name: sorted(aspects) for name, aspects in FAULTED.items()} == {
        "error": ["executions", "outcome", "requests"],
        "no_reply": ["executions", "outcome"],
        "broken": [],
        "quirk": [],
        "altered": [],
    }


def over_anthropic(*, text="What is it?", ran=None):
    """The same play on a wire that merges messages and spells everything otherwise."""
    s = told(wire="anthropic_messages")
    s.event("RUN_STARTED")
    tools = [{"name": "look", "description": "", "input_schema": {"type": "object"}}]
    first = {"role": "user", "content": [{"type": "text", "text": text}]}
    body = {"model": "other", "max_tokens": 9, "tools": tools, "messages": [first]}
    ask(s, body)
    s.reply(calls=[("look", {}, "toolu_1")])
    s.execute("look", ran or {}, "toolu_1", 42)
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "42"}]}
    ask(s, {**body, "messages": [first, use, result]})
    s.reply(text="42")
    s.text("42")
    s.event("RUN_FINISHED")
    s.outcome("answered", text="42")
    return s


def ask(s, body):
    s.calls += 1
    s.record(
        "model",
        "request",
        run=s.run,
        call=f"m{s.calls}",
        wire="anthropic_messages",
        path="/v1/messages",
        retry_header=None,
        side=None,
        body=body,
        bytes=1,
        secrets=[],
    )


def test_another_wire_may_spell_a_request_as_it_must():
    assert judged(cells_are_equal, played(), over_anthropic()) == {1: ["ok"]}


def test_on_another_wire_another_request_is_a_warning_and_another_execution_is_a_failure():
    asked = finding(cells_are_equal, played(), over_anthropic(text="Another?"))
    assert (asked.level, "user text" in asked.message) == (SHOULD, True)
    ran = finding(cells_are_equal, played(), over_anthropic(ran={"at": 2}))
    assert ran.level is None
    assert 'runs look {"at": 2}, expected look {}, as in blocking' in ran.message
    assert ran.message.endswith("the first cell that differs is anthropic_messages/blocking")


def test_what_a_wire_could_not_say_is_another_reply():
    altered = over_anthropic(ran={"at": 2})
    reply = next(record for record in altered.records if record.kind == "model/reply")
    reply.data["altered"] = ["parts"]
    assert judged(cells_are_equal, played(), altered) == {}


def test_the_text_is_the_same_however_it_is_cut():
    assert judged(chunks_do_not_matter, played(), played(TOKEN)) == {1: ["ok"]}
    one = finding(chunks_do_not_matter, played(text="Ærø is 42."), played(TOKEN, text="rø is 42."))
    assert one.message.startswith('run r1: the text differs from character 1 on: "rø is 42.", expected "Ærø is 42."')


def test_blocking_cells_are_not_cut():
    assert judged(chunks_do_not_matter, played(), played(BLOCKING | {"chunking": "token"}, text="4")) == {}


def shown(cell, arguments):
    s = told(cell)
    s.event("RUN_STARTED")
    s.ask()
    s.reply(calls=[("look", {"at": "Ærø"}, "c1")])
    s.call_events("look", arguments, "c1")
    s.event("RUN_FINISHED")
    s.outcome("answered", text="42")
    return s


def test_shown_arguments_are_the_same_however_they_are_cut():
    assert judged(chunks_do_not_matter, shown(BLOCKING, {"at": "Ærø"}), shown(TOKEN, {"at": "Ærø"})) == {1: ["ok"]}
    one = finding(chunks_do_not_matter, shown(BLOCKING, {"at": "Ærø"}), shown(TOKEN, {"at": "r"}))
    assert "run r1 shows look" in one.message


def joined(*ran, quirk="ids_repeated", carried=2, stream=True, dialect=None, capabilities=None):
    """A reply of two calls, streamed oddly, and what ran for it."""
    s = told(WHOLE if stream else BLOCKING, dialect=dialect)
    s.ask()
    s.reply(calls=[("look", {"n": 1}, "c1"), ("look", {"n": 2}, "c2")], fault={"quirks": [quirk]})
    for number, arguments in enumerate(ran, 1):
        s.execute("look", arguments, f"c{number}", 42)
    message = next(m for m in s.history if m.get("tool_calls"))
    message["tool_calls"] = (message["tool_calls"] * 2)[:carried]
    s.ask()
    s.reply(text="42")
    return s


def of_str_3(story):
    return [one if isinstance(one, Finding) else "ok" for one in each_call_came_out(view(story.recording()))]


ONE, TWO = {"n": 1}, {"n": 2}


def test_calls_that_run_as_they_were_spelled_were_joined_rightly():
    assert of_str_3(joined(ONE, TWO)) == ["ok"]
    assert of_str_3(joined(TWO, ONE, quirk="index_zero")) == ["ok"]


@pytest.mark.parametrize(
    ("ran", "more", "says"),
    [
        ((ONE,), {}, "call 'c2' (look) of m1 with {\"n\": 2} did not run"),
        ((ONE, ONE), {}, 'x2 runs look {"n": 1}, but the model spelled look {"n": 1}, look {"n": 2}'),
        ((ONE, TWO), {"carried": 3}, "m2 carries 3 calls of m1, and the model made 2"),
        ((ONE,), {"quirk": "calls_interleaved"}, "the deltas of several calls come by turns"),
        ((ONE,), {"quirk": "ids_empty"}, "every further delta has an empty id"),
        ((ONE,), {"quirk": "index_zero"}, "a new id opens a new call"),
    ],
)
def test_calls_that_were_torn_or_joined_are_found(ran, more, says):
    (one,) = of_str_3(joined(*ran, **more))
    assert says in one.message


@pytest.mark.parametrize("more", [{"stream": False}, {"quirk": "usage_null"}])
def test_where_nothing_had_to_be_joined_there_is_nothing_to_judge(more):
    assert of_str_3(joined(ONE, **more)) == []


def test_calls_of_the_last_round_that_the_dialect_skips_say_nothing():
    s = told(WHOLE, dialect={"last_round_tools": "skip"}, max_iters=1)
    s.records[0].data["limits"]["max_iters"] = 1
    s.ask()
    s.reply(calls=[("look", ONE, "c1")], fault={"quirks": ["ids_repeated"]})
    assert of_str_3(s) == []


def streamed(*, while_it_comes, cell=WHOLE, text="42", apart=False, events=True, fault=None):
    s = told(cell)
    s.header["apart"] = apart
    s.ask()
    s.reply(text=text, done=False, fault=fault)
    if while_it_comes:
        s.text("42")
    s.record("model", "reply_done", call="m1", bytes=10, by="kit")
    if events and not while_it_comes:
        s.text("42")
    return s


def of_str_4(story):
    return [one if isinstance(one, Finding) else "ok" for one in deltas_go_out(view(story.recording()))]


def test_an_event_while_the_reply_comes_is_what_is_asked_for():
    assert of_str_4(streamed(while_it_comes=True)) == ["ok"]


@pytest.mark.parametrize(
    "more",
    [{}, {"apart": True}, {"apart": True, "fault": {"quirks": ["ids_empty"]}}],
    ids=["in this process", "in another", "of a strange server"],
)
def test_a_text_that_is_shown_when_it_was_complete_is_held_back(more):
    (one,) = of_str_4(streamed(while_it_comes=False, **more))
    assert "the text of m1 is shown only when its reply was complete (record 4)" in one.message


@pytest.mark.parametrize(
    "story",
    [
        {"cell": BLOCKING},
        {"text": " "},
        {"apart": True, "fault": {"cut": {"after_chunks": None, "after_bytes": 10_000, "reset": False}}},
        {"events": False},
    ],
    ids=[
        "not streamed",
        "nothing said",
        "another process, whose reply waited for nothing",
        "shown nowhere, which is RUN-8's",
    ],
)
def test_a_late_event_says_nothing_where(story):
    assert of_str_4(streamed(while_it_comes=False, **story)) == []


def test_of_a_text_that_is_never_shown_nothing_is_late_though_its_call_and_the_next_text_are_shown():
    s = told(WHOLE)
    s.ask()
    s.reply(text="I look.", calls=[("look", {}, "c1")])
    s.call_events("look", {}, "c1", 42)
    s.execute("look", {}, "c1", 42)
    s.ask()
    s.reply(text="42", done=False)
    s.text("42")
    s.record("model", "reply_done", call="m2", bytes=10, by="kit")
    assert of_str_4(s) == ["ok"]


def test_a_pass_needs_a_second_cell_and_the_capability():
    alone = [judge(played(WHOLE).recording(), RULES)]
    assert judge_suite(alone, RULES)[0].of("STR-1").verdict == Verdict.NOT_APPLICABLE
    both = judge_suite([judge(one.recording(), RULES) for one in (played(), played(WHOLE))], RULES)
    assert [one.of("STR-1").verdict for one in both] == [Verdict.NOT_APPLICABLE, Verdict.PASS]
    assert both[1].of("STR-2").judged == 1
    unable = played()
    unable.header["capabilities"] = {}
    assert judge(unable.recording(), RULES).of("STR-1").reason == "capability"
