"""The recorder: the kit's one mutable object. Gives every record its place in one order and keeps the scenario's clock."""

import json
import math
import threading
from collections import deque
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from conformance.recording import Header, Record, Recording

#: The most that a scenario's clock goes on: some 30 years, so that every clock can still be written as a date.
MAX_PASSED_S = 1e9


class Recorder:
    """
    Takes records from whichever thread they happen on.

    Time passes only when `pass_time` says so; `on_time` is told the new time, so that a frozen clock can follow. Of a run that is
    muted, and after `seal`, it takes nothing of the agent: what a left-over thread still does belongs to no recording.
    `keep` is given each record as it is taken. `most` is how many records are held, and `most_bytes` how many bytes of what
    crossed the agent's borders they may tell of together: the oldest go first, and `dropped` counts them.
    """

    def __init__(
        self,
        start: datetime,
        on_time: Callable[[datetime], None] = lambda _now: None,
        keep: Callable[[Record], None] | None = None,
        most: int | None = None,
        most_bytes: float = math.inf,
    ) -> None:
        self._start = start
        self._passed_s = 0.0
        self._pauses = 0
        self._on_time = on_time
        self._keep = keep
        self._records: deque[Record] = deque()
        self._most = math.inf if most is None else most
        self._most_bytes = most_bytes
        self._bounded = min(self._most, most_bytes) < math.inf
        self._bytes = 0
        self._taken = 0
        self._lock = threading.Lock()
        self._numbers = {"m": 0, "x": 0}
        self._sealed = False
        self._muted: set[str] = set()
        # The run of each record of an open run's call or execution, which name no run themselves.
        self._runs: dict[str, str] = {}

    def __call__(self, source: str, type: str, data: Mapping[str, Any]) -> int:  # noqa: A002 - the record's own word
        """Record what happened; its place in the order, 0 where nothing is taken."""
        with self._lock:
            run = self._run_of(data)
            if source != "kit" and (self._sealed or run in self._muted):
                return 0
            self._taken += 1
            record = Record(self._taken, self._passed_s, source, type, data)
            self._records.append(record)
            if self._bounded:
                self._bytes += _bytes(record)
                while self._bytes > self._most_bytes or len(self._records) > self._most:
                    self._bytes -= _bytes(self._records.popleft())
            if self._keep is not None:
                self._keep(record)
            return self._taken

    def _run_of(self, data: Mapping[str, Any]) -> str:
        """The run that a record is of, "" where it is of none."""
        name: str = data.get("call") or data.get("exec") or ""
        run: str = data.get("run") or self._runs.get(name, "")
        # Of a session that stands alone nothing is muted, and there is no end to what it may be asked.
        if name and "run" in data and not self._bounded:
            self._runs[name] = run
        return run

    @property
    def seen(self) -> int:
        """How many records there were: when this stands still, nothing happens."""
        return self._taken

    @property
    def stirred(self) -> int:
        """The same with every time that the clock went on: an answer that is slow by its script is no silence."""
        return self._taken + self._pauses

    @property
    def dropped(self) -> int:
        """How many records are held no more."""
        return self._taken - len(self._records)

    @property
    def records(self) -> tuple[Record, ...]:
        """The records so far."""
        return tuple(self._records)

    def number(self, letter: str) -> str:
        """The next name of its kind: m1, m2, ... for model calls, x1, x2, ... for executions."""
        with self._lock:
            self._numbers[letter] += 1
            return f"{letter}{self._numbers[letter]}"

    def now(self) -> datetime:
        """The scenario's clock."""
        return self._start + timedelta(seconds=self._passed_s) if self._passed_s else self._start

    def pass_time(self, delay_s: float) -> None:
        """Let the scenario's clock go on, to its end at most; no real time passes. A delay that is no number passes none."""
        with self._lock:
            self._pauses += 1
            passed_s = self._passed_s + (delay_s if delay_s > 0 else 0.0)
            self._passed_s = round(min(passed_s, MAX_PASSED_S), 6)
        self._on_time(self.now())

    def mute(self, run: str) -> None:
        """Take nothing more of a run but the kit's own records: the agent is being torn down."""
        self._muted.add(run)

    def seal(self, header: Header) -> Recording:
        """The finished recording."""
        with self._lock:
            self._sealed = True
            return Recording(header, tuple(self._records))


def _bytes(record: Record) -> int:
    """The bytes that a record tells of: those of a request, of an answer that went out, of what a tool was given or gave."""
    told: int = record.data.get("bytes", 0) if record.source == "model" else len(json.dumps(record.data))
    return told
