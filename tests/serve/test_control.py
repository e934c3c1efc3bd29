"""The control route: sessions by token, their journals, the next fault, and what is said to whoever asks for what there is not."""

import asyncio
import json
from collections import Counter
from functools import reduce

import httpx2
import pytest
from serve_bench import PLANS, play, standing

from conformance.again import judged_again
from conformance.recording import from_bytes
from conformance.rules import RULES


def told(story):
    return asyncio.run(story)


async def journal(there, token):
    answer = await there.control("GET", f"/{token}/journal")
    return from_bytes(answer.raise_for_status().content)


def test_a_scenario_stands_under_its_id_and_a_persona_under_its_name_with_a_base_url_per_wire():
    async def story():
        async with standing("tide", "echo") as there:
            assert there.line["ready"] is True
            assert set(there.line["sessions"]) == {"tide", "echo"}
            listed = (await there.control("GET")).json()["sessions"]
            assert [(one["token"], one["scenario"], one["persona"]) for one in listed] == [
                ("tide", "tide", None),
                ("echo", None, "echo"),
            ]
            urls = there.line["sessions"]["tide"]
            assert listed[0]["base_urls"] == urls
            root = there.line["control"].removesuffix("/control")
            assert urls["openai_chat"] == f"{root}/s/tide/v1"
            assert await there.said(there.chat("echo"), "Hello?") == "Hello?"

    told(story())


def test_a_session_says_what_the_user_says_and_allows():
    async def story():
        async with standing("tide") as there:
            one = (await there.control("GET", "/tide")).json()
            assert one["system"] == "You know the sea."
            assert one["runs"] == [{"user": "How high is the tide?", "limits": {"max_iters": 10}, "tool_choice": None}]

    told(story())


def test_an_honest_agents_journal_is_a_recording_in_which_no_rule_finds_anything():
    async def story():
        async with standing("tide") as there:
            session = (await there.control("GET", "/tide")).json()
            messages = await play(there, session, PLANS["tide"])
            assert messages[-1]["content"] == "3.2 metres."
            return await journal(there, "tide")

    recording = told(story())
    assert [record.kind for record in recording.records] == [
        "kit/run_start",
        "model/request",
        "model/reply",
        "model/reply_done",
        "tool/start",
        "tool/result",
        "model/request",
        "model/reply",
        "model/reply_done",
        "kit/run_end",
    ]
    assert [record.seq for record in recording.records] == list(range(1, 11))
    (entry,) = judged_again({"journal": recording}, RULES).entries
    assert [result.rule for result in entry.results if result.findings] == []
    assert {"WIRE-1", "HIS-2", "SCRIPT-1"} <= {result.rule for result in entry.results if result.verdict == "pass"}


def test_an_agent_that_drops_a_tool_result_is_found_by_its_journal():
    async def story():
        async with standing("tide") as there:
            url, user = there.chat("tide"), {"role": "user", "content": "How high is the tide?"}
            message = (await there.ask(url, user)).json()["choices"][0]["message"]
            refused = await there.ask(url, user, message)
            assert refused.status_code == 400
            return await journal(there, "tide")

    (entry,) = judged_again({"journal": told(story())}, RULES).entries
    assert {"WIRE-1"} <= {result.rule for result in entry.results if result.verdict == "fail"}


def test_runs_are_told_apart_by_their_user_texts_in_whatever_order_they_come():
    async def story():
        async with standing("two") as there:
            session = (await there.control("GET", "/two")).json()
            second = await play(there, session, PLANS["two"], 1)
            first = await play(there, session, PLANS["two"], 0)
            assert [second[-1]["content"], first[-1]["content"]] == ["Two.", "One."]
            return await journal(there, "two")

    recording = told(story())
    starts = [record.data["run"] for record in recording.records if record.kind == "kit/run_start"]
    assert starts == ["r1", "r2"]
    (entry,) = judged_again({"journal": recording}, RULES).entries
    assert [result.rule for result in entry.results if result.findings] == []


def test_the_conversations_with_a_persona_are_runs_and_a_second_try_is_none():
    async def story():
        async with standing("echo") as there:
            assert await there.said(there.chat("echo"), "one") == "one"
            await there.control("POST", "/echo/fault", {"error": {"status": 500}})
            failed = await there.ask(there.chat("echo"), {"role": "user", "content": "two"})
            assert failed.status_code == 500
            assert await there.said(there.chat("echo"), "two") == "two"
            return await journal(there, "echo")

    recording = told(story())
    starts = [record.data["input"]["messages"] for record in recording.records if record.kind == "kit/run_start"]
    assert [[message["content"] for message in messages] for messages in starts] == [["one"], ["two"]]
    assert recording.header.scenario["runs"] == [{"user": "one"}, {"user": "two"}]
    assert [record.data["run"] for record in recording.records if record.kind == "model/request"] == ["r1", "r2", "r2"]
    (entry,) = judged_again({"journal": recording}, RULES).entries
    assert [result.rule for result in entry.results if result.findings] == []


def test_a_fault_meets_the_next_request_and_the_script_then_goes_on():
    async def story():
        async with standing("two") as there:
            user = {"role": "user", "content": "What is the first?"}
            for body in ({"error": {"status": 429, "retry_after": 0}}, {"empty": "no_parts"}):
                assert (await there.control("POST", "/two/fault", body)).status_code == 200
            answers = [await there.ask(there.chat("two"), user) for _ in range(3)]
            assert [answer.status_code for answer in answers] == [429, 200, 200]
            assert answers[0].headers["retry-after"] == "0"
            words = [answer.json()["choices"][0]["message"]["content"] for answer in answers[1:]]
            assert words[0] in ("", None)
            assert words[1] == "One."
            return await journal(there, "two")

    recording = told(story())
    assert [record.data["turn"] for record in recording.records if record.kind == "model/reply"] == [None, None, 0]


def strictly(line):
    def refuse(word):
        raise ValueError(f"{word} is no JSON")

    return json.loads(line, parse_constant=refuse)


@pytest.mark.parametrize(
    "odd",
    [b"[" * 960 + b"]" * 960, b'{"a":' * 960 + b"1" + b"}" * 960, b"NaN", b"1e999", b'"\\ud83d"'],
    ids=lambda odd: odd[:6],
)
def test_whatever_a_body_holds_the_journal_stays_json_that_can_be_read(odd):
    async def story():
        async with standing("echo", "tide") as there:
            for url, body in (
                (there.chat("echo"), b'{"model":"m","messages":[{"role":"user","content":"?"}],"user":%b}' % odd),
                (f"{there.sessions_url}/echo/fault", b'{"error":{"status":500,"body":{"x":%b}}}' % odd),
                (there.chat("echo"), b'{"model":"m","messages":[{"role":"user","content":"\\ud83d"}]}'),
            ):
                answer = await there.http.post(url, content=body)
                assert answer.status_code in (200, 400, 422, 500)
                answer.content.decode()
            tools = (await there.control("GET", "/tide")).json()["tools_url"]
            ran = await there.http.post(f"{tools}/tide", content=b'{"place":"Hoek","x":%b}' % odd)
            assert ran.status_code in (200, 422)
            ran.content.decode()
            return [(await there.control("GET", f"/{name}/journal")).content for name in ("echo", "tide")]

    for content in told(story()):
        assert from_bytes(content).complete
        assert [strictly(line) for line in content.decode().splitlines()]


@pytest.mark.parametrize("body", [b'{"error":' + b"[" * 960 + b"]" * 960 + b"}", b'{"wait":1e999}', b'{"say":NaN}'])
def test_a_fault_that_is_no_json_is_refused_as_such(body):
    async def story():
        async with standing("echo") as there:
            return await there.http.post(f"{there.sessions_url}/echo/fault", content=body)

    answer = told(story())
    assert answer.status_code == 422
    assert "the body is no JSON" in answer.json()["error"]["message"]


def test_only_what_stands_below_the_control_path_is_controls():
    async def story():
        async with standing("echo") as there:
            control = there.line["control"]
            return [(await there.http.get(url)).json()["error"]["message"] for url in (f"{control}x", control)]

    beside, itself = told(story())
    assert "/control/sessions" not in beside
    assert "/control/sessions" in itself


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"say": "x", "stall": {"after_chunks": 1.0}}, "stall.after_chunks: came 1.0, expected an integer"),
        ({"say": "x", "stall": {"after_chunks": 1e9}}, "stall.after_chunks: came 1000000000.0, expected an integer"),
        ({"error": {"status": 429.0}}, "error.status: came 429.0, expected an integer"),
        ({"error": {"status": 304}}, "error.status: came 304, expected none of 204, 205, 304"),
        ({"error": {"status": 101}}, "error.status: came 101, expected at least 200"),
        ({"say": "x", "usage": {"input": 7.0, "output": 1}}, "usage.input: came 7.0, expected an integer"),
        ({"say": "{{nope}}"}, "say: template '{{nope}}': wanted 'now', 'result.TOOL' or 'call.ID'"),
        ({"say": "{{"}, "say: template '{{': it is never closed"),
        (
            {"call": {"name": "tide", "args": {"x": "{{ result.tidy }}"}}},
            "call.args.x: template '{{ result.tidy }}': the scenario has no tool 'tidy'",
        ),
        ({"say": "x", "quirks": ["ids_repeated", "prompt_blocked"]}, "quirks: no wire has all of"),
        ({"say": "x", "finish": "length"}, "finish: came 'length', which says stop: length"),
        ({"error": {"status": 500, "body": reduce(lambda inner, _: [inner], range(99), 0)}}, "nested deeper than 64"),
        ({"say": "\ud83d"}, "holds half a character"),
    ],
)
def test_a_fault_that_could_not_be_played_is_refused_before_it_is_due(body, said):
    async def story():
        async with standing("tide") as there:
            content = json.dumps(body).encode()
            refused = await there.http.post(f"{there.sessions_url}/tide/fault", content=content)
            answer = await there.ask(there.chat("tide"), {"role": "user", "content": "How high is the tide?"})
            return refused, answer

    refused, answer = told(story())
    assert refused.status_code == 422
    assert said in refused.json()["error"]["message"]
    assert answer.json()["choices"][0]["message"]["tool_calls"]


def test_a_fault_may_quote_what_a_tool_of_the_session_returned():
    async def story():
        async with standing("tide") as there:
            url, user = there.chat("tide"), {"role": "user", "content": "How high is the tide?"}
            for body in ({"say": "{{ result.tide.metres }}!"}, {"say": "x", "quirks": ["no_final_marker"]}):
                assert (await there.control("POST", "/tide/fault", body)).status_code == 200
            early = (await there.ask(url, user)).json()
            gemini = f"{there.line['sessions']['tide']['gemini']}/v1beta/models/m:generateContent"
            asked = {"contents": [{"role": "user", "parts": [{"text": user["content"]}]}]}
            return early, (await there.http.post(gemini, json=asked)).json()

    early, lacking = told(story())
    assert "the turn that was asked for was not played: it cannot be played: template" in early["error"]["message"]
    assert "the turn that was asked for cannot be played: it asks for no_final_marker" in lacking["error"]["message"]


def test_of_many_sessions_ten_are_named():
    async def story():
        async with standing("tide") as there:
            for number in range(24):
                await there.control("POST", "", {"persona": "echo", "token": f"s{number:02}"})
            return (await there.control("GET", "/QQQQQ")).json()["error"]["message"]

    said = told(story())
    assert said.endswith(f"known here: {', '.join(f's{number:02}' for number in range(10))} and 15 more")


@pytest.mark.parametrize("odd", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}])
def test_a_page_from_elsewhere_may_ask_the_model_and_nothing_else(odd):
    async def story():
        async with standing("tide") as there:
            mcp = (await there.control("GET", "/tide")).json()["mcp_url"]
            for method, url in (
                ("GET", there.sessions_url),
                ("POST", f"{there.sessions_url}/tide/reset"),
                ("POST", mcp),
            ):
                answer = await there.http.request(method, url, headers=odd)
                assert answer.status_code == 403
                ((name, value),) = odd.items()
                assert f"came {name} {value!r}" in answer.json()["error"]["message"]
            body = {"model": "m", "messages": [{"role": "user", "content": "How high is the tide?"}]}
            assert (await there.http.post(there.chat("tide"), json=body, headers=odd)).status_code == 200

    told(story())


def test_a_session_that_is_reset_begins_anew_under_the_same_url():
    async def story():
        async with standing("two") as there:
            url, text = there.chat("two"), "What is the first?"
            assert await there.said(url, text) == "One."
            over = await there.ask(url, {"role": "user", "content": text})
            assert over.status_code == 400
            again = (await there.control("POST", "/two/reset")).json()
            assert again["records"] == {"taken": 0, "dropped": 0}
            assert await there.said(url, text) == "One."
            return await journal(there, "two")

    assert Counter(record.kind for record in told(story()).records)["model/request"] == 1


def test_a_session_is_opened_with_a_token_of_its_own_or_a_given_one_and_closed():
    async def story():
        async with standing("tide") as there:
            made = [await there.control("POST", "", {"scenario": "tide"}) for _ in range(2)]
            assert [one.status_code for one in made] == [201, 201]
            tokens = {one.json()["token"] for one in made}
            assert len(tokens) == 2
            flaky = {"persona": "flaky", "seed": 4, "rate": 1, "token": "mine"}
            url = (await there.control("POST", "", flaky)).json()["base_urls"]["openai_chat"]
            assert (await there.ask(f"{url}/chat/completions", {"role": "user", "content": "?"})).status_code in (
                429,
                500,
                503,
            )
            assert (await there.control("DELETE", "/mine")).json()["records"]["taken"] == 3
            assert (await there.ask(f"{url}/chat/completions", {"role": "user", "content": "?"})).status_code == 404
            assert {one["token"] for one in (await there.control("GET")).json()["sessions"]} == {"tide", *tokens}

    told(story())


def test_a_reset_ends_what_hangs():
    async def story():
        async with standing("echo") as there:
            await there.control("POST", "/echo/fault", {"stall": {}})
            hanging = asyncio.create_task(there.ask(there.chat("echo"), {"role": "user", "content": "?"}, stream=True))
            while (await there.control("GET", "/echo")).json()["records"]["taken"] < 2:
                pass
            await there.control("POST", "/echo/reset")
            with pytest.raises(httpx2.TransportError):
                await asyncio.wait_for(hanging, 10)
            assert await there.said(there.chat("echo"), "still here") == "still here"

    told(story())


def test_whoever_is_past_the_cap_is_refused_as_often_as_it_asks():
    async def story():
        async with standing("echo", cap=2) as there:
            user = {"role": "user", "content": "?"}
            return [(await there.ask(there.chat("echo"), user)).status_code for _ in range(12)], await journal(
                there, "echo"
            )

    statuses, recording = told(story())
    assert statuses == [200, 200, *[400] * 10]
    assert recording.records[-1].data["how"] == "cap"


def test_a_persona_has_no_cap_of_its_own():
    async def story():
        async with standing("liar") as there:
            return Counter(
                [(await there.ask(there.chat("liar"), {"role": "user", "content": "?"})).status_code for _ in range(80)]
            )

    assert told(story()) == {200: 80}


def test_a_journal_keeps_the_newest_records_says_how_many_it_dropped_and_is_not_judged():
    async def story():
        async with standing("echo", most_records=7) as there:
            for number in range(5):
                await there.said(there.chat("echo"), f"text {number}")
            answer = await there.control("GET", "/echo/journal")
            return answer.headers["x-dropped-records"], from_bytes(answer.content)

    dropped, recording = told(story())
    assert dropped == "8"
    assert not recording.complete
    assert [record.kind for record in recording.records if record.source == "model"] == [
        "model/reply_done",
        *["model/request", "model/reply", "model/reply_done"] * 2,
    ]


def test_a_session_nobody_asked_has_a_journal_too():
    async def story():
        async with standing("tide") as there:
            return await journal(there, "tide")

    recording = told(story())
    assert (recording.records, recording.complete) == ((), True)
    assert judged_again({"journal": recording}, RULES).entries


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "said"),
    [
        ("GET", "/tidy", None, 404, "no session 'tidy' is open; did you mean 'tide'?"),
        ("GET", "/tidy/journal", None, 404, "no session 'tidy' is open"),
        ("DELETE", "/nobody", None, 404, "no session 'nobody' is open"),
        ("POST", "/nobody/reset", None, 404, "no session 'nobody' is open"),
        ("POST", "/nobody/fault", {"error": {"status": 500}}, 404, "no session 'nobody' is open"),
        ("POST", "", {"scenario": "tide", "token": "tide"}, 409, "session 'tide' is open already"),
        ("POST", "", {"scenario": "tidal"}, 422, "there is no 'tidal' here; did you mean 'tide'?"),
        ("POST", "", {"persona": "loper"}, 422, "did you mean 'looper'?"),
        ("POST", "", {"persona": "echo", "token": "a/b"}, 422, "token: came 'a/b'"),
        ("POST", "", {"persona": "echo", "rate": 2}, 422, "rate: came 2, expected a number from 0 to 1"),
        ("POST", "", {"persona": "echo", "seed": "x"}, 422, "seed: came 'x', expected an integer"),
        ("POST", "", {"scenario": "tide", "seed": 1}, 422, "seed: came 1, but only personas have one"),
        ("POST", "", {"scenario": "tide", "persona": "echo"}, 422, "came both of 'scenario' and 'persona'"),
        ("POST", "", {}, 422, "came neither of 'scenario' and 'persona'"),
        ("POST", "", {"persna": "echo"}, 422, "unknown key 'persna'; did you mean 'persona'?"),
        ("POST", "", ["echo"], 422, "came ['echo'], expected an object"),
        ("POST", "/tide/fault", {"eror": {"status": 500}}, 422, "unknown key 'eror'; did you mean 'error'?"),
        ("POST", "/tide/fault", {"error": {"status": "500"}}, 422, 'error.status: came "500", expected an integer'),
        (
            "POST",
            "/tide/fault",
            {"error": {"status": 500}, "repeat": 2},
            422,
            "repeat: came 2, but a turn that is asked for",
        ),
        ("POST", "/tide/fault", {}, 422, "expected the keys of a turn"),
        ("PUT", "", None, 405, "came PUT /control/sessions"),
        ("GET", "/tide/fault", None, 405, "came GET /control/sessions/tide/fault"),
        ("GET", "/tide/else", None, 404, "expected one of: GET and POST /control/sessions"),
    ],
)
def test_what_cannot_be_done_is_said_in_json(method, path, body, status, said):
    async def story():
        async with standing("tide") as there:
            answer = await there.control(method, path, body)
            assert answer.status_code == status
            assert said in answer.json()["error"]["message"]

    told(story())


def test_a_body_that_is_no_json_is_shown():
    async def story():
        async with standing("tide") as there:
            answer = await there.http.post(there.sessions_url, content=b"persona=echo")
            assert answer.status_code == 422
            assert answer.json()["error"]["message"] == "the body is no JSON: 'persona=echo'; expected an object"

    told(story())
