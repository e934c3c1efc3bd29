"""The calls that a session's model made and that did not run yet: which of them an execution is for. Pure."""

from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

from conformance.reading.pairing import arguments as parsed
from conformance.reading.tool_calls import equal


class WaitingCalls:
    """
    The calls said so far, in order, without those that ran.

    Threads may ask at once: two never get the same call.
    """

    def __init__(self) -> None:
        self._numbers = count()
        self._calls: dict[int, Mapping[str, Any]] = {}

    def said(self, parts: Iterable[Mapping[str, Any]]) -> None:
        """A reply came with these parts, as a record holds them."""
        self._calls.update((next(self._numbers), part) for part in parts if part["type"] == "tool_call")

    def taken(self, name: str, arguments: Any, call_id: str | None) -> str | None:
        """
        The id of the call that runs now, which waits no more.

        That is the id an agent gives, whatever it be; without one that of the first call with this name and equal arguments.
        """
        for number, call in tuple(self._calls.items()):
            same = call_id == call["id"] if call_id is not None else equal(parsed(call["arguments"]), arguments)
            if call["name"] == name and same and self._calls.pop(number, None):
                return call_id or call["id"]
        return call_id
