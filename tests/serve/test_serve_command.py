"""`conformance serve` as a process: its one line, how it ends, and what it says where it cannot stand."""

import json
import os
import signal
import socket
import subprocess
import sys

import httpx2
import pytest
from click.testing import CliRunner
from serve_bench import TIDE
from serve_process import ENTRY, PATIENCE_S, ROOT, ended, serving

from conformance.cli import main
from fake_models.personas import PERSONAS
from fake_models.wire import CODECS


def refused(*words):
    """The exit code and the message of a command that does not stand."""
    result = CliRunner().invoke(main, ["serve", *words])
    assert result.stdout == ""
    return result.exit_code, result.stderr


def chat(line, name, text):
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    answer = httpx2.post(f"{line['sessions'][name]['openai_chat']}/chat/completions", json=body, timeout=PATIENCE_S)
    return answer.json()["choices"][0]["message"]


def test_a_folder_of_scenarios_stands_until_sigterm_which_is_exit_code_0(tmp_path):
    (tmp_path / "tide.yaml").write_text(TIDE, "utf-8")
    with serving(str(tmp_path), "--persona", "echo") as (process, line):
        assert set(line["sessions"]) == {"tide", "echo"}
        assert all(set(urls) == set(CODECS) for urls in line["sessions"].values())
        assert chat(line, "echo", "Hello?")["content"] == "Hello?"
        assert chat(line, "tide", "How high is the tide?")["tool_calls"][0]["function"]["name"] == "tide"
        assert ended(process, signal.SIGTERM) == (0, "", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_ctrl_c_and_a_closed_terminal_are_130_as_everywhere(number):
    with serving("--persona", "liar") as (process, _):
        assert ended(process, number) == (130, "", "interrupted\n")


TOLD_AT_IMPORT = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "fake_models.server":
            os.kill(os.getpid(), signal.{number})
sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize(
    ("number", "ends"), [("SIGTERM", (0, "")), ("SIGINT", (130, "interrupted\n")), ("SIGHUP", (130, "interrupted\n"))]
)
def test_it_ends_the_same_before_it_stands(number, ends):
    code = TOLD_AT_IMPORT.format(number=number) + ENTRY
    done = run(code, stdout=subprocess.PIPE)
    assert (done.returncode, done.stderr) == ends


def run(code, **streams):
    return subprocess.run(
        [sys.executable, "-c", code, "serve", "--persona", "echo"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=PATIENCE_S,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **streams,
    )


def test_where_nobody_can_read_where_it_stands_it_does_not_stand():
    code = f"import os; os.close(1); os.execv({sys.executable!r}, [{sys.executable!r}, '-c', {ENTRY!r}, 'serve', '--persona', 'echo'])"
    closed = run(code)
    assert (closed.returncode, closed.stderr) == (
        2,
        "stdout is closed, so that nobody can read where the sessions stand; open it\n",
    )
    reader, writer = os.pipe()
    os.close(reader)
    dead = run(ENTRY, stdout=writer)
    os.close(writer)
    assert (dead.returncode, dead.stderr) == (2, "the system refused: [Errno 32] Broken pipe\n")


def test_it_ends_at_once_while_a_client_waits_in_mid_stream():
    with serving("--persona", "echo") as (process, line):
        httpx2.post(f"{line['control']}/sessions/echo/fault", json={"stall": {"after_chunks": 1}}, timeout=PATIENCE_S)
        body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "?"}]}
        url = f"{line['sessions']['echo']['openai_chat']}/chat/completions"
        with httpx2.stream("POST", url, json=body, timeout=PATIENCE_S) as answer:
            parts = answer.iter_raw()
            assert next(parts)
            assert ended(process, signal.SIGTERM) == (0, "", "")
            with pytest.raises(httpx2.TransportError):
                list(parts)


def test_without_a_word_every_persona_stands():
    with serving() as (_, line):
        assert list(line["sessions"]) == list(PERSONAS)


def test_it_listens_on_this_machine_alone_and_on_the_port_it_is_told():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with serving("--persona", "echo", "--port", str(port)) as (process, line):
        assert line["control"] == f"http://127.0.0.1:{port}/control"
        assert ended(process, signal.SIGTERM)[2] == ""


def test_another_address_is_taken_where_it_is_asked_for_and_said():
    with serving("--persona", "echo", "--host", "0.0.0.0") as (process, line):
        assert line["control"].startswith("http://0.0.0.0:")
        said = ended(process, signal.SIGTERM)
        assert said == (0, "", "listening on 0.0.0.0: whoever reaches it is answered and controls the sessions\n")


def test_a_port_that_is_taken_is_exit_code_2_with_what_to_do():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, said = refused("--persona", "echo", "--port", str(port))
    assert code == 2
    assert f"cannot listen on 127.0.0.1, port {port}" in said
    assert "give another port" in said


WAITS = TIDE.replace("id: tide", "id: resumed").replace("  tide:\n", "  tide:\n    approval: true\n")
RESUMED = WAITS + "  - resume: [{approved: true}]\n    model: [{say: ok}]\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--persona", "loper"], "--persona 'loper': there is no such persona; did you mean 'looper'?"),
        (["--chunking", "wohle"], "--chunking 'wohle' is not known; expected one of whole, "),
        (["nowhere.yaml"], "no file, folder or scenario id has the name 'nowhere.yaml'"),
        (["resumed.yaml"], "this run resumes another, which no request tells"),
        (["echo.yaml", "--persona", "echo"], "'echo' is a scenario's id and a persona"),
        (["blank.yaml"], "scenario 'blank': came ' ', by which no request can be known"),
        (["--port", "70000"], "--port"),
        (["--host", ""], "--host: came '', expected an address or a name of this machine"),
        (["--host", "127.0.0.1/.."], "cannot listen on 127.0.0.1/.., port 0"),
        (["--host", "h\u00f6st..example"], "cannot listen on h\u00f6st..example, port 0"),
        (["--host", "a" * 300], f"cannot listen on {'a' * 100}, port 0"),
        (["--host", "\x1b[31mred.."], r"cannot listen on \x1b[31mred.., port 0"),
        (["--dialect", "stopp"], "did you mean 'stop'?"),
    ],
)
def test_what_cannot_stand_is_exit_code_2_before_anything_listens(tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "resumed.yaml").write_text(RESUMED, "utf-8")
    (tmp_path / "echo.yaml").write_text(TIDE.replace("id: tide", "id: echo"), "utf-8")
    (tmp_path / "blank.yaml").write_text(
        TIDE.replace("id: tide", "id: blank").replace("user: How high is the tide?", "user: ' '"), "utf-8"
    )
    code, message = refused(*words)
    assert code == 2
    assert said in message


def test_chance_has_one_seed_for_personas_and_chunking():
    with serving("--persona", "flaky", "--seed", "7", "--chunking", "adversarial", "--dialect", "stop") as (_, line):
        body = {"model": "m", "messages": [{"role": "user", "content": "?"}]}
        url = f"{line['sessions']['flaky']['openai_chat']}/chat/completions"
        statuses = [httpx2.post(url, json=body, timeout=PATIENCE_S).status_code for _ in range(20)]
        journal = httpx2.get(f"{line['control']}/sessions/flaky/journal", timeout=PATIENCE_S).text
    assert set(statuses) > {200}
    header = json.loads(journal.splitlines()[0])
    assert header["scenario"]["model"] == {"persona": "flaky", "seed": 7, "rate": 0.3}
    assert header["cell"] == {"stream": False, "chunking": "adversarial:7"}
    assert header["dialect"]["on_limit"] == "stop"


def test_what_takes_long_to_import_is_not_waited_for():
    telling = f"import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); {ENTRY}"
    with serving("--persona", "echo", entry=telling) as (process, _):
        _, _, modules = ended(process, signal.SIGTERM)
    heavy = {
        "starlette",
        "mcp",
        "yaml",
        "rich",
        "pydantic",
        "ag_ui",
        "httpx2",
        "freezegun",
        "jinja2",
        "jsonschema",
        "referencing",
        "conformance.rules",
    }
    assert heavy & set(modules.split()) == set()
