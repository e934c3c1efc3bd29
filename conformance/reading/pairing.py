"""The tool calls in a request's messages, each with the results that belong to it. Knows no wire and judges nothing."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from fake_models.messages import Message, ToolCall


@dataclass(frozen=True, slots=True)
class Result:
    """A tool message; `index` is its place in the request."""

    index: int
    message: Message

    @property
    def content(self) -> str:
        """What it says, "" where it says nothing."""
        return self.message.content or ""


@dataclass(frozen=True, slots=True)
class Paired:
    """
    A call in a request; `index` is the place of its assistant message.

    `results` stand in the unbroken row of tool messages behind that message, where a wire wants them; `late` ones carry
    the call's id too but stand elsewhere. More than one of both together are duplicates.
    """

    index: int
    call: ToolCall
    results: tuple[Result, ...] = ()
    late: tuple[Result, ...] = ()

    @property
    def content(self) -> str:
        """All that its results say, wherever they stand."""
        return "\n".join(result.content for result in (*self.results, *self.late))


@dataclass(frozen=True, slots=True)
class Orphan:
    """A result of no call in its request. `behind` is the place of the assistant message with calls whose row it stands in."""

    result: Result
    behind: int | None


@dataclass(frozen=True, slots=True)
class Pairs:
    """All calls of a request in order, and the results that belong to none of them."""

    calls: tuple[Paired, ...]
    orphans: tuple[Orphan, ...]


def pair(messages: Sequence[Message]) -> Pairs:
    """
    Give each result to its call: by id within its row, and of equal or missing ids the first result to the first call.

    A result that finds no call in its row goes to the nearest earlier call with its id, as late.
    """
    calls: list[Paired] = []
    orphans: list[Orphan] = []
    row: range = range(0)
    for index, message in enumerate(messages):
        if message.role == "tool":
            result = Result(index, message)
            at = _in_row(calls, row, message.tool_call_id)
            if at is not None:
                calls[at] = replace(calls[at], results=(*calls[at].results, result))
            elif (earlier := _earlier(calls, message.tool_call_id)) is not None:
                calls[earlier] = replace(calls[earlier], late=(*calls[earlier].late, result))
            else:
                orphans.append(Orphan(result, calls[row.start].index if row else None))
        else:
            row = range(len(calls), len(calls) + len(message.tool_calls))
            calls += [Paired(index, call) for call in message.tool_calls]
    return Pairs(tuple(calls), tuple(orphans))


def _in_row(calls: Sequence[Paired], row: range, call_id: str | None) -> int | None:
    mine = [at for at in row if calls[at].call.id == call_id]
    return next((at for at in mine if not calls[at].results), mine[-1] if mine else None)


def _earlier(calls: Sequence[Paired], call_id: str | None) -> int | None:
    return next((at for at in reversed(range(len(calls))) if call_id and calls[at].call.id == call_id), None)


def align(said: Sequence[ToolCall], carried: Sequence[Paired]) -> tuple[Paired | None, ...]:
    """
    For each call that the model said, oldest first, where a request carries it; None where it does not.

    Agents may renumber ids, and compaction drops old calls. So equal rows of names and arguments are the same calls, and
    otherwise id, arguments and name are tried in turn, newest first.
    """
    if [_asks(call) for call in said] == [_asks(one.call) for one in carried]:
        return _by_kept_ids(said, carried) or tuple(carried)
    found: list[Paired | None] = [None] * len(said)
    free = list(carried)
    for same in _SAMENESS:
        for at in reversed(range(len(said))):
            if found[at] is None:
                mine = next((one for one in reversed(free) if same(said[at], one.call)), None)
                if mine is not None:
                    found[at] = mine
                    free.remove(mine)
    return tuple(found)


def _by_kept_ids(said: Sequence[ToolCall], carried: Sequence[Paired]) -> tuple[Paired, ...] | None:
    """Equal calls that stand in another order are told apart by their ids, where every one kept its own; None where not."""
    by_id = {one.call.id: one for one in carried if one.call.id}
    kept = [by_id[call.id] for call in said if call.id in by_id]
    each_its_own = len({call.id for call in said}) == len(kept) == len(said) == len(by_id)
    return (
        tuple(kept)
        if each_its_own and all(_asks(a) == _asks(b.call) for a, b in zip(said, kept, strict=True))
        else None
    )


def arguments(text: str) -> Any:
    """A call's arguments as a value: blank text is `{}`, and what is no JSON stays the text it is."""
    try:
        return json.loads(text) if text.strip() else {}
    except ValueError:
        return text


def _asks(call: ToolCall) -> tuple[str, str]:
    return call.name, _spelled(call.arguments)


# Every request carries the calls before it again, and each is compared with those that were said.
@lru_cache(maxsize=1024)
def _spelled(text: str) -> str:
    return json.dumps(arguments(text), sort_keys=True)


#: What makes a carried call the one that was said, surest first.
_SAMENESS: Sequence[Callable[[ToolCall, ToolCall], bool]] = (
    lambda said, carried: bool(said.id) and (said.id, *_asks(said)) == (carried.id, *_asks(carried)),
    lambda said, carried: bool(said.id) and (said.id, said.name) == (carried.id, carried.name),
    lambda said, carried: _asks(said) == _asks(carried),
    lambda said, carried: said.name == carried.name,
)
