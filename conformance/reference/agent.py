"""The reference as agents: one per dialect and entry, all of the same loop. Opens sessions; decides nothing."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from conformance.agent_side import AgentInfo, Bench, InProcessAgent, Outcome, RunInput, Runner
from conformance.dialect import Dialect, dialect
from conformance.reference import answering, breaker, children, gate, guards
from conformance.reference.acting import untyped
from conformance.reference.asking import ATTEMPTS
from conformance.reference.ending import RAISED
from conformance.reference.history import call_ids, chat_message
from conformance.reference.loop import HONEST, play
from conformance.reference.run import Parts, Run, Session
from conformance.reference.sessions import left, one_each
from conformance.reference.steps import Event, adrive, drive

CAPABILITIES: Mapping[str, Any] = {
    **dict.fromkeys(("sessions", "streaming", "wire_streaming", "tool_choice", "compaction", "concurrent_runs"), True),
    **dict.fromkeys(("approval", "cancel", "callbacks", "records", "subagents"), True),
    "guards": {"max_tool_calls": "caller", "max_same_call": "caller", "token_budget": "caller"},
    "circuit_breaker": {
        "kind": "consecutive",
        "threshold": breaker.THRESHOLD,
        "window_s": breaker.WINDOW_S,
        "recovery_s": breaker.RECOVERY_S,
    },
    "tool_timeout": {"seconds": guards.TOOL_TIMEOUT_S, "retries": 0},
    "retries": {"http": ATTEMPTS - 1},
    "completion_gate": {"retries": gate.RETRIES},
}
KNOBS = ("tool_choice", "tracing", "debug", "callbacks", "gate", "subagents")
Entry = Literal["sync", "async"]


def reference(
    declared: Mapping[str, Any] | None = None,
    *,
    entry: Entry = "sync",
    parts: Parts = HONEST,
    behaves: Mapping[str, Any] | None = None,
    bench: Callable[[Bench], Bench] = lambda bench: bench,
    sessions: Callable[[], Callable[[], Session]] = one_each,
) -> InProcessAgent:
    """
    The reference in a dialect; keys not declared have the recommended value.

    The other arguments make liars and mutants of it: `parts` exchanges decisions, `behaves` is the dialect it acts by where
    that is not the declared one, `bench` changes what it is handed, `sessions` makes what opens the sessions of one agent.
    """
    said = dict(declared or {})
    said["exceptions"] = {error.__name__: kind for kind, error in RAISED.items()}
    acts_by = dialect(said | dict(behaves or {}))
    info = AgentInfo(
        name="reference",
        version="1",
        profile="reference",
        channels=("M", "T", "E", "R", "U", "L"),
        dialect=said,
        capabilities=CAPABILITIES,
        knobs=KNOBS,
    )
    session = sessions()
    return InProcessAgent(info, lambda given: _RUNNERS[entry](bench(given), acts_by, parts, session()))


@dataclass(frozen=True, slots=True)
class _Sync:
    """A session that is iterated."""

    bench: Bench
    dialect: Dialect
    parts: Parts
    session: Session

    def run(self, given: RunInput) -> Iterator[Event | Outcome]:
        """One run, see `conformance.agent_side.Runner`."""
        run = _begun(self, given)
        shown = self.parts.shown(run)
        try:
            for item in drive(play(run), self.bench, lambda: run.cancelled):
                yield from shown(item)
        finally:
            left(self.session, given.run)

    def cancel(self, run: str) -> None:
        """The run is to end: nothing more is begun for it."""
        self.session.cancelled.add(run)


@dataclass(frozen=True, slots=True)
class _Async:
    """A session that is iterated on an event loop."""

    bench: Bench
    dialect: Dialect
    parts: Parts
    session: Session

    async def run(self, given: RunInput) -> AsyncIterator[Event | Outcome]:
        """One run, see `conformance.agent_side.Runner`."""
        run = _begun(self, given)
        shown = self.parts.shown(run)
        try:
            async for item in adrive(play(run), self.bench, lambda: run.cancelled):
                for one in shown(item):
                    yield one
        finally:
            left(self.session, given.run)

    def cancel(self, run: str) -> None:
        """The run is to end: nothing more is begun for it."""
        self.session.cancelled.add(run)


_RUNNERS: Mapping[Entry, Callable[[Bench, Dialect, Parts, Session], Runner]] = {"sync": _Sync, "async": _Async}


def _begun(opened: _Sync | _Async, given: RunInput) -> Run:
    """The state of a new run, with what the caller sent joined to the session's history."""
    session, typed = opened.session, opened.dialect.type_check == "loop"
    tools = [*(given.input.get("tools") or ()), *children.tools(given.knobs), *answering.tools(opened.dialect)]
    sent = opened.parts.repaired([chat_message(message) for message in given.input.get("messages", ())])
    refused = not opened.parts.entered(session, given.run)
    if not refused:
        session.ids |= call_ids(sent)
    if not refused and session.waiting is None:
        session.messages += sent
    return Run(
        given=given,
        bench=opened.bench,
        dialect=opened.dialect,
        parts=opened.parts,
        session=session,
        limit=opened.parts.limit(given, opened.dialect),
        tools={tool["name"]: schema if typed else untyped(schema) for tool, schema in _schemas(tools)},
        offered=[_offered(tool) for tool in tools],
        guarded=frozenset(tool["name"] for tool in tools if (tool.get("metadata") or {}).get("approval")),
        sent=sent,
        refused=refused,
        rounds=opened.parts.rounds_before(session),
    )


def _schemas(tools: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    return ((tool, tool.get("parameters") or {"type": "object"}) for tool in tools)


def _offered(tool: Mapping[str, Any]) -> dict[str, Any]:
    function = {
        "name": tool["name"],
        "description": tool["description"],
        "parameters": tool.get("parameters") or {"type": "object"},
    }
    return {"type": "function", "function": function}


#: The pairs of limit_text and limit_terminal that go together: a text needs an end that lets it be read.
LIMITS = (
    *((text, terminal) for text in ("model", "canned", "last_result") for terminal in ("finished", "flagged")),
    ("none", "flagged"),
    ("none", "error"),
    ("none", "raise"),
)

#: Every other value that the loop implements, to be varied one at a time.
VARIED: tuple[tuple[str, Any], ...] = (
    ("limit_marker", "custom"),
    ("summary_tools", "choice_none"),
    ("summary_failure", "error"),
    ("default_max_iters", 3),
    ("default_max_iters", "unlimited"),
    ("last_round_tools", "skip"),
    ("retry_budget", "counts"),
    ("empty_response", {"retry_then_error": 2}),
    ("empty_response", "finish"),
    ("empty_response", "continue"),
    ("empty_response", "error"),
    ("recovery_scope", "run"),
    ("prompt_too_long", {"compact_then_error": 2}),
    ("prompt_too_long", "error"),
    ("model_error", "raise"),
    ("length_stop", "continue"),
    ("length_stop", "flag"),
    ("http_retry", "none"),
    ("http_retry", "all"),
    ("unknown_tool", "error"),
    ("unknown_tool", "raise"),
    ("bad_arguments", "error"),
    ("bad_arguments", "raise"),
    ("type_check", "tool"),
    ("bad_ids", "refuse"),
    ("tool_exception", "error"),
    ("tool_exception", "raise"),
    ("extra_args", "drop"),
    ("extra_args", "pass"),
    ("parallel_tools", "sequential"),
    ("tool_history", "text"),
    ("answer_by", "tool:final_answer.text"),
    ("reasoning_events", "off"),
    ("usage_events", "per_run"),
    ("usage_events", "none"),
    ("final_text", "all_text"),
    ("listener_errors", "propagate"),
)

REFERENCE = reference()


def sensible_dialects() -> list[dict[str, Any]]:
    """The dialects that the reference must pass every rule in: each pair at the limit, then each other value alone."""
    pairs = [{"limit_text": text, "limit_terminal": terminal} for text, terminal in LIMITS]
    return pairs + [{name: value} for name, value in VARIED]
