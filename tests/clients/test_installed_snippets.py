"""The snippets in JavaScript of docs/serve.md print what they say, with the newest clients."""

import subprocess

import pytest
from client_environments import node_modules
from node_clients import NODE
from serve_page import pointed, snippets
from serve_process import PATIENCE_S, serving


@pytest.mark.parametrize("sdk", snippets("javascript"))
def test_a_snippet_in_javascript_prints_what_was_asked(sdk, tmp_path):
    (tmp_path / "node_modules").symlink_to(node_modules("newest"))
    script = tmp_path / "snippet.mjs"
    with serving("--persona", "echo") as (_, line):
        script.write_text(pointed(snippets("javascript")[sdk], line["control"]), "utf-8")
        done = subprocess.run([NODE, script], capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Hello?\n", "")
