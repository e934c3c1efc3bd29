"""The tool calls that the model made: what is wrong with each, what ran for it, where a request carries it. Judges nothing."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from conformance.reading.pairing import Paired, align, arguments
from conformance.reading.view import Call, Execution, Run, View
from fake_models.messages import ToolCall
from fake_models.tools import Tool, argument_error

#: Why a call is not simply valid: no such tool, text that is no JSON object, arguments missing or of a wrong type, arguments
#: that the schema does not name. `answer` is a call of the declared answer tool, `child` one of a child agent:
#: neither is a tool to run.
Flaw = Literal["unknown", "malformed", "misfit", "extra", "answer", "child"]

#: Words by which a result says that its call failed, or was kept from running, in the languages agents are written in.
FAILED = re.compile(
    r"error|fail|exception|\brais|traceback|unable|cannot|can't|could not|couldn't|refus|den(?:y|ied)|reject|invalid"
    r"|time[ds]? ?out|abort|cancel|crash|wrong|失败|错误|异常|超时|拒绝",
    re.IGNORECASE,
)
#: Further words by which a result says that nothing ran.
NOT_RUN = re.compile(
    r"\bno(?:t|ne|thing|r)?\b|n't\b|not[_-]?run|never|without|skip|limit|exceed|budget|quota|interrupt|stopp|block|forbid"
    r"|disallow|permission|declin|\balready\b|duplicat|repeat|unknown|unavailable|missing|must|disabled|\bnicht|kein|\bpas\b"
    r"|未|没|不|跳过|取消|中断|上限|禁止|ません|ない|中止|않|못",
    re.IGNORECASE,
)

#: The classes of calls whose replies belong to the conversation.
CONVERSATION = ("regular", "retry", "summary")


@dataclass(frozen=True)
class Made:
    """
    A call the model made; `by` is the model call whose reply said it, `place` its place in that reply.

    `sound`: its id is not empty, and no other call said so far in the session has it. `whole`: the reply was. `arguments` is
    the value of its text (the text itself where that is no JSON), `extra` the arguments that the schema does not name.
    """

    call: ToolCall
    by: Call
    run: Run
    place: int
    sound: bool
    tool: Tool | None
    flaw: Flaw | None
    arguments: Any
    extra: tuple[str, ...]
    executions: tuple[Execution, ...] = ()

    @property
    def key(self) -> tuple[str, int]:
        """What tells it from every other call of the recording."""
        return self.by.id, self.place

    @property
    def whole(self) -> bool:
        """Whether its reply came to its end."""
        return bool(self.by.said)

    @property
    def seq(self) -> int:
        """The record of the reply that said it."""
        return self.by.reply.seq if self.by.reply else self.by.seq

    @property
    def ran(self) -> tuple[Execution, ...]:
        """The executions that did something: a tool that rejected its arguments did nothing."""
        return tuple(one for one in self.executions if not (one.error or {}).get("rejected"))

    def __str__(self) -> str:
        """How findings name it."""
        return f"call {self.call.id!r} ({self.call.name}) of {self.by.id}"


@dataclass(frozen=True)
class Calls:
    """All calls of a recording, in the order said, and the executions that no call asked for."""

    made: tuple[Made, ...]
    strays: tuple[Execution, ...]
    past: tuple[ToolCall, ...]
    #: What `carried` made of each request: most rules about histories ask for it.
    _carried: dict[tuple[str, str], Mapping[tuple[str, int], Paired]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @cached_property
    def by_execution(self) -> Mapping[str, Made]:
        """The call that each execution was for, by the execution's id."""
        return {one.id: made for made in self.made for one in made.executions}

    def batch(self, made: Made) -> tuple[Made, ...]:
        """The calls of the same reply, itself among them."""
        return tuple(one for one in self.made if one.by.id == made.by.id)

    def said_before(self, call: Call, session: str) -> tuple[Made, ...]:
        """The calls of whole replies that the session had heard when this request was sent."""
        return tuple(m for m in self.made if m.whole and m.run.session == session and m.by.end_seq < call.seq)

    def carried(self, call: Call, session: str) -> Mapping[tuple[str, int], Paired]:
        """Where a request carries the calls said before it, by their key; those it does not carry are left out."""
        if (call.id, session) not in self._carried:
            said = self.said_before(call, session)
            found = align((*self.past, *(made.call for made in said)), call.paired.calls)[len(self.past) :]
            self._carried[call.id, session] = {
                made.key: one for made, one in zip(said, found, strict=True) if one is not None
            }
        return self._carried[call.id, session]


def tool_calls(view: View) -> Calls:
    """Every call of the conversation, joined once per view; see `_joined`."""
    return view.once(_joined)


def _joined(view: View) -> Calls:
    """
    Every call the model made in the conversation, with its executions.

    An execution belongs to a call said before it: by id and arguments, by arguments, as a repetition, and last by name
    alone, so that changed arguments still find their call. Calls of broken replies come after whole ones, and those of
    an earlier run last, for a run that resumes it.
    """
    past = tuple(_past(view))
    made = list(_made(view, past))
    strays = []
    aside = [call for run in view.runs for call in run.calls if call.kind == "auxiliary"]
    sessions = {run.id: run.session for run in view.runs}
    for execution in view.executions:
        at = _owner(execution, made, sessions)
        if (at is None or not _same_id(made[at], execution)) and _said_aside(execution, aside):
            continue  # a child agent's, whose conversation is its own
        if at is None:
            strays.append(execution)
        else:
            made[at] = replace(made[at], executions=(*made[at].executions, execution))
    return Calls(tuple(_served_before(one, made) for one in made), tuple(strays), past)


def _said_aside(execution: Execution, aside: Sequence[Call]) -> bool:
    """Whether a reply beside the loop called for an execution: by its id where there is one, with these arguments."""
    return any(
        said.run == execution.run
        and said.seq < execution.seq
        and one.name == execution.tool
        and execution.call_id in (None, one.id)
        and equal(arguments(one.arguments), execution.arguments)
        for said in aside
        for one in said.said
    )


def _served_before(made: Made, every: Sequence[Made]) -> Made:
    """
    A call that came whole when its reply was asked for again, with what had run for it when the reply broke off.

    An agent may run a call as soon as its arguments are there, and must not do so again.
    """
    if not made.whole or made.executions:
        return made
    heard = [one.by.seq for one in every if one.run is made.run and one.whole and one.by.seq < made.by.seq]
    first = (
        one
        for one in every
        if one.run is made.run
        and not one.whole
        and max(heard, default=0) < one.by.seq < made.by.seq
        and (one.place, one.call.name) == (made.place, made.call.name)
        and equal(one.arguments, made.arguments)
        # Where the history holds the broken reply it was taken for whole, and this call is a further one.
        and len(made.by.paired.calls) <= len(one.by.paired.calls)
    )
    return replace(made, executions=next((one.executions for one in first if one.executions), ()))


def next_main(run: Run, seq: int) -> Call | None:
    """The first call of the run's conversation after a record; attempts and side calls aside."""
    return next((call for call in run.main if call.seq > seq), None)


def said_in(call: Call) -> str:
    """All text of a request's messages, for agents whose tool history travels as text."""
    return "\n".join(message.content or "" for message in call.request.messages)


def extra_arguments(tool: Tool, given: Mapping[str, Any]) -> tuple[str, ...]:
    """The arguments that the schema does not name; none where it leaves them open or is put together from other schemas."""
    schema = tool.parameters
    named = schema.get("properties")
    is_open = schema.get("additionalProperties", False) is not False or "patternProperties" in schema
    if not isinstance(named, Mapping) or is_open or any(key in schema for key in ("allOf", "anyOf", "oneOf", "$ref")):
        return ()
    return tuple(key for key in given if key not in named)


def equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal: 1 is 1.0, and true is not 1."""
    return bool(_canonical(one) == _canonical(other))


def _canonical(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _canonical(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    return (type(value).__name__, value) if isinstance(value, bool) else value


def _past(view: View) -> Iterator[ToolCall]:
    for message in view.scenario.history:
        for call in message.get("toolCalls") or ():
            yield ToolCall(call.get("id"), call["function"]["name"], call["function"].get("arguments", ""))


def _made(view: View, past: Sequence[ToolCall]) -> Iterator[Made]:
    seen: dict[str, set[str | None]] = {}
    for run in view.runs:
        known = seen.setdefault(run.session, {call.id for call in past})
        for by in run.calls:
            if by.reply is None or by.role not in CONVERSATION:
                continue
            ids = [call.id for call in by.reply.calls]
            for place, call in enumerate(by.reply.calls):
                sound = bool(call.id) and call.id not in known and ids.count(call.id) == 1
                yield _read(call, by, run, place, sound=sound, view=view)
            # A broken reply is asked for once more, and the same id is then the same call.
            if by.reply.complete:
                known.update(ids)


def _read(call: ToolCall, by: Call, run: Run, place: int, *, sound: bool, view: View) -> Made:
    tool = view.scenario.tools.get(call.name)
    given = arguments(call.arguments)
    extra = extra_arguments(tool, given) if tool and isinstance(given, Mapping) else ()
    flaw = _flaw(call, tool, given, extra, view)
    if flaw == "unknown" and run.spec is not None and call.name in run.spec.knobs.get("subagents", {}):
        flaw = "child"
    return Made(call, by, run, place, sound, tool, flaw, given, extra)


def _flaw(call: ToolCall, tool: Tool | None, given: Any, extra: Sequence[str], view: View) -> Flaw | None:
    answer_tool = view.dialect.answer_by.removeprefix("tool:").rpartition(".")[0]
    if answer_tool and call.name == answer_tool:
        return "answer"
    if tool is None:
        return "unknown"
    if not isinstance(given, Mapping):
        return "malformed"
    if argument_error(tool, {key: value for key, value in given.items() if key not in extra}) is not None:
        return "misfit"
    return "extra" if extra else None


def _same_id(made: Made, execution: Execution) -> bool:
    return made.sound and execution.call_id == made.call.id


def _same_arguments(made: Made, execution: Execution) -> bool:
    return equal(made.arguments, execution.arguments)


def _any(_made: Made, _execution: Execution) -> bool:
    return True


#: What makes an execution one of a call of the same run and name, surest first: whether the call's reply was whole, whether
#: nothing ran for it yet, and what they share.
_OWNERSHIP: Sequence[tuple[bool, bool, Sequence[Callable[[Made, Execution], bool]]]] = (
    (True, True, (_same_id, _same_arguments)),
    (True, True, (_same_arguments,)),
    (True, False, (_same_id,)),
    (True, True, (_same_id,)),
    (True, False, (_same_arguments,)),
    (False, True, (_same_arguments,)),
    (False, True, (_same_id,)),
    (True, True, (_any,)),
    (False, True, (_any,)),
)


def _owner(execution: Execution, made: Sequence[Made], sessions: Mapping[str, str]) -> int | None:
    before = [at for at, one in enumerate(made) if one.seq < execution.seq and one.call.name == execution.tool]
    mine = [at for at in before if made[at].run.id == execution.run]
    for whole, free, shares in _OWNERSHIP:
        fits = [
            at
            for at in mine
            if made[at].whole == whole
            and (not made[at].executions) == free
            and all(share(made[at], execution) for share in shares)
        ]
        if fits:
            # The first that waits, but the last that was served: a repetition follows what it repeats.
            return fits[0] if free else fits[-1]
    session = sessions[execution.run]
    waiting = [at for at in before if made[at].whole and not made[at].executions and made[at].run.session == session]
    return next((at for at in waiting if _same_id(made[at], execution) or _same_arguments(made[at], execution)), None)


def wrong_fields(made: Made) -> tuple[str, ...]:
    """The arguments that are missing or break the schema, by name; empty where none can be named."""
    if made.tool is None or not isinstance(made.arguments, Mapping):
        return ()
    schema = made.tool.parameters
    properties = schema.get("properties") or {}
    missing = [name for name in schema.get("required", ()) if name not in made.arguments]
    alone = {
        name: replace(made.tool, parameters={**schema, "required": [], "properties": {name: properties[name]}})
        for name in made.arguments
        if name in properties
    }
    broken = [name for name, tool in alone.items() if argument_error(tool, {name: made.arguments[name]}) is not None]
    return (*missing, *broken)


def as_text(value: Any) -> str:
    """A value in a finding: JSON, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:120]}…"
