"""What official clients hear that are installed for this; `make test-clients` runs it."""

import json

import node_clients
import pytest
import python_clients
from client_environments import HERE, node_modules, older_python
from client_replies import STOPS


@pytest.mark.parametrize("client", python_clients.CLIENTS.values(), ids=python_clients.CLIENTS.keys())
def test_an_older_python_client_hears_what_the_script_said(client):
    assert python_clients.wrong(older_python(), client) == {}


@pytest.mark.parametrize("version", ["newest", "older"])
@pytest.mark.parametrize("client", node_clients.CLIENTS.values(), ids=node_clients.CLIENTS.keys())
def test_a_javascript_client_hears_what_the_script_said(client, version, tmp_path):
    assert node_clients.wrong(node_modules(version), client, tmp_path) == {}


def test_the_older_openai_client_breaks_as_the_newest_does():
    assert python_clients.broken(older_python()) == python_clients.BROKEN


@pytest.mark.parametrize("version", ["newest", "older"])
def test_the_pins_of_a_javascript_environment_name_no_registry(version):
    lock = json.loads((HERE / "node" / version / "package-lock.json").read_text("utf-8"))

    assert [name for name, package in lock["packages"].items() if "resolved" in package] == []


def test_every_wire_is_heard_in_both_languages():
    both = (python_clients.CLIENTS.values(), node_clients.CLIENTS.values())

    assert [{wire for client in clients for wire in client.wires} for clients in both] == [set(STOPS), set(STOPS)]
