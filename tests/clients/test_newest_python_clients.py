import sys

import pytest
from hearing import misheard
from python_clients import BROKEN, CLIENTS, broken, wrong


@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS.keys())
def test_a_python_client_hears_what_the_script_said(client):
    assert wrong(sys.executable, client) == {}


def test_the_openai_client_tells_its_user_what_broke():
    assert broken(sys.executable) == BROKEN


def test_a_client_that_hears_less_or_other_than_was_said_is_found():
    heard = {"text": "Hello, world.", "thinking": "", "ids": [], "calls": [], "stop": "stop", "usage": [11, 3]}
    cases = {
        ("ollama", "text", False, "server"): heard,
        ("ollama", "text", True, "server"): {**heard, "text": "Hello, world"},
        ("ollama", "text", False, "transport"): {key: value for key, value in heard.items() if key != "stop"},
        ("ollama", "text", True, "transport"): {"error": "ValueError: x"},
    }

    assert misheard(CLIENTS["ollama"], cases).keys() == {
        ("ollama", "text", "streamed", "server"),
        ("ollama", "text", "whole", "transport"),
        ("ollama", "text", "streamed", "transport"),
    }
