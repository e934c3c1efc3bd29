"""The fixtures: an agent played by a test of one's own, and a fake model for an agent that needs no adapter."""

import pytest
from loop_agents import TWO_CALLS

#: A client of a provider, reduced to a function: what a team's own agent is made of.
CLIENT = """
import httpx2

USER = {"role": "user", "content": "hi"}
CALLS = {"id": "call_1", "type": "function", "function": {"name": "tide", "arguments": "{}"}}


def ask(model, *messages, transport=None, tools=("tide",)):
    url = "http://no.socket/v1" if transport else model.base_url
    offered = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in tools]
    body = {"model": model.model_name, "messages": [USER, *messages]} | ({"tools": offered} if offered else {})
    headers = {"authorization": f"Bearer {model.api_key}"}
    with httpx2.Client(base_url=url, headers=headers, transport=transport) as client:
        return client.post("/chat/completions", json=body)
"""


@pytest.fixture
def project(project):
    project.makepyfile(client=CLIENT)
    return project


def test_a_run_is_a_value_to_assert_on(project):
    project.makepyfile(
        """
        from keeps import AGENT

        def test_value(conformance_run):
            run = conformance_run("two-calls.yaml", agent=AGENT)
            assert (run.agent, run.scenario, run.cell, run.verdict) == ("loop", "two-calls", "blocking", "pass")
            assert run.findings == ()
            assert run.explained == "two-calls [blocking] of loop passes"
            assert run.text.splitlines()[1].startswith("no terminal event · answered · 2 model calls (2 regular)")
            assert [record.kind for record in run.recording.records][0] == "kit/run_start"
        """
    )
    project.runpytest().assert_outcomes(passed=1)


def test_the_explanation_is_the_message_of_the_failed_assertion(project):
    project.makepyfile(
        """
        def test_value(conformance_run):
            run = conformance_run("two-calls.yaml", agent="python:loses:AGENT")
            assert "HIS-1" in {found.rule for found in run.findings}
            assert run.verdict == "pass", run.explained
        """
    )
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E * HIS-1: two-calls ?blocking? of loop fails", "E *fail HIS-1 MUST: *"])


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ('"empty-once"', "empty-once"),
        ('"two-calls.yaml"', "two-calls"),
        ('Path("two-calls.yaml").absolute()', "two-calls"),
        ('{"id": "own", "runs": [{"user": "hi", "model": [{"answer": "Hi."}]}]}', "own"),
    ],
)
def test_a_scenario_is_an_id_a_path_or_a_dict(project, given, name):
    project.makepyfile(
        f"""
        from pathlib import Path

        def test_given(conformance_run):
            assert conformance_run({given}, agent="reference", stream=True).scenario == {name!r}
        """
    )
    project.runpytest().assert_outcomes(passed=1)


def test_a_path_is_looked_for_beside_the_test_first(project):
    below = project.mkdir("below")
    (below / "beside.yaml").write_text(TWO_CALLS.replace("id: two-calls", "id: beside"), "utf-8")
    (below / "test_below.py").write_text(
        "def test_it(conformance_run): assert conformance_run('beside.yaml', agent='reference').verdict == 'pass'",
        "utf-8",
    )
    project.runpytest().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ('conformance_run("empty-onse", agent="reference")', "LoadError: *did you mean 'empty-once'*"),
        ('conformance_run({"id": "x", "runs": []}, agent="reference")', "LoadError: runs: *"),
        ('conformance_run("empty-once", agent="smoke:x")', "SpecError: *unknown kind 'smoke'*"),
        ('conformance_run("empty-once")', "TypeError: conformance_run needs agent=*"),
        (
            'conformance_run("empty-once", agent="python:keeps:AGENT", stream=True)',
            "AgentError: *no capability 'streaming'*",
        ),
    ],
)
def test_what_cannot_be_played_is_an_error_of_the_tests_own_line(project, call, says):
    project.makepyfile(f"def test_call(conformance_run):\n    {call}")
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"E *{says}"])
    assert "playing.py:" not in result.stdout.str()


def test_the_agent_of_the_command_line_is_that_of_a_test_that_names_none(project):
    project.makepyfile('def test_it(conformance_run): assert conformance_run("empty-once").agent == "reference"')
    words = ("--conformance-agent", "reference", "--conformance-scenarios", "answer-dot", "-k", "test_it")
    project.runpytest(*words).assert_outcomes(passed=1, deselected=2)


def test_a_test_that_runs_an_event_loop_can_play_too(project):
    project.makepyfile(
        """
        import asyncio

        def test_it(conformance_run):
            async def inside():
                return conformance_run("answer-dot", agent="reference")

            assert asyncio.run(inside()).verdict == "pass"
        """
    )
    project.runpytest().assert_outcomes(passed=1)


@pytest.mark.parametrize("way", ["None", "model.transport()"])
def test_a_fake_model_answers_with_and_without_a_socket_and_tells_what_came(project, way):
    project.makepyfile(
        f"""
        from client import CALLS, USER, ask

        def test_it(fake_model):
            model = fake_model([{{"call": "tide"}}, {{"answer": "Low."}}], tools={{"tide": {{"returns": "low"}}}})
            first = ask(model, transport={way}).json()["choices"][0]["message"]
            assert first["tool_calls"][0]["function"] == {{"name": "tide", "arguments": "{{}}"}}
            low = model.call_tool("tide", {{}}, "call_1")
            result = {{"role": "tool", "tool_call_id": first["tool_calls"][0]["id"], "content": low}}
            second = ask(model, first, result, transport={way}).json()["choices"][0]
            assert second["message"]["content"] == "Low."
            assert [len(body["messages"]) for body in model.requests] == [1, 3]
            assert [reply["status"] for reply in model.replies] == [200, 200]
            assert [(run.name, run.arguments, run.result) for run in model.tools_run] == [("tide", {{}}, "low")]
        """
    )
    project.runpytest().assert_outcomes(passed=1)


def test_an_sdk_of_a_provider_runs_on_both(project):
    project.makepyfile(
        """
        import asyncio
        import httpx2
        import openai

        TURNS = [{"answer": "A."}]
        ASKED = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}

        def test_served(fake_model):
            model = fake_model(TURNS)
            with openai.OpenAI(base_url=model.base_url, api_key=model.api_key) as client:
                assert client.chat.completions.create(**ASKED).choices[0].message.content == "A."

        def test_without_a_socket(fake_model):
            model = fake_model(TURNS)

            async def asked():
                http = httpx2.AsyncClient(transport=model.async_transport())
                async with openai.AsyncOpenAI(base_url="http://x/v1", api_key="k", http_client=http) as client:
                    return await client.chat.completions.create(**ASKED)

            assert asyncio.run(asked()).choices[0].message.content == "A."
        """
    )
    project.runpytest().assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("turns", "requests", "says"),
    [
        (
            '{"call": "tide"}, {"answer": "Low."}',
            "ask(model, transport=t)",
            "turn 1 of the script was never asked for: *Low.*",
        ),
        (
            '{"answer": "Low."}',
            "ask(model, transport=t); ask(model, transport=t)",
            "request 2 was refused with 400 (by script*",
        ),
        (
            '{"answer": "Low."}, {"answer": "x", "optional": True}',
            "ask(model, transport=t); ask(model, {'role': 'assistant', 'tool_calls': [CALLS]}, transport=t)",
            "request 2 was refused with 400 (by provider, rule *",
        ),
    ],
)
def test_a_script_that_does_not_fit_fails_the_test_at_its_end(project, turns, requests, says):
    def outcome(check):
        project.makepyfile(
            f"""
            from client import CALLS, ask

            def test_it(fake_model):
                model = fake_model([{turns}], check={check})
                t = model.transport()
                {requests}
            """
        )
        return project.runpytest()

    result = outcome(check=True)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines([f"fake_model: {says}"])
    assert "hooks.py:" not in result.stdout.str()
    outcome(check=False).assert_outcomes(passed=1)


def test_a_test_that_failed_itself_is_not_blamed_for_turns_left_over(project):
    project.makepyfile('def test_it(fake_model):\n    fake_model([{"answer": "x"}])\n    assert 1 == 2')
    project.runpytest().assert_outcomes(failed=1)


def test_what_waits_on_a_model_comes_back_when_the_test_ends(project):
    project.makepyfile(
        """
        import threading

        import httpx2
        import pytest

        WAITING = []

        def test_a_client_gives_up(fake_model):
            model = fake_model([{"stall": {"after_chunks": 0}}])
            body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
            with pytest.raises(httpx2.ReadTimeout):
                httpx2.post(f"{model.base_url}/chat/completions", json=body, timeout=0.2)

        def test_a_thread_hangs(fake_model):
            model = fake_model([], tools={"tide": {"hangs": True}})
            WAITING.append(threading.Thread(target=hang, args=(model,)))
            WAITING[0].start()

        def hang(model):
            with pytest.raises(Exception, match="never came back"):
                model.call_tool("tide", {})

        def test_and_is_let_go():
            WAITING[0].join()
        """
    )
    project.runpytest().assert_outcomes(passed=3)


@pytest.mark.parametrize(("turns", "says"), [("[{'anwser': 'x'}]", "did you mean 'answer'"), ("['answer']", "runs")])
def test_what_is_no_turn_is_told_where_it_stands(project, turns, says):
    project.makepyfile(f"def test_it(fake_model):\n    fake_model({turns})")
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"E *LoadError: *{says}*"])
