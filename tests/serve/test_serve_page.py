"""docs/serve.md is true: its snippets run as they stand, its tables are those of the kit, its commands are the kit's."""

import json
import re
import shlex
import subprocess
import sys

import click
import httpx2
import pytest
from serve_page import PAGE, pointed, snippets
from serve_process import PATIENCE_S, serving

from conformance.cli import main
from conformance.serving.sessions import MOST_BYTES, MOST_RECORDS
from fake_models.http_requests import MAX_BODY_BYTES
from fake_models.personas import DEFAULT_RATE, PERSONAS
from fake_models.wire import CODECS


@pytest.fixture(scope="module")
def line():
    with serving("--persona", "echo") as (_, line):
        yield line


def block(name):
    return re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", PAGE, re.DOTALL)[1]


def test_each_sdk_has_its_snippet():
    assert list(snippets("python")) == ["openai, Chat", "openai, Responses", "anthropic", "google-genai", "ollama"]
    assert list(snippets("javascript")) == ["openai", "@anthropic-ai/sdk", "ai"]


@pytest.mark.parametrize("sdk", snippets("python"))
def test_a_snippet_in_python_prints_what_was_asked(sdk, line):
    code = pointed(snippets("python")[sdk], line["control"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Hello?\n", "")


def test_the_readiness_line_is_as_it_is_shown(line):
    shown = json.loads(re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)[1])
    assert shown.keys() == line.keys()
    assert set(shown["sessions"]["echo"]) <= set(CODECS)
    told = json.loads(pointed(json.dumps(shown), line["control"]))
    assert told["control"] == line["control"]
    assert told["sessions"]["echo"].items() <= line["sessions"]["echo"].items()


def test_the_personas_are_all_there_and_do_what_they_are_said_to():
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", block("personas"), re.MULTILINE)
    assert dict(rows) == {name: habit.says for name, habit in PERSONAS.items()}
    assert f"The share is\n{DEFAULT_RATE} unless" in PAGE


def test_the_routes_exist(line):
    rows = re.findall(r"^\| `(\w+) (/control\S*)` \|", block("routes"), re.MULTILINE)
    assert len(rows) == 7
    root = line["control"].removesuffix("/control")
    for method, path in rows:
        answer = httpx2.request(method, root + path, timeout=PATIENCE_S)
        # Nobody has opened a session of that token: what is said is of the session, not of the route.
        assert answer.status_code in (200, 404, 422)
        assert "expected one of" not in answer.text or answer.status_code == 422


def test_the_journal_is_as_long_as_it_is_said_to_be():
    assert f"newest {MOST_RECORDS:,} records" in PAGE
    assert f"of {MOST_BYTES // 2**20} MiB" in PAGE
    assert f"body of more than {MAX_BODY_BYTES // 2**20} MiB" in PAGE


def test_the_commands_shown_are_commands():
    shown = [shlex.split(text, comments=True) for text in re.findall(r"^    (conformance .+)$", PAGE, re.MULTILINE)]
    assert len(shown) == 4
    for _, verb, *words in shown:
        command = main.get_command(click.Context(main), verb)
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known
