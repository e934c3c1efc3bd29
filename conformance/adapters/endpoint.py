"""
An AG-UI endpoint as its user names it, what is posted to it, and what its answer says where it is no event stream.

Pure: reaches nothing.
"""

import ipaddress
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit, urlunsplit

from conformance.agent_side import AgentInfo, RunInput
from conformance.dialect import CAPABILITIES
from conformance.errors import SpecError, guess

#: The version of AG-UI that the published client says it speaks.
PROTOCOL_VERSION = "1.0"
EVENT_STREAM = "text/event-stream"
#: The word behind the # that fixes the port of the fake model.
MODEL_PORT = "model_port"
#: What is told of a run beside AG-UI's own input, by the names that the command protocol has for it.
TOLD = ("model", "tools_url", "mcp_url", "limits", "tool_choice", "stream", "clock", "deadline_s")

#: What parts the words behind the #: a comma that stands in no object.
_COMMA = re.compile(r",(?![^{]*\})")

#: Capabilities that cannot be judged over AG-UI, and why.
_UNSEEN: Mapping[str, str] = {
    "cancel": "a run over AG-UI is cancelled by closing its connection, and nothing of it can be seen after that"
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where runs are posted and what is known of the agent there. `model_port` 0: any free one."""

    url: str
    info: AgentInfo
    loopback: bool
    model_port: int = 0

    @property
    def name(self) -> str:
        """As errors call it."""
        return f"agent 'agui:{self.url}'"


def endpoint(spec: str) -> Endpoint:
    """
    The endpoint of an `agui:` spec: a URL and, behind #, words parted by commas: capabilities, with their figures as JSON behind a
    `=` where they have some, and the fake model's port.

    Raises:
        SpecError: it is no such URL, or a word behind # is unknown.
    """
    parts = _parts(spec)
    words = [word.strip() for word in _COMMA.split(parts.fragment) if word.strip()]
    known = [name for name in CAPABILITIES if name not in _UNSEEN]
    ports = [word.partition("=")[2] for word in words if word.partition("=")[0] == MODEL_PORT]
    figures = {word.partition("=")[0]: word.partition("=")[2] for word in words if word.partition("=")[0] != MODEL_PORT}
    for word in figures:
        if word in _UNSEEN:
            raise SpecError(f"agent 'agui:{spec}': {word!r} cannot be declared: {_UNSEEN[word]}")
        if word not in known:
            raise SpecError(
                f"agent 'agui:{spec}': {word!r} behind # is neither {MODEL_PORT}=N nor a capability of docs/dialect.md"
                f"{guess(word, known)}"
            )
    host = parts.hostname or ""
    return Endpoint(
        url=urlunsplit((*parts[:4], "")),
        info=AgentInfo(
            name=f"{parts.netloc}{parts.path.rstrip('/')}",
            language="unknown",
            channels=("M", "T", "E"),
            capabilities={name: _figures(spec, name, text) for name, text in figures.items()},
        ),
        loopback=_loopback(host),
        model_port=_port(spec, ports[-1]) if ports else 0,
    )


def _figures(spec: str, name: str, text: str) -> Any:
    """What a capability is declared with: true, or the object of its figures."""
    try:
        return json.loads(text) if text else True
    except ValueError as error:
        raise SpecError(
            f"agent 'agui:{spec}': the figures of {name!r} are {text!r}, expected JSON, such as "
            f'guards={{"max_tool_calls":"caller"}}'
        ) from error


def _parts(spec: str) -> SplitResult:
    try:
        parts = urlsplit(spec)
        wrong = parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0
    except ValueError:
        wrong = True
    if wrong:
        raise SpecError(
            f"agent 'agui:{spec}': expected the URL that runs are posted to, as in agui:http://127.0.0.1:8000/agent"
        )
    if "@" in parts.netloc:
        at = parts.netloc.rpartition("@")[2]
        raise SpecError(
            f"agent 'agui:{parts.scheme}://…@{at}{parts.path}': the URL holds a name or password, which would stand in every "
            "report; let the endpoint take runs without one while it is tested"
        )
    return parts


def _port(spec: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 65536):
        raise SpecError(f"agent 'agui:{spec}': {MODEL_PORT} is {text!r}, expected a port from 1 to 65535")
    return int(text)


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def posted(given: RunInput) -> bytes:
    """
    The RunAgentInput of a run.

    Its `tools` are empty, since over AG-UI those are the client's own, whose calls end a run and are answered by the next. The
    scenario's tools are the agent's to run and are told beside the model, in `forwardedProps.conformance.tools`.
    """
    told = {key: getattr(given, key) for key in TOLD} | {"tools": given.input["tools"]}
    more = {**given.input["forwardedProps"], "conformance": told}
    return json.dumps({**given.input, "protocolVersion": PROTOCOL_VERSION, "tools": [], "forwardedProps": more}).encode(
        "ascii"
    )


def refusal(status: int, headers: Mapping[str, str], beginning: str) -> str | None:
    """Why an answer below 500 comes from no AG-UI agent: what came, what was expected, what to do. None for an event stream."""
    if 300 <= status < 400:
        place = headers.get("location", "nowhere")
        return f"it answered {status}, a redirect to {place!r}, which is not followed; name the URL that takes the runs itself"
    if not 200 <= status < 300:
        return (
            f"it answered {status} to a run: {beginning!r}; expected 200 with {EVENT_STREAM}. Is the path right, does it take POST, "
            "and does it need anything beside AG-UI's RunAgentInput?"
        )
    kind = headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() != EVENT_STREAM:
        return (
            f"it answered {status} with {kind or 'no content type'}: {beginning!r}; expected {EVENT_STREAM}. Is this the agent's URL, "
            "and not that of a page or of an API beside it?"
        )
    return None
