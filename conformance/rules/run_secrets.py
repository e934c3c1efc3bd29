"""RUN-6: no secret of a request shows in what the agent says, and its error names the cause. One check, no rule of its own."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from conformance.agui import reasoning_messages, text_messages, tool_calls
from conformance.outcome import actual, claimed, last_call
from conformance.rule import OK, SHOULD, Finding, Right
from conformance.view import Call, Run, View

Judged = Iterator[Finding | Literal[Right.OK]]

#: What a secret is written with. Requests are recorded with digests only, so a text is searched token by token.
_TOKEN = re.compile(r"[\w.\-]{8,}")
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
    clean = True
    for where, seq, text in _said(run):
        for token in {found.strip(".-_") for found in _TOKEN.findall(text)} | set(_TOKEN.findall(text)):
            digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
            if digest in secrets:
                clean = False
                # The finding must not leak what it complains of.
                yield Finding(
                    f"run {run.id}: {where} holds a secret of the model request: {token[:3]}…, {len(token)} characters, digest {digest}",
                    seq,
                )
                break
    if clean:
        yield OK


def _said(run: Run) -> Iterator[tuple[str, int, str]]:
    """Everything the agent said, with what it stands in. Deltas are joined too: a secret may be cut between two of them."""
    for event in run.events + run.strays:
        yield event.type, event.seq, json.dumps(event.data, ensure_ascii=False)
    for message in (*text_messages(run.events), *reasoning_messages(run.events)):
        yield f"message {message.id!r}", message.seq, message.text
    for call in tool_calls(run.events):
        yield f"call {call.id!r}", call.seq, call.arguments
    if run.said is not None:
        yield "the outcome", run.said.seq, f"{run.said.reason or ''} {run.said.text or ''}"
    if run.raised is not None:
        yield "the exception", run.raised.seq, run.raised.message
    for record in run.logs:
        yield "the log", record.seq, str(record.data.get("message"))


def _cause(run: Run, view: View) -> Judged:
    last, claim = last_call(run), claimed(run, view)
    if actual(run, view) != "model_error" or last is None or claim is None or claim.kind == "answered":
        return
    names = _names(last)
    if not names:
        return
    end = run.terminal.data if run.terminal is not None and run.terminal.type == "RUN_ERROR" else {}
    raised = f"{run.raised.exception} {run.raised.message}" if run.raised is not None else ""
    told = " ".join(str(part) for part in (end.get("message"), end.get("code"), claim.reason, raised) if part)
    if any(name.lower() in told.lower() for name in names):
        yield OK
    else:
        yield Finding(
            f"run {run.id}: {last.id} failed with {' / '.join(names)}, but the error says {told[:120]!r}; the status or the "
            "provider's code was expected in it",
            claim.seq,
            level=SHOULD,
        )


def _names(call: Call) -> tuple[str, ...]:
    """What names the failure: its status, and the provider's code, type and words. A broken stream has none of them."""
    reply = call.reply
    if reply is None or reply.status == 200:
        return ()
    fault: Any = (reply.fault or {}).get("error") or {}
    body = fault.get("body")
    inner = body.get("error") if isinstance(body, Mapping) else None
    said = [(inner or {}).get(key) for key in ("code", "type", "message")] if isinstance(inner, Mapping) else []
    return tuple(str(one) for one in (reply.status, *said) if one)
