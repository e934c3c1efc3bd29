"""RUN-6: no secret of a request shows in what the agent says, and its error names the cause. One check, no rule of its own."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from conformance.reading.failures import names
from conformance.reading.outcome import actual, claimed, last_call
from conformance.reading.own_logs import own_logs
from conformance.reading.view import Call, Run, View
from conformance.rule import OK, SHOULD, Finding, Judged

#: What a secret is written with. Requests are recorded with digests only, so a text is searched token by token.
_TOKEN = re.compile(r"[A-Za-z0-9_.\-/+~%=:]{8,}")
#: What may glue a secret to its neighbours, as in a path, a query, a file's name; a secret may hold some of it itself.
_GLUE = re.compile(r"([._\-/+~%=:]+)")
#: How many parts between glue a secret may have, and how few characters no secret has.
_PARTS, _SHORTEST = 12, 8
_BASE64 = re.compile(r"[A-Za-z0-9+/_\-]{12,}={0,2}")
#: Escapes of JSON inside JSON, whose letter would stick to the token behind it.
_ESCAPE = re.compile(r"\\+[nrtbf]")
#: Hex digits that a recorded digest keeps.
_DIGITS = 16


def no_secret_shows(view: View) -> Judged:
    """Judge each run that sent a secret, and each that a model failure ended."""
    secrets = frozenset(
        digest
        for record in view.recording.records
        if record.kind == "model/request"
        for digest in record.data.get("secrets") or ()
    )
    for run in view.runs:
        if secrets:
            yield from _leaks(run, secrets)
        yield from _cause(run, view)


def _leaks(run: Run, secrets: frozenset[str]) -> Judged:
    texts = (*_said(run), *_joined(run))
    # All texts at once first: nearly no run leaks, and most of what events say, every event of their type says.
    if not _held("\n".join(dict.fromkeys(text for _, _, text in texts)), secrets):
        yield OK
        return
    found_in: set[str] = set()
    for where, seq, text in texts:
        for token, digest in _held(text, secrets).items():
            # What a delta alone shows is not said again of its whole message.
            if not (where.startswith("joined") and digest in found_in):
                found_in.add(digest)
                # The finding must not leak what it complains of.
                yield Finding(
                    f"run {run.id}: {where} holds a secret of the model request: {token[:3]}…, {len(token)} characters, digest {digest}",
                    seq,
                )
                break


def _held(text: str, secrets: frozenset[str]) -> dict[str, str]:
    """The tokens of a text that are secrets, with their digests."""
    plain = unquote(_ESCAPE.sub(" ", text))
    tokens = set(_TOKEN.findall(text)) | set(_TOKEN.findall(plain))
    tokens |= {token for one in set(_BASE64.findall(plain)) for token in _TOKEN.findall(_decoded(one))}
    digests = {part: _digest(part) for part in {part for token in tokens for part in _parts(token)}}
    return {token: digest for token, digest in sorted(digests.items()) if digest in secrets}


def _parts(token: str) -> Iterator[str]:
    """The token and everything it is glued together from."""
    yield token
    pieces = _GLUE.split(token)
    for start in range(0, len(pieces), 2):
        part = ""
        for end in range(start, min(start + 2 * _PARTS, len(pieces)), 2):
            part += pieces[end] if end == start else pieces[end - 1] + pieces[end]
            if len(part) >= _SHORTEST:
                yield part


def _decoded(text: str) -> str:
    """What a text says as base64, "" where it is none."""
    bare = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4)).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return ""


# Names of tools, events and fields come again in every recording of a suite.
@lru_cache(maxsize=65_536)
def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def _said(run: Run) -> Iterator[tuple[str, int, str]]:
    """Everything the agent said, with what it stands in."""
    for event in run.events + run.strays:
        for text in _strings(event.data):
            yield event.type, event.seq, text
    if run.said is not None:
        yield "the outcome", run.said.seq, f"{run.said.reason or ''} {run.said.text or ''}"
    if run.raised is not None:
        yield "the exception", run.raised.seq, run.raised.message
    for record in own_logs(run):
        yield "the log", record.seq, str(record.data.get("message"))


def _joined(run: Run) -> Iterator[tuple[str, int, str]]:
    """What deltas join to: a secret may be cut between two of them."""
    for message in (*run.shown.text_messages, *run.shown.reasoning_messages):
        yield f"joined message {message.id!r}", message.seq, message.text
    for call in run.shown.tool_calls:
        yield f"joined call {call.id!r}", call.seq, call.arguments


def _strings(value: Any) -> Iterator[str]:
    # Texts first: they are most of what there is, and to find out what is a Mapping costs most.
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield str(key)
            yield from _strings(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _strings(one)


def _cause(run: Run, view: View) -> Judged:
    last, claim = last_call(run), claimed(run, view)
    if actual(run, view) != "model_error" or last is None or claim is None or claim.kind == "answered":
        return
    named = _names(last)
    if not named:
        return
    end = run.terminal.data if run.terminal is not None and run.terminal.type == "RUN_ERROR" else {}
    raised = f"{run.raised.exception} {run.raised.message}" if run.raised is not None else ""
    told = " ".join(str(part) for part in (end.get("message"), end.get("code"), claim.reason, raised) if part)
    if any(name.lower() in told.lower() for name in named):
        yield OK
    else:
        yield Finding(
            f"run {run.id}: {last.id} failed with {' / '.join(named)}, but the error says {told[:120]!r}; the status or the "
            "provider's code was expected in it",
            claim.seq,
            level=SHOULD,
        )


def _names(call: Call) -> tuple[str, ...]:
    """What names the failure: its status, and the provider's code, type and words. A broken stream has none of them."""
    came = call.reply.status if call.reply is not None else 200
    return () if came == 200 else (str(came), *names(call))
