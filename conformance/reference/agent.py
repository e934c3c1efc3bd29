"""The reference as agents: one per dialect and entry, all of the same loop. Opens sessions; decides nothing."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from conformance.agent_side import AgentInfo, Bench, InProcessAgent, Outcome, RunInput, Runner
from conformance.dialect import Dialect, dialect
from conformance.reference.history import call_ids, chat_message
from conformance.reference.loop import HONEST, RAISED, play
from conformance.reference.run import Parts, Run, Session
from conformance.reference.steps import Event, adrive, drive

CAPABILITIES: Mapping[str, Any] = dict.fromkeys(
    ("sessions", "streaming", "wire_streaming", "tool_choice", "compaction"), True
)
Entry = Literal["sync", "async"]


def reference(
    declared: Mapping[str, Any] | None = None,
    *,
    entry: Entry = "sync",
    parts: Parts = HONEST,
    behaves: Mapping[str, Any] | None = None,
    bench: Callable[[Bench], Bench] = lambda bench: bench,
) -> InProcessAgent:
    """
    The reference in a dialect; keys not declared have the recommended value.

    The other arguments make liars and mutants of it: `parts` exchanges decisions, `behaves` is the dialect it acts by where
    that is not the declared one, `bench` changes what it is handed.
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
        knobs=("tool_choice",),
    )
    return InProcessAgent(info, lambda given: _RUNNERS[entry](bench(given), acts_by, parts, Session()))


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
        for item in drive(play(run), self.bench):
            yield from shown(item)


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
        async for item in adrive(play(run), self.bench):
            for one in shown(item):
                yield one


_RUNNERS: Mapping[Entry, Callable[[Bench, Dialect, Parts, Session], Runner]] = {"sync": _Sync, "async": _Async}


def _begun(opened: _Sync | _Async, given: RunInput) -> Run:
    """The state of a new run, with what the caller sent joined to the session's history."""
    session, tools = opened.session, given.input.get("tools") or ()
    sent = [chat_message(message) for message in given.input.get("messages", ())]
    session.messages += sent
    session.ids |= call_ids(sent)
    return Run(
        given=given,
        bench=opened.bench,
        dialect=opened.dialect,
        parts=opened.parts,
        session=session,
        limit=opened.parts.limit(given, opened.dialect),
        tools={tool["name"]: tool.get("parameters") or {"type": "object"} for tool in tools},
        offered=[_offered(tool) for tool in tools],
        rounds=opened.parts.rounds_before(session),
    )


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
    ("tool_exception", "error"),
    ("tool_exception", "raise"),
    ("extra_args", "drop"),
    ("extra_args", "pass"),
    ("parallel_tools", "sequential"),
    ("reasoning_events", "off"),
    ("usage_events", "per_run"),
    ("usage_events", "none"),
    ("final_text", "all_text"),
)

REFERENCE = reference()


def sensible_dialects() -> list[dict[str, Any]]:
    """The dialects that the reference must pass every rule in: each pair at the limit, then each other value alone."""
    pairs = [{"limit_text": text, "limit_terminal": terminal} for text, terminal in LIMITS]
    return pairs + [{name: value} for name, value in VARIED]
