"""What a run's hooks and the agent's record of steps tell: CUSTOM events as values, and the hooks behind them. Judges nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.reading.view import Call, Run, View

CALLBACK = "conformance.callback"
RECORD = "conformance.record"
#: Hooks that only look on. A guardrail decides.
OBSERVING = frozenset({"before_model", "after_model", "before_tool", "after_tool"})
#: Hooks that are called for one tool call.
OF_TOOLS = frozenset({"before_tool", "after_tool", "guardrail"})


@dataclass(frozen=True, slots=True)
class Callback:
    """A hook of the caller's was called. `does` is what the hooks do that the run registers for it: tell, raise, stop, trip."""

    seq: int
    hook: str
    tool: str | None
    call_id: str | None
    does: frozenset[str]

    def __str__(self) -> str:
        """How findings name it."""
        at = "" if self.tool is None else f" at {self.tool}"
        return f"the hook {self.hook}{at}{'' if self.call_id is None else f' ({self.call_id})'}"


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the agent's record: from this event on it is in this state. `data` is all that the event carries."""

    seq: int
    name: str
    kind: str
    state: str
    reason: str
    data: Mapping[str, Any]

    @property
    def call_id(self) -> str | None:
        """The tool call that the step is about, for a step of kind `tool`."""
        given = _field(self.data, "callId")
        return given if given is not None else self.name.partition(":")[2] or None if self.kind == "tool" else None


def registered(run: Run) -> tuple[Mapping[str, Any], ...]:
    """The hooks that the run's caller registered."""
    return tuple(run.spec.knobs.get("callbacks", ())) if run.spec is not None else ()


def does(run: Run, hook: str, tool: str | None) -> frozenset[str]:
    """What the hooks of one kind do that are called for this tool; none where none is."""
    mine = (one for one in registered(run) if one["hook"] == hook)
    if hook in OF_TOOLS:
        mine = (one for one in mine if tool is None or one.get("tool") in (None, tool))
    return frozenset(one.get("does", "tell") for one in mine)


def callbacks(run: Run) -> tuple[Callback, ...]:
    """Every call of a hook that the events tell of, in order."""
    found = []
    for seq, value in _told(run, CALLBACK):
        hook, tool, call_id = (_field(value, name) for name in ("hook", "tool", "callId"))
        if hook is not None:
            found.append(Callback(seq, hook, tool, call_id, does(run, hook, tool)))
    return tuple(found)


def steps(run: Run) -> tuple[Step, ...]:
    """The run's record as the events tell it, in order. A step without a kind is of the kind that its name begins with."""
    found = []
    for seq, value in _told(run, RECORD):
        name, state, reason = (_field(value, one) for one in ("step", "state", "reason"))
        if name is not None and state is not None:
            kind = _field(value, "kind") or name.partition(":")[0]
            found.append(Step(seq, name, kind, state, reason or "", value))
    return tuple(found)


def told_at_the_end(run: Run) -> bool:
    """Whether all that a run tells comes when all is done, so that its events' places say nothing; its begin aside."""
    done = max((*(call.seq for call in run.calls), *(one.end_seq or one.seq for one in run.executions)), default=0)
    return all(event.seq > done for event in run.events if event.type != "RUN_STARTED")


def tells_of_hooks(view: View) -> bool:
    """Whether the agent tells of any hook at all: without that, nothing is known of them."""
    return any(callbacks(run) for run in view.runs)


def recorded(view: View) -> tuple[tuple[Run, tuple[Step, ...]], ...]:
    """The runs with a record and those that asked for one, once the agent shows any record at all."""
    told = [(run, steps(run)) for run in view.runs]
    if not any(found for _, found in told):
        return ()
    asked = (run.spec is not None and run.spec.knobs.get("tracing") is True for run in view.runs)
    return tuple(one for one, wanted in zip(told, asked, strict=True) if one[1] or wanted)


def may_keep_back(run: Run, tools: Iterable[str], view: View) -> bool:
    """Whether a hook that the run registers may keep calls of these tools from running, or end the run beside them."""
    if not view.has("callbacks"):
        return False
    raises = {"raise"} if view.dialect.listener_errors == "propagate" else set()
    named = tuple(tools)
    for one in registered(run):
        stopping = {"stop", "trip", "raise"} if one["hook"] == "guardrail" else {"stop"} | raises
        about = one["hook"] not in OF_TOOLS or one.get("tool") is None or one["tool"] in named
        if one.get("does") in stopping and about:
            return True
    return False


def requests_after(run: Run, seq: int) -> tuple[Call, ...]:
    """What the run still asks its model behind a record, calls that stand beside the loop aside."""
    return tuple(call for call in run.calls if call.seq > seq and call.role not in ("auxiliary", "compaction"))


def _told(run: Run, name: str) -> Iterable[tuple[int, Mapping[str, Any]]]:
    for event in run.events:
        value = event.data.get("value")
        if event.type == "CUSTOM" and event.data.get("name") == name and isinstance(value, Mapping):
            yield event.seq, value


def _field(value: Mapping[str, Any], name: str) -> str | None:
    """A text under its name, or under `call_id` for `callId`; None where there is none."""
    snake = "".join(f"_{char.lower()}" if char.isupper() else char for char in name)
    found = value.get(name, value.get(snake))
    return found if isinstance(found, str) and found else None
