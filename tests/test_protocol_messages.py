"""The command protocol's schema: it takes every message of the specification, the page and the kit, and refuses the others."""

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from conformance.adapters import protocol
from conformance.agent_side import RunInput

SCHEMA = json.loads((files("conformance.schemas") / "protocol.schema.json").read_text("utf-8"))
PAGE = (Path(__file__).parents[1] / "docs/protocol.md").read_text("utf-8")
EXAMPLES = [
    json.loads(line)
    for block in re.findall(r"<!-- messages -->\n```json\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
]
#: Every message there is, and who says it.
BY = {
    **dict.fromkeys(("hello", "run", "cancel", "bye"), "kit"),
    **dict.fromkeys(("ready", "event", "log", "result", "error"), "agent"),
}
RUN = {
    "type": "run",
    "run": "r1",
    "session": "s1",
    "input": {},
    "limits": {},
    "stream": True,
    "clock": "",
    "deadline_s": 30,
    "model": {"wire": "openai_chat", "base_url": "http://x/v1", "name": "m", "api_key": "k"},
}
READY = {"type": "ready", "protocol": 1, "agent": {"name": "n"}}
LOG = {"type": "log", "run": "r1", "level": "INFO", "logger": "l", "message": "m"}
#: The smallest of each kind.
SMALLEST = {
    "hello": {"type": "hello", "protocol": 1, "kit": "0"},
    "ready": READY,
    "run": RUN,
    "event": {"type": "event", "run": "r1", "event": {}},
    "log": LOG,
    "result": {"type": "result", "run": "r1"},
    "error": {"type": "error", "run": "r1", "exception": "E", "message": ""},
    "cancel": {"type": "cancel", "run": "r1"},
    "bye": {"type": "bye"},
}
#: What each kind must hold.
OWED = {
    "hello": ("type", "protocol", "kit"),
    "ready": ("type", "protocol", "agent"),
    "run": ("type", "run", "session", "input", "model", "limits", "stream", "clock", "deadline_s"),
    "event": ("type", "run", "event"),
    "log": ("type", "run", "level", "logger", "message"),
    "result": ("type", "run"),
    "error": ("type", "run", "exception", "message"),
    "cancel": ("type", "run"),
    "bye": ("type",),
}
#: What is refused beyond a missing key: a key and what it may not be.
REFUSED = [
    *((kind, "type", "thought") for kind in SMALLEST),
    *((kind, "run", wrong) for kind in SMALLEST if "run" in OWED[kind] for wrong in (1, None, "")),
    *((kind, "protocol", wrong) for kind in ("hello", "ready") for wrong in (0, 2, "1", None)),
    *(("ready", "agent", wrong) for wrong in ({}, "n", {"name": ""}, {"name": 1}, {"name": "n", "version": 1})),
    *(("ready", "channels", wrong) for wrong in (["X"], "MT", [1], None)),
    *(("ready", "wires", wrong) for wrong in ("openai_chat", [1])),
    *(("ready", key, wrong) for key in ("dialect", "capabilities") for wrong in ([], "stop", None)),
    ("ready", "knobs", [1]),
    ("ready", "profile", 1),
    *(("run", "model", wrong) for wrong in ({}, None, {"wire": "openai_chat", "base_url": "u", "name": "m"})),
    *(("run", key, wrong) for key in ("tools_url", "mcp_url", "tool_choice") for wrong in (1, {})),
    *(("run", key, wrong) for key in ("input", "limits", "knobs") for wrong in ([], None, "")),
    ("run", "stream", "true"),
    ("run", "deadline_s", "30"),
    ("run", "session", ""),
    *(("event", "event", wrong) for wrong in ("RUN_STARTED", None, [])),
    *(("log", key, 1) for key in ("level", "logger", "message")),
    *(
        ("result", "outcome", wrong)
        for wrong in ("answered", {}, {"kind": 1}, {"kind": None}, {"kind": "k", "reason": 1})
    ),
    ("result", "text", 1),
    *(("error", key, wrong) for key in ("exception", "message") for wrong in (1, None)),
]
#: What may stand there as well.
TAKEN = [
    *((kind, "more", {"than": "is known"}) for kind in SMALLEST),
    ("ready", "channels", []),
    ("ready", "profile", None),
    *(("run", key, None) for key in ("tools_url", "mcp_url", "tool_choice")),
    ("run", "deadline_s", 0.5),
    ("result", "outcome", None),
    ("result", "outcome", {"kind": "answered", "reason": None, "more": 1}),
    ("result", "text", None),
]


def holds(kind, message):
    return Draft202012Validator(SCHEMA["$defs"][kind]).is_valid(message)


def test_every_message_has_a_schema_of_2020_12():
    Draft202012Validator.check_schema(SCHEMA)
    assert set(SCHEMA["$defs"]) == set(BY) == set(SMALLEST) == set(OWED)
    assert [one["$ref"] for one in SCHEMA["oneOf"]] == [f"#/$defs/{kind}" for kind in SCHEMA["$defs"]]


def test_the_adapter_takes_what_agents_say_and_nothing_else():
    assert set(protocol.FROM_AGENTS) == {kind for kind, by in BY.items() if by == "agent"}


@pytest.mark.parametrize("kind", SMALLEST)
def test_the_smallest_message_of_a_kind_is_one_of_that_kind_alone(kind):
    assert [other for other in SMALLEST if holds(other, SMALLEST[kind])] == [kind]
    assert Draft202012Validator(SCHEMA).is_valid(SMALLEST[kind])


@pytest.mark.parametrize("kind", SMALLEST)
def test_a_message_without_one_of_its_keys_is_refused(kind):
    assert sorted(OWED[kind]) == sorted(SMALLEST[kind])
    for key in OWED[kind]:
        assert not holds(kind, {name: value for name, value in SMALLEST[kind].items() if name != key}), key


@pytest.mark.parametrize(("kind", "key", "value"), REFUSED)
def test_a_value_that_the_protocol_does_not_know_is_refused(kind, key, value):
    assert not holds(kind, SMALLEST[kind] | {key: value})


@pytest.mark.parametrize(("kind", "key", "value"), TAKEN)
def test_unknown_keys_and_what_may_be_absent_are_taken(kind, key, value):
    assert holds(kind, SMALLEST[kind] | {key: value})


def test_every_message_that_the_kit_sends_fits():
    given = RunInput(
        "r1", "s1", {"threadId": "s1", "messages": [{"content": "half \ud83d of a pair, é"}]}, RUN["model"]
    )
    sent = [protocol.hello(), protocol.run(given), protocol.cancel("r1"), protocol.bye()]
    messages = [json.loads(line) for line in sent]
    assert [message["type"] for message in messages] == ["hello", "run", "cancel", "bye"]
    assert all(holds(message["type"], message) for message in messages)
    assert not any(b"\n" in line for line in sent)
    assert messages[1]["input"] == given.input


@pytest.mark.parametrize("message", EXAMPLES, ids=lambda message: message["type"])
def test_every_example_on_the_page_fits(message):
    assert holds(message["type"], message)
    if BY[message["type"]] == "agent":
        assert protocol.message(json.dumps(message).encode(), whole=True) == message


def test_the_page_shows_and_explains_every_message():
    rows = re.findall(r"^\| `(\w+)` \| (kit|agent) \|", PAGE, re.MULTILINE)
    assert dict(rows) == BY
    assert {message["type"] for message in EXAMPLES} == set(BY)


def test_the_page_explains_every_key_of_a_run():
    table = PAGE[PAGE.index("## What a run brings") : PAGE.index("**Sessions.**")]
    rows = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert sorted(rows) == sorted(set(SCHEMA["$defs"]["run"]["properties"]) - {"type"})
