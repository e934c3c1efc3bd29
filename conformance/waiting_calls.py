"""The calls that a session's model made and that did not run yet: which of them an execution is for. Pure."""

from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

from conformance.reading.pairing import arguments as parsed
from conformance.reading.tool_calls import equal

#: Most calls that wait: an agent may leave all of its calls, and a session may last.
MOST = 1000


class WaitingCalls:
    """
    The calls said so far, in order, without those that ran; of many the newest.

    Threads may ask at once: no two get the same call.
    """

    def __init__(self) -> None:
        self._numbers = count()
        self._calls: dict[int, tuple[str, Mapping[str, Any]]] = {}

    def said(self, run: str, parts: Iterable[Mapping[str, Any]]) -> None:
        """A reply came with these parts, as its record holds them."""
        for part in parts:
            if part["type"] == "tool_call":
                number = next(self._numbers)
                self._calls[number] = (run, part)
                self._calls.pop(number - MOST, None)

    def taken(self, run: str, name: str, arguments: Any, call_id: str | None) -> str | None:
        """
        The id of the call that runs now, and waits no more.

        Where the agent gives one it is that, whatever it be; else that of the first call with this name and equal arguments,
        those of this run before those that an earlier one left.
        """
        of_name = [(number, *call) for number, call in self._calls.copy().items() if call[1]["name"] == name]
        for number, _, call in sorted(of_name, key=lambda one: (one[1] != run, one[0])):
            same = call_id == call["id"] if call_id is not None else equal(parsed(call["arguments"]), arguments)
            if same and self._calls.pop(number, None) is not None:
                known: str | None = call["id"]
                return known
        return call_id
