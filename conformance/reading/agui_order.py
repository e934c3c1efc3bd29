"""The order of an AG-UI stream as the published client checks it: brackets, ends, owners. Pure; knows no shape and no rule."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.reading.agui import Event, Refusal, expand, value


@dataclass(frozen=True, slots=True)
class Bracket:
    """What opens, fills and closes one kind of thing, and the field that names it. `owned`: it belongs to one subagent."""

    noun: str
    start: str
    inside: tuple[str, ...]
    ends: tuple[str, ...]
    key: str
    owned: bool = True


#: In the order in which the client looks for what is still open.
BRACKETS = (
    Bracket("step", "STEP_STARTED", (), ("STEP_FINISHED",), "stepName", owned=False),
    Bracket("text message", "TEXT_MESSAGE_START", ("TEXT_MESSAGE_CONTENT",), ("TEXT_MESSAGE_END",), "messageId"),
    Bracket(
        "reasoning message",
        "REASONING_MESSAGE_START",
        ("REASONING_MESSAGE_CONTENT",),
        ("REASONING_MESSAGE_END",),
        "messageId",
    ),
    Bracket("reasoning span", "REASONING_START", (), ("REASONING_END",), "messageId"),
    Bracket("tool call", "TOOL_CALL_START", ("TOOL_CALL_ARGS",), ("TOOL_CALL_END",), "toolCallId"),
    Bracket("subagent", "SUBAGENT_STARTED", (), ("SUBAGENT_FINISHED", "SUBAGENT_ERROR"), "subagentRunId", owned=False),
)
_OF = {name: one for one in BRACKETS for name in (one.start, *one.inside, *one.ends)}
#: What the client knows; it drops events of other types before it looks at their order.
_KNOWN = frozenset(_OF) | frozenset(
    [
        "RUN_STARTED",
        "RUN_FINISHED",
        "RUN_ERROR",
        "TOOL_CALL_RESULT",
        "STATE_SNAPSHOT",
        "STATE_DELTA",
        "MESSAGES_SNAPSHOT",
        "ACTIVITY_SNAPSHOT",
        "ACTIVITY_DELTA",
        "RAW",
        "CUSTOM",
        "REASONING_ENCRYPTED_VALUE",
    ]
)


@dataclass(frozen=True, slots=True)
class LeftOpen:
    """A bracket that was still open at a terminal event. `seq` is the terminal's record, `opened` the start's."""

    seq: int
    terminal: str
    noun: str
    name: str
    opened: int


@dataclass(frozen=True, slots=True)
class Order:
    """
    What a stream's order shows. `opened` counts the brackets, `named` those with an id: steps have names, which may recur.

    `refused` is what the client refuses, each fault once: what follows from it is not blamed again. `reopened` are starts of
    closed ids, which the client lets pass.
    """

    opened: int
    named: int
    refused: tuple[Refusal, ...]
    reopened: tuple[Refusal, ...]
    left_open: tuple[LeftOpen, ...]


@dataclass(slots=True)
class _Run:
    """What the client remembers of one run; it starts anew with every RUN_STARTED."""

    ended: str | None = None
    begun: bool = False
    open: dict[tuple[str, Any], int] = field(default_factory=dict)
    closed: set[tuple[str, Any]] = field(default_factory=set)
    blamed: set[tuple[str, Any]] = field(default_factory=set)
    owners: dict[tuple[str, Any], Any] = field(default_factory=dict)


def order(events: Sequence[Event]) -> Order:
    """What the client makes of a whole stream, which may hold several runs."""
    expanded, chunks = expand(events)
    refused, reopened, left = list(chunks), list[Refusal](), list[LeftOpen]()
    opened = named = 0
    run = _Run()
    for event in expanded:
        if event.type not in _KNOWN:
            continue
        if event.type == "RUN_STARTED":
            if run.begun and run.ended is None:
                refused.append(Refusal(event.seq, "RUN_STARTED comes while the run before is still active"))
            run = _Run(begun=True)
            continue
        refused += _out_of_place(event, run)
        if event.type in ("RUN_FINISHED", "RUN_ERROR"):
            left += [LeftOpen(event.seq, event.type, kind, _name(key), at) for (kind, key), at in _in_order(run)]
            run.open.clear()
            run.ended = run.ended or event.type
            run.begun = True
        elif (bracket := _OF.get(event.type)) is not None and (key := _key(bracket, event)) is not None:
            opened += event.type == bracket.start
            has_id = event.type == bracket.start and bracket.noun != "step"
            named += has_id
            if has_id and (bracket.noun, key) in run.closed:
                reopened.append(Refusal(event.seq, _again(bracket, event, key)))
            refused += _step(bracket, event, key, run)
    refused += [
        Refusal(one.seq, f"RUN_FINISHED comes while {one.noun} {one.name!r} is still open")
        for one in left
        if one.terminal == "RUN_FINISHED"
    ]
    return Order(opened, named, tuple(sorted(refused, key=lambda one: one.seq)), tuple(reopened), tuple(left))


def _out_of_place(event: Event, run: _Run) -> Iterator[Refusal]:
    if run.ended == "RUN_ERROR" or (run.ended == "RUN_FINISHED" and event.type != "RUN_ERROR"):
        # What a run says after its end is one fault, however long it goes on.
        if ("end", None) not in run.blamed:
            yield Refusal(event.seq, f"{event.type} comes after {run.ended}, which ended the run")
        run.blamed.add(("end", None))
    elif not run.begun and event.type != "RUN_ERROR":
        yield Refusal(event.seq, f"{event.type} comes before RUN_STARTED")
        run.begun = True


def _step(bracket: Bracket, event: Event, name: Any, run: _Run) -> Iterator[Refusal]:
    """Take one event of a bracket into account."""
    where = (bracket.noun, name)
    said = f"{bracket.noun} {_name(name)!r}"
    if event.type == bracket.start:
        if where in run.open:
            yield Refusal(event.seq, f"{event.type} opens {said}, which is already open; its end must come first")
        elif bracket.noun == "subagent" and where in run.closed:
            yield Refusal(event.seq, f"{event.type} starts {said} again; a subagent's id is for one start")
        run.open.setdefault(where, event.seq)
        run.blamed.discard(where)
    elif where not in run.open and where not in run.blamed:
        yield Refusal(event.seq, f"{event.type} is about {said}, which is not open; {bracket.start} must come first")
        run.blamed.add(where)
        # A step that somebody else ends is refused for that alone.
        for other in [key for key in run.open if key[0] == bracket.noun and _name(key[1]) == _name(name)]:
            del run.open[other]
    if event.type in bracket.ends and run.open.pop(where, None) is not None:
        run.closed.add(where)
    if bracket.owned:
        yield from _owner(bracket, event, name, run)


def _owner(bracket: Bracket, event: Event, name: Any, run: _Run) -> Iterator[Refusal]:
    """A message or call belongs to whoever opened it; an event that names no owner agrees with all."""
    kind = "reasoning" if bracket.noun.startswith("reasoning") else bracket.noun
    key, owner = (kind, name), value(event, "subagentRunId")
    first = run.owners.setdefault(key, owner)
    if owner is not None and owner != first:
        yield Refusal(
            event.seq, f"{event.type} says subagent {owner!r}, but {key[0]} {key[1]!r} was opened by {_whose(first)}"
        )
    if event.type != "TOOL_CALL_START" or owner is None:
        return
    parent = ("text message", value(event, "parentMessageId"))
    if run.owners.get(parent, owner) != owner:
        yield Refusal(
            event.seq,
            f"{event.type} says subagent {owner!r}, but its message {parent[1]!r} was opened by {_whose(run.owners[parent])}",
        )


def _whose(owner: Any) -> str:
    return "the agent itself" if owner is None else f"subagent {owner!r}"


def _key(bracket: Bracket, event: Event) -> Any:
    """What names the bracket, None where the event does not say: its shape is EVT-1's. A step belongs to whoever started it."""
    name = value(event, bracket.key)
    if not isinstance(name, str):
        return None
    return (value(event, "subagentRunId"), name) if bracket.noun == "step" else name


def _name(key: Any) -> str:
    return str(key[1] if isinstance(key, tuple) else key)


def _again(bracket: Bracket, event: Event, name: Any) -> str:
    return f"{event.type} opens {bracket.noun} {_name(name)!r} again, which was closed; a new id was expected"


def _in_order(run: _Run) -> list[tuple[tuple[str, Any], int]]:
    nouns = [one.noun for one in BRACKETS]
    return sorted(run.open.items(), key=lambda item: (nouns.index(item[0][0]), item[1]))
