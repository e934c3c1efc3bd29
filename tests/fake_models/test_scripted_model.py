import asyncio
import hashlib
import json
import threading
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_models.chunking import WHOLE
from fake_models.matching import When
from fake_models.messages import Cut, Execution, Stall, Usage, World
from fake_models.overflow import is_overflow
from fake_models.script import FOREVER, CallTurn, ErrorTurn, Script, Turn
from fake_models.scripted_model import ScriptedModel
from fake_models.wire import CODECS

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PATH = "/v1/chat/completions"
TOOL = {"type": "function", "function": {"name": "look", "description": "", "parameters": {"type": "object"}}}


class Bench:
    """A host, its records, and a model between them."""

    def __init__(self, **options):
        self.records = []
        self.calls = 0
        self.told = []
        self.executions = ()
        self.model = ScriptedModel(
            record=lambda source, kind, data: self.records.append((source, kind, data)),
            host=self,
            chunking=WHOLE,
            codecs=CODECS,
            **options,
        )

    def world(self, run, request, side):
        return World(now=NOW, run=run, call=side or "regular", executions=self.executions)

    def side(self, request, headers):
        return headers.get("x-conformance-call")

    def next_call(self):
        self.calls += 1
        return f"m{self.calls}"

    def pause(self, delay_s):
        self.told.append(delay_s)

    def hang(self):
        self.told.append("hang")

    async def ahang(self):
        self.told.append("ahang")

    def open(self, run, *turns, user="hello"):
        self.model.open(run, Script(turns), user)
        return self

    def ask(self, *texts, headers=None, **more):
        messages = [{"role": "user", "content": text} for text in texts or ("hello",)]
        body = {"model": "any", "messages": messages, **more}
        return self.model.exchange("openai_chat", PATH, body, headers or {})

    @property
    def kinds(self):
        return [kind for _, kind, _ in self.records]

    @property
    def last(self):
        return self.records[-1][2]


def bench(*turns, **options):
    return Bench(**options).open("r1", *turns)


def error_message(exchange):
    return exchange.body["error"]["message"]


def test_a_request_is_recorded_before_its_reply_with_all_that_rules_read():
    b = bench(Turn(say="hi"))
    body = {"model": "m", "messages": [{"role": "user", "content": "hü"}]}

    b.model.exchange("openai_chat", PATH, body, {"x-stainless-retry-count": "2", "x-conformance-call": "auxiliary"})

    assert [(source, kind) for source, kind, _ in b.records] == [("model", "request"), ("model", "reply")]
    assert b.records[0][2] == {
        "run": "r1",
        "call": "m1",
        "wire": "openai_chat",
        "path": PATH,
        "retry_header": 2,
        "side": "auxiliary",
        "body": body,
        "bytes": len('{"model":"m","messages":[{"role":"user","content":"hü"}]}'.encode()),
        "secrets": [],
    }


@pytest.mark.parametrize(
    ("wire", "path", "key", "id_"),
    [
        ("openai_chat", PATH, "id", "chatcmpl-m1"),
        ("openai_responses", "/v1/responses", "id", "resp_m1"),
        ("anthropic_messages", "/v1/messages", "id", "msg_m1"),
        ("gemini", "/v1beta/models/any:generateContent", "responseId", "reply_m1"),
    ],
)
def test_the_id_of_a_reply_begins_as_its_provider_has_it_and_is_recorded_as_it_was_sent(wire, path, key, id_):
    b = bench(Turn(say="hi"))
    user = {"role": "user", "content": "hello"}
    bodies = {
        "openai_responses": {"model": "m", "input": "hello"},
        "gemini": {"contents": [{"role": "user", "parts": [{"text": "hello"}]}]},
    }

    exchange = b.model.exchange(wire, path, bodies.get(wire, {"model": "m", "max_tokens": 9, "messages": [user]}), {})

    assert exchange.body[key] == b.last["id"] == id_


def test_a_reply_is_recorded_with_its_turn_parts_stop_usage_and_what_templates_found():
    b = bench(Turn(think="hm", say="at {{ result.look.at }}", calls=(CallTurn("look"),), usage=Usage(3, 4)))
    b.executions = (Execution("x1", "r1", "look", "c1", {"at": "home"}),)

    exchange = b.ask(tools=[TOOL])

    assert b.last == {
        "call": "m1",
        "turn": 0,
        "id": exchange.body["id"],
        "status": 200,
        "parts": [
            {"type": "thinking", "text": "hm"},
            {"type": "text", "text": "at home"},
            {"type": "tool_call", "id": "call_1", "name": "look", "arguments": "{}"},
        ],
        "stop": "tool_calls",
        "usage": {"input": 3, "output": 4},
        "fault": None,
        "resolved": [{"path": "result.look.at", "from": "x1", "value": "home"}],
        "observed": [],
        "altered": [],
    }
    assert exchange.body["choices"][0]["message"]["content"] == "at home"
    assert (exchange.call, exchange.status, exchange.body["model"]) == ("m1", 200, "any")


def test_an_error_reply_is_recorded_with_the_body_as_sent_and_says_nothing_else():
    b = bench(Turn(error=ErrorTurn(429, message="slow down", retry_after_s=0)))

    exchange = b.ask()

    assert exchange.status == 429
    assert {name.lower(): value for name, value in exchange.headers} == {
        "retry-after": "0",
        "retry-after-ms": "1",
    }
    assert error_message(exchange) == "slow down"
    assert (b.last["status"], b.last["id"], b.last["parts"], b.last["stop"]) == (429, None, [], None)
    assert b.last["fault"]["error"]["body"] == exchange.body
    assert (b.last["fault"]["error"]["status"], b.last["fault"]["error"]["retry_after_s"]) == (429, 0)


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (Cut(after_chunks=2, reset=True), {"cut": {"after_chunks": 2, "after_bytes": None, "reset": True}}),
        (Stall(1), {"stall": {"after_chunks": 1}}),
    ],
)
def test_a_break_is_recorded_as_the_fault_and_handed_to_the_shell(broken, fault):
    b = bench(Turn(say="hi", broken=broken, wait_s=2.5))

    exchange = b.ask(stream=True)

    assert b.last["fault"] == fault
    assert (exchange.broken, exchange.wait_s) == (broken, 2.5)
    assert exchange.chunks


def test_records_are_plain_json():
    b = bench(Turn(say="hi", broken=Cut(after_bytes=3)), Turn(error=ErrorTurn(500)))
    for _ in range(3):
        b.ask(headers={"authorization": "Bearer k"})
    b.model.done("m1", 3, "cut")

    assert json.loads(json.dumps(b.records)) == [list(record) for record in b.records]


def test_secrets_are_recorded_as_digests_and_never_as_themselves():
    b = bench(Turn(say="hi"))

    b.ask(headers={"authorization": "Bearer sk-secret", "x-api-key": "key2", "cookie": "c=3", "Accept": "x"})

    digests = [hashlib.sha256(value).hexdigest()[:16] for value in (b"Bearer sk-secret", b"sk-secret", b"key2", b"c=3")]
    assert b.records[0][2]["secrets"] == digests
    assert "secret" not in json.dumps(b.records).replace('"secrets"', "")


@pytest.mark.parametrize(("value", "count"), [("0", 0), ("3", 3), ("", None), ("many", None), ("-1", None)])
def test_a_retry_header_is_a_count_or_nothing(value, count):
    b = bench(Turn(say="hi"))

    b.ask(headers={"x-stainless-retry-count": value})

    assert b.records[0][2]["retry_header"] == count


def test_a_request_that_no_turn_fits_is_refused_by_the_script_and_may_be_sent_again_in_another_way():
    b = bench(Turn(say="hi", when=When(tools="none")))

    exchange = b.ask(tools=[TOOL])

    failed = "when.tools: wanted 'none', but the request offers ['look']"
    assert b.last == {
        "call": "m1",
        "status": 400,
        "by": "script",
        "rule": None,
        "nearest": {"turn": 0, "failed": failed},
        "message": error_message(exchange),
    }
    assert failed in error_message(exchange)
    assert exchange.status == 400
    assert b.ask().status == 200


def test_a_request_after_the_last_turn_is_refused_by_the_script():
    b = bench(Turn(say="hi"))

    assert [b.ask().status, b.ask().status] == [200, 400]
    assert (b.last["by"], b.last["nearest"]) == ("script", {"turn": 0, "failed": "all 1 turns were played"})


def test_a_template_that_cannot_be_resolved_is_a_refusal_by_the_script():
    b = bench(Turn(say="{{ result.look }}"))

    assert b.ask().status == 400
    assert b.last["by"] == "script"
    assert "{{ result.look }}" in b.last["message"]


def test_an_empty_tools_list_is_refused_by_the_provider_with_its_rule_and_takes_no_turn():
    b = bench(Turn(say="hi"))

    exchange = b.ask(tools=[])

    assert exchange.status == 400
    assert (b.last["by"], b.last["rule"], b.last["nearest"]) == ("provider", "tools_empty_array", None)
    assert error_message(exchange) == b.last["message"]
    assert b.model.unplayed("r1") == (0,)


@pytest.mark.parametrize(("mode", "observed"), [("observe", ["tools_empty_array"]), ("off", [])])
def test_a_rule_that_does_not_enforce_lets_the_request_through(mode, observed):
    b = bench(Turn(say="hi"), rule_modes={"tools_empty_array": mode})

    assert b.ask(tools=[]).status == 200
    assert b.last["observed"] == observed


@pytest.mark.parametrize(
    "body", [None, [], [1], "text", 5, True, {}, {"messages": 1}, {"model": "m", "messages": [[]]}]
)
def test_whatever_the_body_holds_is_answered_and_recorded(body):
    b = bench(Turn(say="hi"))

    exchange = b.model.exchange("openai_chat", PATH, body, {})

    assert b.records[0][2]["body"] == body
    assert b.kinds[1] in {"reply", "refused"}
    if not isinstance(body, dict):
        assert (exchange.status, b.last["by"]) == (400, "provider")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["tool", "assistant", "c1"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "tool_calls", "tool_call_id", "id", "function", "name", "type"]), inner
        )
    ),
    max_leaves=12,
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(["model", "messages", "tools", "tool_choice", "stream"], JSON)))
def test_no_shape_of_a_request_makes_the_model_raise(body):
    b = bench(Turn(say="hi"))

    b.model.exchange("openai_chat", PATH, body, {})

    assert b.kinds[0] == "request"
    assert b.kinds[1] in {"reply", "refused"}


def test_the_request_beyond_the_cap_is_refused_by_the_cap():
    b = bench(Turn(say="hi", repeat=FOREVER), cap=2)

    assert [b.ask().status for _ in range(3)] == [200, 200, 400]
    assert b.last["by"] == "cap"
    assert "2" in b.last["message"]


def test_a_run_that_goes_on_for_five_requests_beyond_its_cap_is_overrun_until_it_ends():
    b = bench(cap=2)
    seen = []
    for _ in range(7):
        b.ask()
        seen.append(b.model.overrun)
    b.model.close("r1")

    assert (seen, b.model.overrun) == ([False] * 6 + [True], False)


def test_refused_requests_count_towards_the_cap():
    b = bench(cap=2)

    for _ in range(3):
        b.ask()

    assert [data["by"] for _, kind, data in b.records if kind == "refused"] == ["script", "script", "cap"]


def test_the_cap_is_sixty_requests_for_each_run():
    b = bench(Turn(say="hi", repeat=FOREVER))
    statuses = [b.ask().status for _ in range(61)]
    b.model.close("r1")
    b.open("r2", Turn(say="hi"))

    assert statuses == [200] * 60 + [400]
    assert b.ask().status == 200


def test_a_request_larger_than_the_window_is_refused_in_the_providers_words_for_an_overflow():
    # [{"role":"user","content":"…"}] takes 30 bytes beside the text, so 10 letters make 40 bytes, which are 10 tokens.
    b = bench(Turn(say="hi"), context_window=10)

    refused = b.ask("a" * 11)

    assert (refused.status, b.last["by"]) == (400, "window")
    assert is_overflow(refused.status, refused.body)
    assert b.ask("a" * 10).status == 200


def test_one_open_run_gets_every_request_whatever_it_says():
    b = bench(Turn(say="hi"))

    assert b.ask("something else").status == 200


@pytest.mark.parametrize(
    ("texts", "run"),
    [
        (("first",), "r1"),
        (("second",), "r2"),
        (("first", "second"), "r2"),
        (("second", "first"), "r1"),
        (("first and second",), "r2"),
        (("second and first",), "r1"),
        (("first", "second", "more"), "r2"),
        (("neither",), "r1"),
    ],
)
def test_of_two_open_runs_the_one_whose_user_text_stands_later_gets_the_request_else_the_older(texts, run):
    b = Bench().open("r1", Turn(say="one"), user="first").open("r2", Turn(say="two"), user="second")

    b.ask(*texts)

    assert b.records[0][2]["run"] == run


@pytest.mark.parametrize("user", [None, ""])
def test_a_run_without_a_user_text_gets_what_is_no_other_runs(user):
    b = Bench().open("r1", Turn(say="one"), user=user).open("r2", Turn(say="two"), user="second")

    b.ask("second")
    b.ask("what else")

    assert [data["run"] for _, kind, data in b.records if kind == "request"] == ["r2", "r1"]


def test_a_request_after_the_run_is_late_and_belongs_to_the_run_that_ended_last():
    b = Bench().open("r1", Turn(say="a"), user="first").open("r2", Turn(say="b"), user="second")
    b.model.close("r2")
    b.model.close("r1")

    assert b.ask("second").status == 400
    assert b.records[0][2]["run"] == "r1"
    assert (b.last["by"], b.last["rule"], b.last["nearest"]) == ("late", None, None)


def test_an_auxiliary_request_after_the_run_gets_its_fixed_text():
    b = bench(Turn(say="hi"))
    b.model.close("r1")

    assert b.ask(headers={"x-conformance-call": "auxiliary"}).status == 200
    assert (b.last["turn"], b.last["usage"]) == (None, {"input": 1, "output": 1})


@pytest.mark.parametrize("headers", [{}, {"x-conformance-call": "auxiliary"}])
def test_a_request_before_any_run_is_refused_as_out_of_time(headers):
    b = Bench()

    assert b.ask(headers=headers).status == 400
    assert (b.records[0][2]["run"], b.last["by"]) == (None, "late")


def test_how_an_answer_arrived_is_recorded():
    b = bench(Turn(say="hi"))
    b.model.done("m1", 12, "client")

    assert b.records == [("model", "reply_done", {"call": "m1", "bytes": 12, "by": "client"})]


def test_time_and_silence_are_the_hosts():
    b = bench()
    b.model.pause(2.0)
    b.model.hang()
    asyncio.run(b.model.ahang())

    assert b.told == [2.0, "hang", "ahang"]


def test_unplayed_turns_are_told_per_run_and_after_it_too():
    b = bench(Turn(say="a"), Turn(say="b"), Turn(say="c", optional=True))
    b.ask()
    b.model.close("r1")

    assert b.model.unplayed("r1") == (1,)


def test_threads_that_ask_at_once_are_played_one_turn_each():
    b = bench(*(Turn(say=str(number)) for number in range(40)))
    threads = [threading.Thread(target=lambda: [b.ask() for _ in range(10)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [data["turn"] for _, kind, data in b.records if kind == "reply"] == list(range(40))


@pytest.mark.parametrize(
    ("asks", "told"),
    [
        ({}, {"input": 3, "output": 4}),
        ({"stream": True}, None),
        ({"stream": True, "stream_options": {"include_usage": True}}, {"input": 3, "output": 4}),
    ],
)
def test_usage_that_the_request_did_not_ask_for_was_not_reported(asks, told):
    b = bench(Turn(say="42", usage=Usage(3, 4)))
    b.ask("hello", **asks)
    assert b.last["usage"] == told
