"""An `agui:` spec is read into an endpoint, a run into what is posted there."""

import json

import pytest
from ag_ui.core import RunAgentInput

from conformance.adapters.endpoint import endpoint, posted, refusal
from conformance.agent_side import RunInput
from conformance.errors import SpecError

TOOL = {"name": "get_time", "description": "Tells the time.", "parameters": {"type": "object"}}
RUN = RunInput(
    run="r1",
    session="s1-ab",
    input={
        "threadId": "s1-ab",
        "runId": "r1",
        "state": {},
        "messages": [{"id": "u", "role": "user", "content": "现在几点\ud800"}],
        "tools": [TOOL],
        "context": [],
        "forwardedProps": {},
    },
    model={"wire": "openai_chat", "name": "m", "base_url": "http://127.0.0.1:1/s/t/v1", "api_key": "k"},
    tools_url="http://127.0.0.1:1/s/t/tools",
    mcp_url="http://127.0.0.1:1/s/t/mcp",
    limits={"max_iters": 1},
    clock="2026-01-01T00:00:00+00:00",
)


def test_a_url_is_all_that_is_needed():
    place = endpoint("http://127.0.0.1:8000/agent")
    assert (place.url, place.model_port, place.loopback) == ("http://127.0.0.1:8000/agent", 0, True)
    info = place.info
    assert (info.name, info.language, info.channels) == ("127.0.0.1:8000/agent", "unknown", ("M", "T", "E"))
    assert (dict(info.dialect), dict(info.capabilities)) == ({}, {})


def test_words_behind_the_hash_declare_capabilities_and_fix_the_models_port():
    place = endpoint("https://host.example/a?key=1#streaming, sessions,model_port=9000")
    assert (place.url, place.model_port, place.loopback) == ("https://host.example/a?key=1", 9000, False)
    assert place.info.capabilities == {"streaming": True, "sessions": True}
    assert place.info.name == "host.example/a"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.2", "[::1]", "agent.localhost"])
def test_a_host_of_this_machine_is_known_as_one(host):
    assert endpoint(f"http://{host}:8000").loopback


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "expected the URL"),
        ("localhost:8000", "expected the URL"),
        ("ftp://host/a", "expected the URL"),
        ("http://", "expected the URL"),
        ("http://host:99999/", "expected the URL"),
        ("http://host:0/", "expected the URL"),
        ("http://[::1/", "expected the URL"),
        ("http://host/#streming", "did you mean 'streaming'"),
        ("http://host/#cancel", "cannot be declared: a run over AG-UI is cancelled by closing its connection"),
        ("http://host/#model_port=x", "model_port is 'x', expected a port"),
        ("http://host/#model_port=0", "model_port is '0', expected a port"),
        ("http://host/#model_port=70000", "model_port is '70000', expected a port"),
    ],
)
def test_what_names_no_endpoint_is_told_what_one_looks_like(spec, message):
    with pytest.raises(SpecError, match=message):
        endpoint(spec)


def test_a_password_is_refused_and_stands_in_no_message():
    with pytest.raises(SpecError, match="holds a name or password") as caught:
        endpoint("https://me:hunter2@host/agent")
    assert "hunter2" not in str(caught.value)


def test_the_tools_are_told_as_the_agents_own_and_none_as_the_clients():
    said = json.loads(posted(RUN))
    assert said["tools"] == []
    assert said["forwardedProps"]["conformance"] == {
        "model": RUN.model,
        "tools_url": RUN.tools_url,
        "mcp_url": RUN.mcp_url,
        "limits": {"max_iters": 1},
        "tool_choice": None,
        "stream": False,
        "clock": "2026-01-01T00:00:00+00:00",
        "deadline_s": 5.0,
        "tools": [TOOL],
    }
    assert (said["threadId"], said["runId"], said["protocolVersion"]) == ("s1-ab", "r1", "1.0")
    assert said["messages"] == RUN.input["messages"]


def test_what_is_posted_is_an_input_to_the_published_models():
    content = posted(RUN).replace(b"\\ud800", b"")
    assert RunAgentInput.model_validate_json(content).thread_id == "s1-ab"


@pytest.mark.parametrize("kind", ["text/event-stream", "text/event-stream; charset=utf-8", "Text/Event-Stream"])
def test_an_event_stream_is_no_refusal(kind):
    assert refusal(200, {"content-type": kind}, "") is None


@pytest.mark.parametrize(
    ("status", "headers", "beginning", "message"),
    [
        (307, {"location": "/agent/"}, "", "answered 307, a redirect to '/agent/', which is not followed"),
        (302, {}, "", "a redirect to 'nowhere'"),
        (404, {}, "Not Found", "answered 404 to a run: 'Not Found'; expected 200 with text/event-stream"),
        (200, {"content-type": "text/html"}, "<html>", "200 with text/html: '<html>'; expected text/event-stream"),
        (204, {}, "", "204 with no content type"),
        (200, {"content-type": "application/json"}, "{}", "application/json: '{}'"),
    ],
)
def test_any_other_answer_says_what_came_and_what_was_expected(status, headers, beginning, message):
    assert message in refusal(status, headers, beginning)
