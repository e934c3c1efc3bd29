"""Lets a client in a process of its own ask for every reply of the table, and says what it should have heard. Installs nothing."""

import asyncio
import json
from asyncio.subprocess import PIPE
from collections.abc import Mapping
from dataclasses import dataclass, field
from unittest.mock import ANY

from client_replies import REPLIES, STOPS, Endpoint

from fake_models.chunking import adversarial
from fake_models.messages import Text, Thinking
from fake_models.server import Server


@dataclass(frozen=True)
class Client:
    """
    An official client.

    `script` asks with it, over `wires`. `deaf_to` names, by wire, the fields that it keeps from its user.
    `stops` are its own words for how a reply ended, where it does not pass on the wire's.
    """

    name: str
    script: str
    wires: tuple[str, ...]
    deaf_to: Mapping[str, frozenset[str]] = field(default_factory=dict)
    stops: Mapping[str, str] | None = None


#: What a client hears where the script reports no usage, if not nothing: this wire always counts.
NO_USAGE = {"anthropic_messages": ANY}


class Guest:
    """A session without tools."""

    def __init__(self, reply, chunking):
        self.endpoint = Endpoint(reply, chunking=chunking)

    def app(self, below):
        return None

    async def settle(self):
        """Nobody listens."""

    async def tool(self, name, arguments, call_id):
        raise AssertionError(f"no client calls tools by itself, but {name!r} was called")


def said(client, wire, name):
    """What the client should hear of a reply."""
    reply = REPLIES[name]
    whole = {
        "text": "".join(part.text for part in reply.parts if isinstance(part, Text)),
        "thinking": "".join(part.text for part in reply.parts if isinstance(part, Thinking)),
        "ids": [call.id for call in reply.calls],
        "calls": [[call.name, json.loads(call.arguments)] for call in reply.calls],
        "stop": (client.stops or STOPS[wire])[reply.stop],
        "usage": NO_USAGE.get(wire) if reply.usage is None else [reply.usage.input, reply.usage.output],
    }
    return {key: value for key, value in whole.items() if key not in client.deaf_to.get(wire, ())}


async def answers(command, client, *, ways, env=None):
    """
    What the command printed, by wire, reply, whether it was streamed, and way: `server`, or a `transport` that the command makes.

    Streams of the server are cut where readers break, each in another way; those of a transport come by the character.
    """
    async with asyncio.timeout(300), Server() as server:
        cases = [
            {"wire": wire, "name": name, "stream": stream, "way": way}
            for wire in client.wires
            for name in REPLIES
            for stream in (False, True)
            for way in ways
        ]
        for number, case in enumerate(cases):
            served = case["way"] == "server"
            guest = Guest(REPLIES[case["name"]], adversarial(number))
            case["url"] = server.mount(f"s{number}", guest) if served else None
        process = await asyncio.create_subprocess_exec(
            *map(str, command), stdin=PIPE, stdout=PIPE, stderr=PIPE, env=env
        )
        out, err = await process.communicate(json.dumps(cases).encode())
    assert process.returncode == 0, err.decode()
    # Clients may print warnings of their own. Bytes end lines at line feeds only.
    lines = [json.loads(line) for line in out.splitlines() if line.startswith(b"{")]
    heard = {_key(line): _by_field(line["heard"]) for line in lines}
    assert heard.keys() == {_key(case) for case in cases}
    return heard


def _key(case):
    return case["wire"], case["name"], case["stream"], case["way"]


def _by_field(heard):
    """What a script printed, with the ids of calls apart from the rest of them; an error as it is."""
    if "error" in heard:
        return heard
    calls = heard["calls"]
    return {**heard, "ids": [call_id for call_id, _, _ in calls], "calls": [[name, given] for _, name, given in calls]}


def misheard(client, heard):
    """Every case in which a client heard other than what was said: what it heard, and what it should have."""
    wrong = {}
    for (wire, name, stream, way), got in heard.items():
        want = said(client, wire, name)
        deaf_to = client.deaf_to.get(wire, ())
        if {key: value for key, value in got.items() if key not in deaf_to} != want:
            wrong[wire, name, "streamed" if stream else "whole", way] = {"heard": got, "said": want}
    return wrong
