"""One model call of the loop: what it asks, its attempts with their back-off, and the reply as it is heard."""

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.reference import events
from conformance.reference.acting import not_run
from conformance.reference.failing import Failure
from conformance.reference.hearing import Hearing, NoReply, Said, ToldError, as_chunk
from conformance.reference.history import Message, transcript
from conformance.reference.run import Run
from conformance.reference.steps import Ask, Open, Read, Steps, Wait
from fake_models.errors import ModelError, StreamBroken

#: How often one call is sent where its failures are transient, the first time included.
ATTEMPTS = 2
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

EVERYTHING = frozenset({"text", "reasoning", "calls"})
SPOKEN = frozenset({"text", "reasoning"})
NOTHING: frozenset[str] = frozenset()


def regular_body(run: Run, nudge: Sequence[Message]) -> dict[str, Any]:
    """A round's request: the history, the nudge behind it, all tools."""
    body: dict[str, Any] = {"model": run.bench.model_name, "messages": [*run.session.messages, *nudge]}
    if run.offered:
        body["tools"] = run.offered
        if choice := _choice(run):
            body["tool_choice"] = choice
    return body


def summary_body(run: Run) -> dict[str, Any]:
    """The request at the limit: the history, the instruction behind it, and no tool that could be called."""
    instruction = {"role": "user", "content": SUMMARY_INSTRUCTION}
    body: dict[str, Any] = {"model": run.bench.model_name, "messages": [*run.session.messages, instruction]}
    if run.offered and run.dialect.summary_tools == "choice_none":
        body |= {"tools": run.offered, "tool_choice": "none"}
    return body


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
    """One model call with its attempts. What the user sees of it goes out while it is heard."""
    if run.dialect.reasoning_events == "off":
        shown -= {"reasoning"}
    most = run.parts.attempts(run)
    sent = {"Authorization": f"Bearer {run.bench.api_key}"} | dict(headers or {})
    for attempt in range(most):
        hearing = Hearing(run.sound_id, run.message_id, shown)
        try:
            yield from _hear(run, hearing, body, sent | {RETRY_COUNT: str(attempt)})
        except (ModelError, StreamBroken, NoReply, ToldError) as error:
            yield from hearing.end()
            for call in hearing.announced:
                text = not_run("the reply broke off while this call was being spelled").text
                yield events.call_result(run.message_id(), call.id, text)
            failure = run.parts.failure(error)
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


def attempts(_run: Run) -> int:
    """How often a call is sent at most."""
    return ATTEMPTS


def _hear(run: Run, hearing: Hearing, body: Mapping[str, Any], headers: Mapping[str, str]) -> Steps[None]:
    if not run.given.stream:
        yield from hearing.hear(as_chunk((yield Ask(body, headers))))
        return
    stream = yield Open({**body, "stream_options": {"include_usage": True}}, headers)
    while (chunk := (yield Read(stream))) is not None:
        yield from hearing.hear(chunk)
    if hearing.stop is None:
        # A stream that just ends looks like a whole one to a reader that does not ask how it ended.
        raise StreamBroken("the stream ended without a finish reason")


def _choice(run: Run) -> Any:
    """The tool choice of a round. A forced one holds for the first only: the model could never answer otherwise."""
    choice = run.given.tool_choice
    if choice in (None, "auto", "none"):
        return choice
    if run.rounds > 1:
        return None
    return choice if choice == "required" else {"type": "function", "function": {"name": choice}}
