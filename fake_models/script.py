"""The script as a pure state machine: one cursor, in order, never searching ahead. No clock, no I/O, no wire."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Literal

from fake_models.errors import ScriptError
from fake_models.matching import When, misfit
from fake_models.messages import (
    EMPTY,
    Break,
    EmptyShape,
    ErrorReply,
    ModelRequest,
    Part,
    Reply,
    Stop,
    Text,
    Thinking,
    ToolCall,
    Usage,
    World,
)
from fake_models.overflow import Spelling, overflow_reply
from fake_models.personas import Persona, reply
from fake_models.template import Resolved, as_json, render, text

#: `Turn.repeat` of a turn that is never used up.
FOREVER = -1


@dataclass(frozen=True, slots=True)
class CallTurn:
    """A call to make. Exactly one of `args` (may hold templates) and `raw` is set; neither means `{}`. `id`: None = a fresh one."""

    name: str
    args: Mapping[str, Any] | None = None
    raw: str | None = None
    id: str | None = None
    id_shape: Literal["given", "fresh", "missing", "empty"] = "fresh"


@dataclass(frozen=True, slots=True)
class ErrorTurn:
    """`error:` of a turn. What is None is filled in by the provider's usual words for that status."""

    status: int
    code: str | None = None
    type: str | None = None
    message: str | None = None
    retry_after_s: float | None = None
    body: Any = None


@dataclass(frozen=True, slots=True)
class Turn:
    """
    One step of a script: what the model says (`say`, `think`, `answer`, `calls`, `empty`, `stop`, `usage`), or how it fails
    (`error`, `overflow`), how the reply is `broken` on its way, slowed (`wait_s`, `pace_s`) or spelled (`finish`, `quirks`), and
    when the turn is played (`when`, `optional`, `repeat`). `repeat` is a count or FOREVER. `stop` None: `tool_calls` with calls, else `stop`.
    """

    say: str | None = None
    think: str | None = None
    answer: str | None = None
    calls: tuple[CallTurn, ...] = ()
    empty: EmptyShape | None = None
    stop: Stop | None = None
    usage: Usage | None = None
    error: ErrorTurn | None = None
    overflow: Spelling | Literal["length"] | None = None
    broken: Break | None = None
    when: When | None = None
    optional: bool = False
    repeat: int = 1
    wait_s: float = 0.0
    pace_s: float = 0.0
    finish: str | None = None
    quirks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Script:
    """The turns of one run or, without any, the persona that answers all of its requests."""

    turns: tuple[Turn, ...]
    persona: Persona | None = None

    @cached_property
    def fixed(self) -> tuple[Reply | None, ...]:
        """What each turn says whoever asks and whenever, found once; None where that hangs on the request or the world."""
        return tuple(map(_fixed, self.turns))


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a run stands in its script: at which turn, and how often that turn was played."""

    index: int = 0
    played: int = 0


@dataclass(frozen=True, slots=True)
class Played:
    """What the model says, and where the script stands afterwards. `turn` is None for a side call that took no turn."""

    cursor: Cursor
    turn: int | None
    reply: Reply
    resolved: tuple[Resolved, ...] = ()


@dataclass(frozen=True, slots=True)
class Missed:
    """
    No turn was played, and the cursor stays where it is, so that an agent may correct itself and ask again.

    `turn` is the nearest turn, from 0 (None: an empty script), `failed` why it was not played, `message` the whole story.
    """

    turn: int | None
    failed: str
    message: str


#: Classes of calls that agents make beside the conversation. They take no turn but one that asks for their class.
SIDE_CALLS = ("auxiliary", "compaction")
#: What a side call gets when no turn asks for it.
SIDE_REPLY = Reply(parts=(Text("Noted."),), usage=Usage(1, 1))


def answer(script: Script, cursor: Cursor, request: ModelRequest, world: World) -> Played | Missed:
    """
    What the script says to one request: the turn at the cursor, or the next one where that is optional and does not fit.

    Never raises: a turn whose templates cannot be resolved, since a tool it quotes never ran, does not fit either.
    """
    if script.persona is not None and not script.turns:
        return _in_character(script.persona, cursor, request, world)
    tried: list[tuple[int, str]] = []
    for index in range(_start(script, cursor), len(script.turns)):
        turn = script.turns[index]
        failed = _misfit(turn, request, world)
        if failed is None:
            played = _played(script, index, cursor, request, world)
            if isinstance(played, Played):
                return played
            failed = played
        tried.append((index, failed))
        if not turn.optional:
            break
    owed = any(_asks(script.turns[index], world) and not script.turns[index].optional for index, _ in tried)
    if world.call in SIDE_CALLS and not owed:
        return Played(cursor, None, SIDE_REPLY)
    return _missed(script, tried)


def aside(turn: Turn, cursor: Cursor, request: ModelRequest, world: World) -> Played | Missed:
    """Answer the request with this turn, whatever the script says and whatever it waits for; the script stays where it is."""
    played = _played(Script((turn,)), 0, Cursor(), request, world)
    return (
        Missed(None, played, f"the turn that was asked for was not played: {played}")
        if isinstance(played, str)
        else replace(played, cursor=cursor, turn=None)
    )


def unplayed(script: Script, cursor: Cursor) -> tuple[int, ...]:
    """The turns, from 0, that had to be played and were not, or not often enough."""
    start = _start(script, cursor)
    # One that repeats for ever is never behind the cursor, yet once is enough.
    if start < len(script.turns) and start == cursor.index and script.turns[start].repeat == FOREVER and cursor.played:
        start += 1
    return tuple(index for index in range(start, len(script.turns)) if not script.turns[index].optional)


def _in_character(persona: Persona, cursor: Cursor, request: ModelRequest, world: World) -> Played:
    """A persona has one turn, which is never used up; only what it counts goes on."""
    if world.call in SIDE_CALLS:
        return Played(cursor, None, SIDE_REPLY)
    return Played(Cursor(0, cursor.played + 1), 0, reply(persona, request, world, cursor.played))


def asked_quirks(script: Script, known: Collection[str] = ()) -> tuple[tuple[int, str], ...]:
    """Each quirk that the script asks for, with its turn, from 0; those that are known are left out."""
    return tuple((index, name) for index, turn in enumerate(script.turns) for name in turn.quirks if name not in known)


def _start(script: Script, cursor: Cursor) -> int:
    """The first turn that can still be played."""
    if cursor.index == len(script.turns):
        return cursor.index
    repeat = script.turns[cursor.index].repeat
    return cursor.index + (repeat != FOREVER and cursor.played >= repeat)


def _asks(turn: Turn, world: World) -> bool:
    return turn.when is not None and turn.when.call == world.call


def _misfit(turn: Turn, request: ModelRequest, world: World) -> str | None:
    if world.call in SIDE_CALLS and not _asks(turn, world):
        return f"when.call: it does not ask for a call of class {world.call!r}"
    return misfit(turn.when, request, world)


def _missed(script: Script, tried: list[tuple[int, str]]) -> Missed:
    turns = len(script.turns)
    if not tried:
        failed = f"all {turns} turns were played" if turns else "the script has no turns"
        return Missed(
            turns - 1 if turns else None,
            failed,
            f"the script is over: {failed}, and the agent sent one more request. "
            "Either the agent did not stop when the model did, or the script needs another turn.",
        )
    reasons = "; ".join(f"turn {index}: {failed}" for index, failed in tried)
    return Missed(
        *tried[-1],
        f"no turn fits the request (turns count from 0). {reasons}. "
        "Either the agent strays from the script, or the turn asks for more than the agent owes.",
    )


def _played(script: Script, index: int, cursor: Cursor, request: ModelRequest, world: World) -> Played | str:
    """The turn as it is played, or why it cannot be."""
    try:
        fixed = script.fixed[index]
        reply, resolved = (fixed, ()) if fixed is not None else _reply(script.turns[index], request, world)
    except ScriptError as error:
        return f"it cannot be played: {error}"
    times = cursor.played if index == cursor.index else 0
    return Played(Cursor(index, times + 1), index, reply, resolved)


def _fixed(turn: Turn) -> Reply | None:
    words = as_json([turn.say, turn.think, *((call.args, call.raw) for call in turn.calls)])
    numbered = any(call.id_shape == "fresh" and call.id is None for call in turn.calls)
    if "{{" in words or numbered or turn.answer is not None or turn.overflow is not None:
        return None
    return _reply(turn, ModelRequest("", "", ()), World(datetime.min.replace(tzinfo=UTC)))[0]


def _reply(turn: Turn, request: ModelRequest, world: World) -> tuple[Reply, tuple[Resolved, ...]]:
    rendered = render(
        {"think": turn.think, "say": turn.say, "answer": turn.answer, "args": [call.args or {} for call in turn.calls]},
        world,
    )
    parts = _parts(turn, rendered.value, request, world)
    calls = any(isinstance(part, ToolCall) for part in parts)
    reply = Reply(
        parts=parts,
        stop="length" if turn.overflow == "length" else turn.stop or ("tool_calls" if calls else "stop"),
        usage=turn.usage,
        error=_error(turn, request.wire),
        broken=turn.broken,
        wait_s=turn.wait_s,
        pace_s=turn.pace_s,
        finish=turn.finish,
        quirks=turn.quirks,
    )
    return reply, rendered.resolved


def _parts(turn: Turn, words: Mapping[str, Any], request: ModelRequest, world: World) -> tuple[Part, ...]:
    """Thinking, text, the answer, then calls: the order in which every wire carries them."""
    said: list[Part] = [] if words["think"] is None else [Thinking(text(words["think"]))]
    said += [] if words["say"] is None else [Text(text(words["say"]))]
    said += () if turn.empty is None else EMPTY[turn.empty]
    calls = list(zip(turn.calls, words["args"], strict=True))
    if words["answer"] is not None:
        tool, _, argument = world.answer_by.removeprefix("tool:").rpartition(".")
        if tool in request.callable_tools:
            calls.insert(0, (CallTurn(tool), {argument: text(words["answer"])}))
        else:
            said.append(Text(text(words["answer"])))
    return (*said, *(_call(call, args, number) for number, (call, args) in enumerate(calls, world.calls_made + 1)))


def _call(call: CallTurn, args: Any, number: int) -> ToolCall:
    shapes = {"missing": None, "empty": ""}
    name = shapes.get(call.id_shape, call.id or f"call_{number}")
    return ToolCall(name, call.name, as_json(args) if call.raw is None else call.raw)


def _error(turn: Turn, wire: str) -> ErrorReply | None:
    if turn.overflow is not None and turn.overflow != "length":
        return overflow_reply(turn.overflow, wire)
    if (error := turn.error) is None:
        return None
    # What is left open here, the wire's codec fills in.
    return ErrorReply(
        status=error.status,
        message=error.message or "",
        type=error.type,
        code=error.code,
        retry_after_s=error.retry_after_s,
        body=error.body,
    )
