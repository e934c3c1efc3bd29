"""Something that happens once, waited for by threads and by tasks alike. Decides nothing."""

import asyncio
import contextlib
import threading


class Latch:
    """Closed until `open` is called, from whichever thread, or someone has waited for `within_s` seconds."""

    def __init__(self, within_s: float | None = None) -> None:
        self._within_s = within_s
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []

    @property
    def is_open(self) -> bool:
        """Whether it has happened."""
        return self._event.is_set()

    def open(self) -> None:
        """Let everyone go on; opening again does nothing."""
        with self._lock:
            self._event.set()
            waiting, self._waiting = self._waiting, []
        for loop, future in waiting:
            # A loop that is closed has nobody left who waits.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_settle, future)

    def wait(self) -> None:
        """Block until it is open."""
        if not self._event.wait(self._within_s):
            self.open()

    async def awaited(self) -> None:
        """Wait until it is open, letting other tasks run."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        with self._lock:
            if self._event.is_set():
                return
            self._waiting.append((loop, future))
        try:
            await asyncio.wait({future}, timeout=self._within_s)
        finally:
            with self._lock:
                self._waiting = [one for one in self._waiting if one[1] is not future]
        if not future.done():
            self.open()


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class Meeting:
    """
    Runs that go on side by side: none is given its model's first reply before each of them has asked for one or ended.

    `within_s` is the longest that one waits for the others, which an agent may serve one after another.
    """

    def __init__(self, runs: frozenset[str], within_s: float) -> None:
        self.all_here = Latch(within_s)
        self._missing = set(runs)
        self._lock = threading.Lock()

    def here(self, run: str) -> None:
        """A run has asked, or ended."""
        with self._lock:
            self._missing.discard(run)
            met = not self._missing
        if met:
            self.all_here.open()
