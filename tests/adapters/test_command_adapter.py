"""The kit's end of the command protocol: how an agent is started, given up, and what its lines may look like."""

import asyncio
import json
import os
import shlex
import sys
from dataclasses import replace

import pytest
from click.testing import CliRunner

from conformance.adapters import command
from conformance.adapters.command import DEATHS
from conformance.adapters.process import Patience
from conformance.agent_side.figures import MAX_LINE_BYTES
from conformance.cli import main
from conformance.dialect import dialect
from conformance.errors import AgentError
from conformance.runner import Cell, play, play_all
from conformance.scenario import scenario

PATIENCE = Patience(ready_s=20, bye_s=5, term_s=0.2)
READY = {"type": "ready", "protocol": 1, "agent": {"name": "tiny"}, "channels": ["M", "R"]}
#: What every agent of this file begins with. `each(run)` is what it does with a run; it is replaced by the code behind.
PRELUDE = """
import json, os, sys, time

def put(text):
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()

def say(end=b"\\n", **message):
    put(json.dumps(message).encode() + end)

def result(given, **more):
    say(type="result", run=given["run"], outcome={"kind": "answered", "reason": None}, text="Fine.", **more)

def first():
    try:
        os.close(os.open(READY["mark"], os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True

def hello():
    say(**READY)

def each(given):
    result(given)

def main():
    for line in sys.stdin.buffer:
        said = json.loads(line)
        if said["type"] == "hello":
            hello()
        elif said["type"] == "run":
            each(said)
        elif said["type"] == "bye":
            return
"""


@pytest.fixture(autouse=True)
def mark(tmp_path):
    """A file by which an agent knows that it is not the first."""
    READY["mark"] = str(tmp_path / "mark")
    yield
    del READY["mark"]


def program(code=""):
    text = f"{PRELUDE}\nREADY = {READY!r}\n{code}\nmain()\n"
    return command.Program((sys.executable, "-c", text))


def connected(code="", patience=PATIENCE):
    return command.connected(program(code), patience)


def plan(runs=1, **more):
    run = {"user": "Well?", "model": [{"say": "Fine.", "optional": True}]}
    told = runs if isinstance(runs, list) else [run] * runs
    base = {"id": "tiny", "title": "Is asked.", "why": "A test asks.", "deadline_s": 5, "runs": told}
    return scenario(base | more)


def played(code, times=1, cell=None, **more):
    """The recordings of one scenario, played so often to one agent."""

    async def one():
        async with connected(code) as agent:
            return [await play(agent, plan(**more), cell or Cell(), dialect({})) for _ in range(times)]

    return asyncio.run(one())


def of(recording, kind):
    return [record.data for record in recording.records if record.kind == kind]


def hows(recordings):
    return [[end["how"] for end in of(one, "kit/run_end")] for one in recordings]


async def never(code, patience):
    async with connected(code, patience):
        raise AssertionError("the agent is connected")


@pytest.mark.parametrize(
    ("code", "ready_s", "message"),
    [
        ("def hello(): time.sleep(600)", 0.3, "it did not say ready within 0.3 s. It wrote nothing."),
        ("def hello(): sys.exit('no key is set')", 20, "(exit code 1). The last it wrote: no key is set"),
        ("def hello(): os._exit(4)", 20, "it ended before it said ready (exit code 4). It wrote nothing."),
        (
            "READY['protocol'] = 2",
            20,
            "a message of type 'ready' does not hold to the protocol at protocol: 1 was expected",
        ),
        ("READY['agent'] = {}", 20, "at agent: 'name' is a required property"),
        ("def hello(): put(b'Loading ...\\n'); say(**READY)", 20, "a line of stdout is no JSON object: 'Loading ...'"),
        ("def hello(): put(b'No.\\n')", 20, "the protocol's, print logs to stderr. The last it wrote: No."),
        ("def hello(): put(2 * (json.dumps(READY) + '\\n').encode())", 20, "the agent says ready a second time"),
    ],
)
def test_an_agent_that_does_not_introduce_itself_is_not_connected(code, ready_s, message):
    with pytest.raises(AgentError, match=r"^agent 'command:") as raised:
        asyncio.run(never(code, Patience(ready_s=ready_s, term_s=0.2)))
    assert message in str(raised.value)


def test_what_ready_leaves_out_is_as_an_agent_in_python_has_it():
    async def info():
        async with connected("del READY['channels']") as agent:
            return agent.info

    told = asyncio.run(info())
    assert (told.name, told.version, told.language, told.channels) == ("tiny", "0", "unknown", ("M", "T", "E", "R"))
    assert (told.wires, told.profile, dict(told.capabilities)) == (("openai_chat",), None, {})


@pytest.mark.parametrize(
    "code",
    [
        "def each(given): result(given, more={'than': 'is known'})",
        "def each(given): result(given, end=b'\\r\\n')",
        "def each(given): put(json.dumps({'type': 'result', 'run': given['run'], 'text': 'é'}, ensure_ascii=False).encode() + b'\\n')",
        'def each(given): put(b\' { "type" : "result", "run" : "r1" } \\n\')',
        'def each(given):\n    for byte in b\'{"type": "result", "run": "r1"}\\n\': put(bytes([byte]))',
    ],
    ids=["unknown keys", "CRLF", "UTF-8", "blanks", "byte by byte"],
)
def test_a_message_is_a_message_however_it_is_written(code):
    [recording] = played(code)
    assert hows([recording]) == [["returned"]]
    assert of(recording, "agent/garbage") == []


@pytest.mark.parametrize(("more", "how"), [(0, "returned"), (1, "died")])
def test_a_line_has_at_most_8_mebibytes(more, how):
    room = MAX_LINE_BYTES - len(json.dumps({"type": "result", "run": "r1", "pad": ""})) + more
    [recording] = played(f"def each(given): say(type='result', run='r1', pad='x' * {room})")
    assert hows([recording]) == [[how]]
    assert [f"longer than {MAX_LINE_BYTES} bytes" in one["why"] for one in of(recording, "agent/garbage")] == [
        True
    ] * more


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("def each(given): say(type='result')", "'run' is a required property"),
        ("def each(given): say(type='event', run='r1', event='RUN_STARTED')", "at event: 'RUN_STARTED' is not of type"),
        ("def each(given): say(type='result', run='r1', outcome={})", "at outcome: 'kind' is a required property"),
        ('def each(given): put(2 * b\'{"type": "result", "run": "r1"}\\n\')', "ends it a second time"),
        ("def each(given): put(b'[]\\n')", "is no JSON object: '[]'"),
        ("def each(given): put(b'\\n')", "is no JSON object: ''"),
        ("def each(given): put(b'[' * 100_000 + b'\\n')", "is no JSON object"),
        ("def each(given): put(b'\\xff\\n')", "is no JSON object: '\ufffd'"),
    ],
)
def test_what_is_no_message_is_recorded_and_the_next_scenario_is_played_by_a_new_process(code, why):
    recordings = played(f"if first():\n    {code}", times=2)
    assert hows(recordings)[1] == ["returned"]
    [garbage] = of(recordings[0], "agent/garbage")
    assert why in garbage["why"]


def test_a_line_between_two_runs_stands_with_the_run_before_it():
    code = "def each(given): result(given); put(b'Done.\\n'); time.sleep(0.01)"
    recordings = played(code, runs=2)
    assert "no JSON object: 'Done.'" in of(recordings[0], "agent/garbage")[0]["why"]


def _errors(code, times, **more):
    async def all_of_them():
        async with connected(code) as agent:
            plays = play_all(agent, [plan(**more)], dialect({}), cells=[Cell()], repeat=times, elsewhere=None)
            return [(one.error, one.recording and hows([one.recording])[0]) async for one in plays]

    return asyncio.run(all_of_them())


def test_after_three_deaths_in_a_row_the_rest_could_not_be_run():
    plays = _errors("def each(given): os._exit(9)", DEATHS + 2)
    assert [how for _, how in plays] == [["died"]] * DEATHS + [None] * 2
    assert {error for error, how in plays if how is None} == {
        f"{program('def each(given): os._exit(9)').name}: it died 3 times in a row; it is not started again"
    }


def test_a_start_that_fails_is_a_death_too():
    plays = _errors("if not first(): sys.exit('no more')\ndef each(given): os._exit(9)", 4)
    assert [how for _, how in plays] == [["died"], None, None, None]
    assert ["The last it wrote: no more" in error for error, _ in plays[1:]] == [True, True, False]
    assert "died 3 times in a row" in plays[3][0]


def test_a_run_that_ends_by_itself_ends_the_row_of_deaths():
    code = (
        "def each(given):\n"
        "    with open(READY['mark'], 'a') as file: file.write('x')\n"
        "    os._exit(9) if os.path.getsize(READY['mark']) % 3 else result(given)"
    )
    plays = _errors(code, 9)
    assert [how for _, how in plays] == [["died"], ["died"], ["returned"]] * 3


def test_after_a_death_the_scenarios_further_runs_are_left_out():
    [recording] = played("def each(given): os._exit(9)", runs=3)
    assert hows([recording]) == [["died"]]


def test_an_agent_that_does_not_read_is_hung_and_not_waited_for():
    code = "def hello():\n    say(**READY)\n    time.sleep(600)"
    history = [{"role": "user", "content": "x" * 1_000_000}]
    [recording] = played(code, deadline_s=0.3, history=history)
    assert hows([recording]) == [["hung"]]


def test_a_reply_that_is_slow_by_its_script_is_no_silence():
    code = (
        "from urllib.request import Request, urlopen\n"
        "def each(given):\n"
        "    body = {'model': 'any', 'stream': True, 'messages': given['input']['messages']}\n"
        "    url = given['model']['base_url'] + '/chat/completions'\n"
        "    urlopen(Request(url, json.dumps(body).encode(), {'Content-Type': 'application/json'})).read()\n"
        "    result(given)"
    )
    turn = {"say": "F" * 28, "pace_s": 0.2}
    chunks = Cell(stream=True, chunking="token")
    [recording] = played(code, cell=chunks, deadline_s=1.0, runs=[{"user": "Well?", "model": [turn]}])
    assert hows([recording]) == [["returned"]]


async def cancelled_at_its_first_event(code, patience=PATIENCE):
    sent = []
    async with connected(code, patience) as agent:

        def take(record):
            if record.kind == "agent/event" and not sent:
                sent.append(agent.cancel(None, "r1"))

        return await play(agent, plan(deadline_s=5), Cell(), dialect({}), lambda _header: take)


def test_a_cancelled_run_that_goes_on_speaking_has_hung():
    code = (
        "def each(given):\n"
        "    while True:\n"
        "        say(type='event', run='r1', event={'type': 'CUSTOM', 'name': 'n', 'value': 1})\n"
        "        time.sleep(0.05)"
    )
    recording = asyncio.run(cancelled_at_its_first_event(code, replace(PATIENCE, cancel_s=0.1)))
    assert hows([recording]) == [["hung"]]


def test_a_cancel_in_a_run_is_heard_and_the_run_still_owes_its_end():
    code = (
        "def each(given):\n"
        "    say(type='event', run='r1', event={'type': 'RUN_STARTED', 'threadId': 's', 'runId': 'r1'})\n"
        "    cancel = json.loads(sys.stdin.buffer.readline())\n"
        "    say(type='event', run='r1', event={'type': 'RUN_FINISHED', 'threadId': 's', 'runId': 'r1'})\n"
        "    say(type='result', run='r1', outcome={'kind': 'interrupted', 'reason': cancel['type'] + cancel['run']})"
    )

    recording = asyncio.run(cancelled_at_its_first_event(code))
    assert [one["event"]["type"] for one in of(recording, "agent/event")] == ["RUN_STARTED", "RUN_FINISHED"]
    assert [(one["kind"], one["reason"]) for one in of(recording, "agent/outcome")] == [("interrupted", "cancelr1")]
    assert hows([recording]) == [["returned"]]


def run(spec):
    return CliRunner().invoke(main, ["run", "empty-once", "--agent", f"command:{spec}"])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("no-such-program --x", "the program 'no-such-program' is not on the path, nor in this folder"),
        ("./plain.txt", "the program './plain.txt' is not executable"),
        ("'half a quote", "No closing quotation; quote it as in a shell"),
        ("", "expected a command, such as 'command:node my_agent.js'"),
    ],
)
def test_a_command_that_cannot_be_one_is_a_usage_error(spec, message, tmp_path, monkeypatch):
    (tmp_path / "plain.txt").write_text("no program", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = run(spec)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_a_file_that_the_system_does_not_take_for_a_program_could_not_be_run(tmp_path, monkeypatch):
    (tmp_path / "odd").write_text("neither a script nor a binary", encoding="utf-8")
    (tmp_path / "odd").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    result = run("./odd")
    assert result.exit_code == 3
    assert "./odd: " in result.stderr
    assert os.strerror(8) in result.stderr


def test_an_agent_whose_module_is_not_there_is_named_and_could_not_be_run():
    result = run(f"{shlex.quote(sys.executable)} -m conformance.agent_side no_such_module:AGENT")
    assert result.exit_code == 3
    assert "no_such_module:AGENT: there is no module 'no_such_module' in the current folder" in result.stderr
