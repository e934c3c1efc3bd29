"""Every persona speaks every wire, streamed and not, and its journal can be judged whatever it was asked."""

import pytest

from conformance.again import check, judged_again
from conformance.dialect import dialect
from conformance.rules import RULES
from conformance.serving.plans import persona_plan
from conformance.serving.sessions import Manner, Sessions
from fake_models.effects import Head
from fake_models.exchange import effects
from fake_models.personas import FAILURES, PERSONAS, Persona
from fake_models.server import Server
from fake_models.wire import CODECS

SCHEMA = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
USER = {"role": "user", "content": "Hello?"}
FUNCTION = {"name": "look", "description": "", "parameters": SCHEMA}
CHAT = {"model": "m", "messages": [USER], "tools": [{"type": "function", "function": FUNCTION}]}
GEMINI = {
    "contents": [{"role": "user", "parts": [{"text": "Hello?"}]}],
    "tools": [{"functionDeclarations": [{"name": "look", "description": "", "parameters": SCHEMA}]}],
}
#: By wire, streamed or not: the path and the body of one question with a tool.
ASKED = {
    ("openai_chat", False): ("/v1/chat/completions", CHAT),
    ("openai_chat", True): ("/v1/chat/completions", {**CHAT, "stream": True}),
    ("openai_responses", False): (
        "/v1/responses",
        {"model": "m", "input": "Hello?", "tools": [{"type": "function", **FUNCTION}]},
    ),
    ("openai_responses", True): (
        "/v1/responses",
        {"model": "m", "input": "Hello?", "stream": True, "tools": [{"type": "function", **FUNCTION}]},
    ),
    ("anthropic_messages", False): (
        "/v1/messages",
        {"model": "m", "max_tokens": 9, "messages": [USER], "tools": [{"name": "look", "input_schema": SCHEMA}]},
    ),
    ("anthropic_messages", True): (
        "/v1/messages",
        {
            "model": "m",
            "max_tokens": 9,
            "stream": True,
            "messages": [USER],
            "tools": [{"name": "look", "input_schema": SCHEMA}],
        },
    ),
    ("gemini", False): ("/v1beta/models/m:generateContent", GEMINI),
    ("gemini", True): ("/v1beta/models/m:streamGenerateContent", GEMINI),
    ("ollama", False): ("/api/chat", {**CHAT, "stream": False}),
    ("ollama", True): ("/api/chat", CHAT),
}
UNDER = dialect({})


def opened(name, **traits):
    return Sessions(Server(), Manner(UNDER)).open(persona_plan(Persona(name, **traits)), name)


def ask(session, wire, path, body):
    """What one request is answered with: status, and the bytes of head and body as effects."""
    exchange = session.session.model.exchange(wire, path, body, {})
    made = list(effects(exchange))
    session.session.model.done(exchange.call, 1, "kit")
    return exchange.status, made


def test_every_wire_is_asked_both_ways():
    assert {wire for wire, _ in ASKED} == set(CODECS)


@pytest.mark.parametrize(("wire", "stream"), ASKED)
@pytest.mark.parametrize("name", PERSONAS)
def test_a_persona_answers_on_the_wire_and_leaves_a_journal(name, wire, stream):
    session = opened(name, rate=0.7, seed=3)
    answers = [ask(session, wire, *ASKED[wire, stream]) for _ in range(30)]
    assert {status for status, _ in answers} <= {200, *FAILURES}
    assert all(isinstance(made[0], Head) for _, made in answers)
    check(session.recording(), name)


@pytest.mark.parametrize(("wire", "stream"), ASKED)
def test_nothing_is_found_in_the_journal_of_one_question(wire, stream):
    session = opened("echo")
    assert ask(session, wire, *ASKED[wire, stream])[0] == 200
    recording = session.recording()
    assert recording.header.scenario["runs"] == [{"user": "Hello?"}]
    (entry,) = judged_again({"journal": recording}, RULES).entries
    assert [result.rule for result in entry.results if result.findings] == []
    assert "WIRE-1" in {result.rule for result in entry.results if result.verdict == "pass"}


@pytest.mark.parametrize(
    "body", ["no json", None, [], {}, {"messages": "odd"}, {"messages": [{"role": "tool"}]}], ids=repr
)
@pytest.mark.parametrize("name", ["echo", "chaos"])
def test_a_journal_holds_whatever_was_sent(name, body):
    session = opened(name, seed=1)
    for wire, stream in ASKED:
        if not stream:
            ask(session, wire, ASKED[wire, stream][0], body)
    ask(session, "openai_chat", *ASKED["openai_chat", False])
    recording = session.recording()
    check(recording, name)
    assert [r.data["body"] for r in recording.records if r.kind == "model/request"] == [*[body] * 5, CHAT]
