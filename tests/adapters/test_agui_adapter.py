"""An agent behind a URL: the reference and Pydantic AI over AG-UI, and servers that are wrong in one way each."""

import asyncio
import contextlib
import gc
import json
import re
import socket
import ssl
import struct
import subprocess
import sys
import types
import urllib.request
from pathlib import Path

import pytest
from agui_reference import ReferenceApp, frame, served
from click.testing import CliRunner

from conformance.adapters.agui import connect
from conformance.adapters.endpoint import endpoint
from conformance.certify import certify
from conformance.certify import connect as to_agent
from conformance.cli import main
from conformance.dialect import dialect
from conformance.errors import AgentError, SpecError
from conformance.judge import judge
from conformance.loading.loader import bundled, load
from conformance.recording import from_bytes, to_bytes
from conformance.reference.agent import CAPABILITIES, KNOBS
from conformance.rules import RULES
from conformance.runner import Cell, play
from conformance.scenario import scenario

ROOT = Path(__file__).parents[2]
PLANS = {path.stem: load(path) for path in bundled()}
CORE = [plan for plan in PLANS.values() if "core" in plan.tags]
PAGE = (ROOT / "docs/agui.md").read_text("utf-8")

# The reference over AG-UI.


#: All that the reference can, but for what is told by knobs, which no URL declares, and what ends with the connection.
OVER_AGUI = [
    name for name in CAPABILITIES if name not in ("cancel", "callbacks", "records", "completion_gate", "subagents")
]
KNOBS_UNSAID = {f"knob {name}" for name in KNOBS}


def declared_as(name):
    figures = CAPABILITIES[name]
    return name if figures is True else f"{name}={json.dumps(figures)}"


def test_the_reference_over_agui_conforms_wherever_it_can_be_seen():
    async def both():
        async with served(ReferenceApp()) as url:
            over = await certify(f"agui:{url}#{','.join(map(declared_as, OVER_AGUI))}", CORE, RULES)
        return over, await certify("reference", CORE, RULES, cells=lambda _info: [Cell()])

    over, within = asyncio.run(both())
    wrong = [
        (entry.scenario, one.rule, finding.message)
        for entry in over.entries
        for one in entry.results
        for finding in one.findings
    ]
    assert wrong == []
    assert {str(entry.verdict) for entry in over.entries} == {"pass", "not-applicable"}
    assert {entry.excused for entry in over.entries} - {None} <= {"capability cancel", *KNOBS_UNSAID, "kit kill"}
    lost = {name for name, total in within.rules.items() if total.armed and not over.rules[name].armed}
    told_by_knobs = {name for name in lost if name.startswith(("CB-", "GATE-", "OBS-", "SUB-"))} | {"GRD-5"}
    # What only its result, its log or its declared usage could show, and what a closed connection ends.
    assert lost - told_by_knobs == {
        *("RUN-3b", "SUM-3", "USE-1", "LOG-1", "SES-2", "GRD-6"),
        *("INT-1", "INT-2", "INT-3"),
    }


def test_what_crosses_the_borders_is_recorded_in_the_order_it_has_in_one_process():
    def order(recording):
        records = [one for one in recording.records if one.kind in ("agent/event", "model/request", "tool/start")]
        return [one.data["event"]["type"] if one.kind == "agent/event" else one.kind for one in records]

    plans = [
        PLANS[name] for name in ("cargo-chain-max-iters-2", "parallel-calls", "empty-once", "usage-of-a-failed-run")
    ]

    async def each(spec):
        async with to_agent(spec) as agent:
            return [order(await play(agent, one, Cell(stream=True), dialect({}))) for one in plans]

    async def both():
        async with served(ReferenceApp()) as url:
            return await each(f"agui:{url}#sessions"), await each("reference")

    over, within = asyncio.run(both())
    assert over == within


# Pydantic AI, by the page's example.

#: What differs in Pydantic AI behind its own AG-UI adapter: every end but an answer is a RUN_ERROR.
PYDANTIC_AI = {
    "on_limit": "error",
    "default_max_iters": 50,
    "retry_budget": "counts",
    "empty_is": ["no_parts", "null", "thinking"],
    "recovery_scope": "run",
    "prompt_too_long": "error",
    "model_error": "error",
    "length_stop": "flag",
    "tool_exception": "error",
    "type_check": "tool",
    "extra_args": "pass",
    "usage_events": "none",
}
#: The rules that fail, and why; where one does, others may that follow from it.
FOUND = {
    "time-query-max-iters-1": set(),
    "parallel-calls": set(),
    "tool-raises": set(),
    "empty-once": set(),
    "overflow-forever": set(),
    # Its RUN_ERROR says that the retries are used up, and not that the replies were empty.
    "empty-forever": {"REC-6"},
    # The SDK sends a spent quota again, twice, as it does with every 429.
    "quota-spent": {"REC-4"},
    # It shows a sentence of its own as the result of the call whose tool had run beside the one that raised.
    "tool-raises-beside-a-sibling": {"EVT-6"},
    # A stream that breaks off within a call is taken for a whole reply, and the call runs with what had come of its arguments.
    "stream-cut-in-a-call": {"REC-7", "ACT-6"},
}


@contextlib.asynccontextmanager
async def pydantic_ai():
    source = re.search(r"<!-- example: my_endpoint.py -->\n```python\n(.*?)```", PAGE, re.DOTALL)[1]
    module = types.ModuleType("my_endpoint")
    sys.modules["my_endpoint"] = module
    try:
        exec(compile(source, "my_endpoint.py", "exec"), module.__dict__)
        async with served(module.app) as url, module.HTTP:
            yield url
    finally:
        del sys.modules["my_endpoint"]


def test_pydantic_ai_by_the_pages_example_shows_what_is_known_of_it():
    async def all_of_them():
        async with pydantic_ai() as url:
            return await certify(f"agui:{url}", [PLANS[name] for name in FOUND], RULES, override=PYDANTIC_AI)

    report = asyncio.run(all_of_them())
    failing = {entry.scenario: {one.rule for one in entry.results if one.verdict == "fail"} for entry in report.entries}
    assert {name: failing[name] & rules for name, rules in FOUND.items()} == FOUND
    assert [name for name, rules in FOUND.items() if failing[name] and not rules] == []


def test_the_pages_own_command_passes():
    stated = r"conformance run (\S+) --agent agui:\S+ --dialect on_limit=error,default_max_iters=50\s"
    command = re.search(stated, PAGE)[1]

    async def one():
        async with pydantic_ai() as url:
            declared = {"on_limit": "error", "default_max_iters": 50}
            return await certify(f"agui:{url}", [PLANS[command]], RULES, override=declared)

    [entry] = asyncio.run(one()).entries
    assert entry.verdict == "pass"


# Servers that are wrong in one way each.


@pytest.fixture
def nothing_is_left():
    """As many descriptors afterwards as before."""
    gc.collect()
    before = _held()
    yield
    gc.collect()
    assert _held() == before


def _held():
    return len(list(Path("/proc/self/fd").iterdir()))


IDS = {"threadId": "s1", "runId": "r1"}
STARTED, FINISHED = ({"type": kind, **IDS} for kind in ("RUN_STARTED", "RUN_FINISHED"))
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
CHUNKED = HEAD.replace(b"Connection: close", b"Transfer-Encoding: chunked")


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def answer(status, kind=b"text/plain", body=b"", more=b""):
    return (
        b"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n%s\r\n"
        % (status, kind, len(body), more)
        + body
    )


@contextlib.asynccontextmanager
async def raw(way, heads=None, **more):
    """A server that answers OPTIONS as it should and gives each run, as JSON, and its writer to `way`."""
    tasks = set()

    async def serve(reader, writer):
        tasks.add(asyncio.current_task())
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"OPTIONS"):
                writer.write(answer(b"204 No Content"))
            else:
                if heads is not None:
                    heads.append(head)
                size = int(re.search(rb"content-length: (\d+)", head, re.IGNORECASE)[1])
                await way(json.loads(await reader.readexactly(size)), writer)
            await writer.drain()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, **more)
    try:
        yield f"http{'s' if more else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}/agent"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


def says(*parts):
    async def way(_given, writer):
        writer.write(b"".join(parts))

    return way


def plan(**more):
    run = {"user": "Hello?", "model": [{"say": "Fine.", "optional": True}]}
    return scenario({"id": "zoo", "title": "Is asked.", "why": "A test asks.", "deadline_s": 0.3, "runs": [run]} | more)


def played(way, one=None, words="", **more):
    async def through():
        async with raw(way, **more) as url, connect(f"{url}{words}") as agent:
            recording = await play(agent, one or plan(), Cell(), dialect({}))
            assert from_bytes(to_bytes(recording)) == recording
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return recording

    return asyncio.run(through())


def of(recording, kind):
    return [record.data for record in recording.records if record.kind == kind]


def how(recording):
    [end] = of(recording, "kit/run_end")
    return end["how"]


def events(recording):
    return [one["event"]["type"] for one in of(recording, "agent/event")]


async def resets(_given, writer):
    writer.write(HEAD + frame(STARTED))
    await writer.drain()
    # Lingering for no time is what makes a close a reset.
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def is_silent(_given, writer):
    writer.write(HEAD + frame(STARTED))
    await asyncio.get_running_loop().create_future()


async def says_nothing(_given, _writer):
    await asyncio.get_running_loop().create_future()


def floods(block):
    async def way(_given, writer):
        writer.write(HEAD)
        for _ in range(100 * 1024 * 1024 // len(block)):
            writer.write(block)
            await writer.drain()

    return way


LARGE = frame({"type": "CUSTOM", "name": "n", "value": "x" * 100_000})

#: How a run ends, and which events of it are recorded; None where that is not what matters.
ENDS = {
    "whole": (says(HEAD, frame(STARTED), frame(FINISHED)), "returned", ["RUN_STARTED", "RUN_FINISHED"]),
    "empty": (says(HEAD), "returned", []),
    "no_terminal": (says(HEAD, frame(STARTED)), "returned", ["RUN_STARTED"]),
    "half_an_event": (says(HEAD, frame(STARTED), b'data: {"type"'), "returned", ["RUN_STARTED"]),
    "broken_in_a_chunk": (says(CHUNKED, chunk(frame(STARTED)), chunk(b'data: {"ty')), "died", ["RUN_STARTED"]),
    "reset": (resets, "died", ["RUN_STARTED"]),
    "closed_at_once": (says(), "died", []),
    "silent": (is_silent, "hung", ["RUN_STARTED"]),
    "silent_from_the_start": (says_nothing, "hung", []),
    "one_endless_frame": (floods(b"data: " + b"x" * 65_536), "cap", []),
    "many_large_events": (floods(LARGE), "cap", None),
    "many_small_events": (floods(frame({"type": "CUSTOM", "name": "n", "value": 1}) * 1000), "cap", None),
    "500": (says(answer(b"500 Oh", body=b"KeyError: 'no such word'")), "raised", ["RUN_ERROR"]),
    "500_broken": (says(answer(b"503 Oh", body=b"gone ")[:-1]), "raised", ["RUN_ERROR"]),
    "500_in_no_charset_of_text": (
        says(answer(b"500 Oh", b"text/plain; charset=rot13", b"gone")),
        "raised",
        ["RUN_ERROR"],
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_run_ends_as_its_stream_did(name, nothing_is_left):
    way, end, seen = ENDS[name]
    recording = played(way)
    assert how(recording) == end
    if seen is not None:
        assert events(recording) == seen


def test_a_server_error_is_an_exception_with_the_beginning_of_its_body():
    [raised] = of(played(says(answer(b"500 Oh", body=b"no such word" + b"x" * 10_000))), "agent/raised")
    assert raised["exception"] == "HTTP 500"
    assert raised["message"] == ("no such word" + "x" * 500)[:500]


#: What the published client refuses, the reason that is recorded, and the part of it that is.
REFUSED = {
    "crlf": ([HEAD, frame(STARTED).replace(b"\n", b"\r\n"), frame(FINISHED).replace(b"\n", b"\r\n")], "CR LF", []),
    "done": (
        [HEAD, frame(STARTED), frame(FINISHED), b"data: [DONE]\n\n"],
        "has no [DONE]",
        ["RUN_STARTED", "RUN_FINISHED"],
    ),
    "no_json": (
        [HEAD, frame(STARTED), b"data: Oops\n\n", frame(FINISHED)],
        "is no JSON",
        ["RUN_STARTED", "RUN_FINISHED"],
    ),
    "an_array": (
        [HEAD, frame(STARTED), b"data: []\n\n", frame(FINISHED)],
        "no object",
        ["RUN_STARTED", "RUN_FINISHED"],
    ),
    "half": ([HEAD, frame(STARTED), b'data: {"type"'], "is no JSON", ["RUN_STARTED"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_client_refuses_is_recorded_with_the_reason_and_fails_evt_1(name):
    parts, why, seen = REFUSED[name]
    recording = played(says(*parts))
    [garbage] = of(recording, "agent/garbage")
    assert why in garbage["why"]
    assert len(garbage["line"]) <= 500
    assert events(recording) == seen
    [result] = [one for one in judge(recording, RULES).results if one.rule == "EVT-1"]
    assert result.verdict == "fail"


#: What shows that no AG-UI agent is behind the URL.
NO_AGENT = {
    "html": (
        answer(b"200 OK", b"text/html", b"<!doctype html><title>Hi</title>"),
        "text/html: '<!doctype html><title>",
    ),
    "json": (answer(b"200 OK", b"application/json", b'{"ok":true}'), "expected text/event-stream"),
    "not_found": (answer(b"404 Not Found", body=b"nothing here"), "answered 404 to a run: 'nothing here'"),
    "redirect": (
        answer(b"307 Temporary Redirect", more=b"Location: /agent/\r\n"),
        "a redirect to '/agent/', which is not followed",
    ),
    "no_http": (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "is it http where https was named"),
}


@pytest.mark.parametrize("name", NO_AGENT)
def test_where_no_agent_is_the_scenario_could_not_run_and_the_reason_is_told(name, nothing_is_left):
    parts, why = NO_AGENT[name]
    with pytest.raises(AgentError, match=re.escape(why)) as caught:
        played(says(parts))
    assert not isinstance(caught.value, SpecError)
    assert str(caught.value).startswith("agent 'agui:http://127.0.0.1:")


async def reached(spec):
    async with connect(spec):
        pass


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def test_an_agent_that_is_not_there_is_told_once_and_before_any_scenario(nothing_is_left):
    with pytest.raises(AgentError, match=r"cannot be reached: .*; start the agent first"):
        asyncio.run(reached(f"http://127.0.0.1:{free_port()}/agent"))


def test_a_port_in_use_is_named(nothing_is_left):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(AgentError, match=rf"cannot listen on 127\.0\.0\.1, port {port}: "):
            asyncio.run(reached(f"http://127.0.0.1:{free_port()}/agent#model_port={port}"))


def test_the_command_tells_what_names_no_agent_from_an_agent_that_is_not_there():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        codes = {
            spec: CliRunner().invoke(main, ["run", "empty-once", "--agent", spec]).exit_code
            for spec in (
                "agui:nowhere",
                f"agui:http://127.0.0.1:{free_port()}/a",
                f"agui:http://127.0.0.1/#model_port={port}",
            )
        }
    assert list(codes.values()) == [2, 3, 3]


def test_every_spec_of_the_page_is_one():
    specs = re.findall(r"agui:([^\s'`]+)", PAGE)
    assert len(specs) >= 4
    assert {endpoint(spec).url for spec in specs} == {"http://127.0.0.1:8000/agent"}


def test_a_cookie_of_one_run_is_not_sent_with_the_next():
    heads = []
    cookie = HEAD.replace(b"Connection", b"Set-Cookie: session=1\r\nConnection")
    played(says(cookie, frame(STARTED)), plan(runs=RUNS[:2]), heads=heads)
    assert len(heads) == 2
    assert [head for head in heads if b"cookie" in head.lower()] == []


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for 127.0.0.1 that nobody but itself has signed, with its key."""
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=kit -keyout -"
    made = subprocess.run([*command.split(), "-addext", "subjectAltName=IP:127.0.0.1"], capture_output=True, check=True)
    path.write_bytes(made.stdout)
    return path


def tls(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def test_a_certificate_that_nobody_trusts_is_told_with_the_way_to_trust_it(certificate, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with pytest.raises(AgentError, match=r"self-signed certificate.*; name its certificate, .* in SSL_CERT_FILE"):
        played(says(HEAD), ssl=tls(certificate))


def test_http_where_https_is_spoken_is_told(certificate):
    async def through():
        async with raw(says(HEAD), ssl=tls(certificate)) as url:
            await reached(url.replace("https", "http"))

    with pytest.raises(AgentError, match="is it http where https was named, or the other way round"):
        asyncio.run(through())


def test_https_where_http_is_spoken_is_told():
    async def through():
        async with served(ReferenceApp()) as url:
            await reached(url.replace("http", "https"))

    with pytest.raises(AgentError, match="is it http where https was named, or the other way round"):
        asyncio.run(through())


def test_a_certificate_named_in_the_environment_is_trusted(certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert how(played(ENDS["whole"][0], ssl=tls(certificate))) == "returned"


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_nothing_on_this_machine_is_asked_through_a_proxy(name, monkeypatch):
    monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    assert how(played(ENDS["whole"][0])) == "returned"


# Agents that ask the model.


def ask(base_url, content="Hello?"):
    body = {"model": "m", "messages": [{"role": "user", "content": content}]}
    request = urllib.request.Request(
        f"{base_url}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)["choices"][0]["message"]["content"]


def test_all_that_was_sent_before_a_request_is_recorded_before_it():
    many = [{"type": "CUSTOM", "name": str(number), "value": "x" * 20_000} for number in range(200)]

    async def way(given, writer):
        writer.transport.set_write_buffer_limits(0)
        writer.write(HEAD + b"".join(map(frame, many)))
        # Of four megabytes the last leave here once the kit has read the first, and a request follows at once.
        await writer.drain()
        await asyncio.to_thread(ask, given["forwardedProps"]["conformance"]["model"]["base_url"])
        writer.write(frame(FINISHED))

    recording = played(way)
    kinds = [one.kind for one in recording.records if one.kind in ("agent/event", "model/request")]
    assert kinds == ["agent/event"] * 200 + ["model/request", "agent/event"]


RUNS = [
    {"user": "first", "session": "s1", "model": [{"say": "One."}]},
    {"user": "second", "session": "s2", "model": [{"say": "Two."}]},
    {"user": "third", "session": "s1", "model": [{"say": "Three."}]},
]


def tells(base_url):
    async def way(given, writer):
        text = await asyncio.to_thread(ask, base_url(given), given["messages"][-1]["content"])
        ids = {"threadId": given["threadId"], "runId": given["runId"]}
        writer.write(HEAD + frame({"type": "RUN_STARTED", **ids}))
        for kind, more in (("START", {"role": "assistant"}), ("CONTENT", {"delta": text}), ("END", {})):
            writer.write(frame({"type": f"TEXT_MESSAGE_{kind}", "messageId": given["runId"], **more}))
        writer.write(frame({"type": "RUN_FINISHED", **ids}))

    return way


@pytest.mark.parametrize("fixed", [False, True])
def test_two_sessions_each_reach_their_own_model_be_its_url_told_or_fixed(fixed, nothing_is_left):
    port = free_port()

    def base_url(given):
        told = given["forwardedProps"]["conformance"]["model"]["base_url"]
        return f"http://127.0.0.1:{port}/s/fixed/v1" if fixed else told

    words = f"#sessions,model_port={port}" if fixed else "#sessions"
    recording = played(tells(base_url), plan(runs=RUNS), words)
    said = [one["event"]["delta"] for one in of(recording, "agent/event") if "delta" in one["event"]]
    assert said == ["One.", "Two.", "Three."]
    first, second, third = (start["session"] for start in of(recording, "kit/run_start"))
    assert first == third != second


def test_a_run_after_one_that_died_is_played():
    ways = iter([resets, ENDS["whole"][0]])

    async def way(given, writer):
        await next(ways)(given, writer)

    recording = played(way, plan(runs=RUNS[:2]))
    assert [end["how"] for end in of(recording, "kit/run_end")] == ["died", "returned"]


def test_a_cancelled_run_loses_its_connection():
    async def through():
        begun, gone = asyncio.Event(), asyncio.Event()

        async def way(_given, writer):
            writer.write(HEAD + frame(STARTED))
            begun.set()
            try:
                while True:
                    writer.write(b": still here\n\n")
                    await writer.drain()
                    await asyncio.sleep(0.001)
            except ConnectionError:
                gone.set()
                raise

        async with raw(way) as url, connect(url) as agent:
            playing = asyncio.create_task(play(agent, plan(), Cell(), dialect({})))
            await begun.wait()
            agent.cancel(None, "r1")
            recording = await playing
            await gone.wait()
        return recording

    assert how(asyncio.run(through())) == "cancelled"
