"""One model call of the loop: what it asks, its attempts with their back-off, and the reply as it is heard."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.reference import events, telling
from conformance.reference.acting import not_run
from conformance.reference.failing import Failure
from conformance.reference.hearing import Hearing, NoReply, Said, ToldError, as_chunk
from conformance.reference.history import Message, as_text, transcript
from conformance.reference.run import Ending, Run
from conformance.reference.steps import Ask, Close, Open, Read, Steps, Wait
from fake_models.errors import ModelError, StreamBroken

#: How often one call is sent where its failures are transient, the first time included.
ATTEMPTS = 2
#: As the kit's models count, see a scenario's `model.estimator`.
BYTES_PER_TOKEN = 4
#: Seconds before the second attempt; doubles with each.
BACK_OFF_S = 0.5
#: The failures that are sent again, by `http_retry`. An overflow never is: the same prompt is too long every time.
SENT_AGAIN: Mapping[str, frozenset[str]] = {
    "transient": frozenset({"transient"}),
    "none": frozenset(),
    "all": frozenset({"transient", "final"}),
}
#: Counts the attempts of a request, by the name under which the official SDKs send it: an attempt is no round.
RETRY_COUNT = "X-Stainless-Retry-Count"

SUMMARY_INSTRUCTION = (
    "No further tool can be called. Answer the user now, from the results above, and say what could not be finished."
)
COMPACTION_INSTRUCTION = "Summarise this conversation in a few sentences, keeping every name, number and decision:\n\n"

CANCELLED = Failure("cancelled", "the run was cancelled")

EVERYTHING = frozenset({"text", "reasoning", "calls"})
SPOKEN = frozenset({"text", "reasoning"})
NOTHING: frozenset[str] = frozenset()


class _Cancelled(Exception):  # noqa: N818 - what happened
    """The caller wants the run to end, while a reply is heard."""


def regular_body(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
    """A round's request: the history, the nudge behind it, all tools."""
    body: dict[str, Any] = {"model": run.bench.model_name, "messages": [*told(run), *nudge]}
    if run.offered:
        body["tools"] = run.offered
        if choice := _choice(run):
            body["tool_choice"] = choice
    return body


def told(run: Run) -> list[Message]:
    """The history as the model is told it: calls and results in the wire's own messages, or in words."""
    return as_text(run.session.messages) if run.dialect.tool_history == "text" else run.session.messages


def summary_body(run: Run) -> dict[str, Any]:
    """The request at the limit: the history, the instruction behind it, and no tool that could be called."""
    instruction = {"role": "user", "content": SUMMARY_INSTRUCTION}
    body: dict[str, Any] = {"model": run.bench.model_name, "messages": [*told(run), instruction]}
    if run.offered and run.dialect.summary_tools == "choice_none":
        body |= {"tools": run.offered, "tool_choice": "none"}
    return body


def too_large(run: Run, body: Mapping[str, Any]) -> bool:
    """Whether a request is larger than the model's window, where that is known. A token is four bytes of its messages."""
    window = run.given.model.get("context_window")
    if window is None:
        return False
    size = len(json.dumps(body["messages"], ensure_ascii=False, separators=(",", ":")).encode())
    return size > BYTES_PER_TOKEN * int(window)


def bounded(run: Run, text: str) -> str:
    """A result as it joins the history: at most a quarter of the model's window, where that is known, and saying so."""
    window = run.given.model.get("context_window")
    most = len(text) if window is None else int(window)
    if len(text) <= most:
        return text
    return f"{text[:most]}\n[cut: {len(text)} characters, of which the first {most} are shown]"


def compaction_body(run: Run, older: Sequence[Message], size: int) -> dict[str, Any]:
    """The request for a digest of older messages: a quarter of the refused size, since it must fit where that did not."""
    content = COMPACTION_INSTRUCTION + transcript(older, size // 4)
    return {"model": run.bench.model_name, "messages": [{"role": "user", "content": content}]}


def ask(
    run: Run,
    body: Mapping[str, Any],
    *,
    headers: Mapping[str, str] | None = None,
    shown: frozenset[str] = EVERYTHING,
) -> Steps[Said | Failure]:
    """One model call, between the hooks before and after it. What the user sees of it goes out while it is heard."""
    if run.cancelled:
        return CANCELLED
    if (end := (yield from telling.hooks(run, "before_model"))) is not None:
        return _not_heard(end)
    run.asked += 1
    name = str(run.asked)
    yield from telling.step(run, "model", name, "running", "the loop asked")
    heard = yield from _attempted(run, body, headers, shown)
    came, why = ("done", "it replied") if isinstance(heard, Said) else (_STATES.get(heard.kind, "failed"), heard.cause)
    yield from telling.step(run, "model", name, came, why)
    if (end := (yield from telling.hooks(run, "after_model"))) is None:
        return heard
    for call in heard.calls if isinstance(heard, Said) and "calls" in shown else ():
        text = not_run(f"the run was stopped before this call was run: {end.reason}").text
        yield events.call_result(run.message_id(), call.id, text)
    return _not_heard(end)


#: The state of a call's step by how it failed.
_STATES = {"cancelled": "cancelled"}


def _not_heard(end: Ending) -> Failure:
    """What a hook kept the loop from asking, or from hearing."""
    return Failure("stopped" if end.terminal == "error" else "hook", end.reason or end.kind)


def _attempted(
    run: Run, body: Mapping[str, Any], headers: Mapping[str, str] | None, shown: frozenset[str]
) -> Steps[Said | Failure]:
    """One model call with its attempts."""
    if run.dialect.reasoning_events == "off":
        shown -= {"reasoning"}
    most = run.parts.attempts(run)
    sent = {"Authorization": f"Bearer {run.bench.api_key}"} | dict(headers or {}) | dict(run.headers)
    for attempt in range(most):
        hearing = Hearing(run.sound_id, run.message_id, shown)
        try:
            yield from _hear(run, hearing, body, sent | {RETRY_COUNT: str(attempt)})
        except (ModelError, StreamBroken, NoReply, ToldError, _Cancelled) as error:
            yield from hearing.end()
            for call in hearing.announced:
                text = not_run("the reply broke off while this call was being spelled").text
                yield events.call_result(run.message_id(), call.id, text)
            failure = CANCELLED if run.cancelled else run.parts.failure(error)
            if failure.kind not in SENT_AGAIN[run.dialect.http_retry] or attempt + 1 == most:
                return failure
            yield Wait(max(BACK_OFF_S * 2**attempt, failure.wait_s))
        else:
            yield from hearing.end()
            if hearing.usage is not None:
                run.spent.append(hearing.usage)
                if run.dialect.usage_events == "per_call":
                    yield events.token_usage(hearing.id, hearing.usage)
            return hearing.reply()
    raise AssertionError("the last attempt returns")


def attempts(run: Run) -> int:
    """How often a call is sent at most: once, and again as often as the caller allows."""
    retries = run.given.limits.get("retries")
    return ATTEMPTS if retries is None else 1 + int(retries)


def _hear(run: Run, hearing: Hearing, body: Mapping[str, Any], headers: Mapping[str, str]) -> Steps[None]:
    if not run.given.stream:
        yield from hearing.hear(as_chunk((yield Ask(body, headers))))
        _go_on(run)
        return
    stream = yield Open({**body, "stream_options": {"include_usage": True}}, headers)
    try:
        while (chunk := (yield Read(stream))) is not None:
            yield from hearing.hear(chunk)
            _go_on(run)
    except (NoReply, ToldError, _Cancelled):
        yield Close(stream)
        raise
    if hearing.stop is None:
        # A stream that just ends looks like a whole one to a reader that does not ask how it ended.
        raise StreamBroken("the stream ended without a finish reason")


def _go_on(run: Run) -> None:
    if run.cancelled:
        raise _Cancelled


def _choice(run: Run) -> Any:
    """The tool choice of a round. A forced one holds for the first only: the model could never answer otherwise."""
    choice = run.given.tool_choice
    if choice in (None, "auto", "none"):
        return choice
    if run.rounds > 1:
        return None
    return choice if choice == "required" else {"type": "function", "function": {"name": choice}}
