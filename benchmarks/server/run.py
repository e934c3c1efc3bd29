"""
CPU time per request of the fake model server and its peers. `make bench-server` prints the table; nothing is asserted.

All servers stand at once and are asked in turn, round by round, so that a slow moment of the machine falls on all of them.
What is measured is the CPU time of the server with its threads and children; the client is this process.
"""

import argparse
import asyncio
import contextlib
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "servers")]

from contenders import CONTENDERS, HTTP_LAYERS, YARDSTICK, Contender  # noqa: E402 - the path comes first
from load import Question, ask  # noqa: E402

#: Streamed or not, and connections at once.
LOADS = tuple((stream, connections) for stream in (True, False) for connections in (1, 16))
#: How long one contender is asked in one round, in seconds, about.
SLICE_S = 0.4
MOST = 4000
START_S = 30.0


@dataclass(slots=True)
class Standing:
    """A contender that was started."""

    contender: Contender
    port: int
    process: subprocess.Popen[bytes] | None = None
    error: str = ""
    begun_s: float = 0.0
    chunks: int = 0
    requests: dict[tuple[bool, int], int] = field(default_factory=dict)
    spent_us: dict[tuple[bool, int], list[float]] = field(default_factory=lambda: {load: [] for load in LOADS})

    def question(self, *, stream: bool) -> Question:
        return Question(self.contender.path, stream)


def cpu_ns(pid: int) -> int:
    """CPU time of a process and its children, ended threads too."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    # The clock of another process, as clock_getcpuclockid makes it.
    return time.clock_gettime_ns((~pid << 3) | 2) + sum(map(cpu_ns, map(int, children)))


def memory_kib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


async def start(contender: Contender) -> Standing:
    standing = Standing(contender, free_port())
    try:
        command = await asyncio.to_thread(contender.command, standing.port)
        begun = time.monotonic()
        standing.process = subprocess.Popen(  # noqa: ASYNC220 - nothing else runs meanwhile
            command,
            env={**os.environ, **contender.environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        while True:
            try:
                answer = await ask(standing.port, standing.question(stream=True), connections=1, requests=1)
                break
            except OSError:
                if standing.process.poll() is not None or time.monotonic() - begun > START_S:
                    told = standing.process.stderr.read1() if standing.process.stderr else b""
                    raise RuntimeError(f"did not start: {told.decode(errors='replace').strip()[-200:]}") from None
                await asyncio.sleep(0.005)
        standing.begun_s = time.monotonic() - begun
        standing.chunks = answer.count(b"data: ") + answer.count(b"data:{")
    except Exception as error:  # noqa: BLE001 - goes into the table
        standing.error = f"{error!r}"
    return standing


@contextlib.contextmanager
def stopping(standings: list[Standing]) -> Iterator[None]:
    try:
        yield
    finally:
        for one in standings:
            if one.process is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(one.process.pid, signal.SIGKILL)
                one.process.wait()


async def measured(one: Standing, load: tuple[bool, int]) -> float:
    """Microseconds of CPU for a request."""
    assert one.process is not None
    stream, connections = load
    requests = one.requests[load]
    before = cpu_ns(one.process.pid)
    await ask(one.port, one.question(stream=stream), connections=connections, requests=requests)
    return (cpu_ns(one.process.pid) - before) / requests / 1000


async def calibrate(one: Standing, load: tuple[bool, int]) -> None:
    """Warm up, and find how many requests fill a slice."""
    stream, connections = load
    asked, begun = 0, time.monotonic()
    while time.monotonic() - begun < SLICE_S:
        await ask(one.port, one.question(stream=stream), connections=connections, requests=50)
        asked += 50
    one.requests[load] = max(50, min(MOST, int(asked * SLICE_S / (time.monotonic() - begun))))


async def rounds(standings: list[Standing], number: int) -> None:
    running = [one for one in standings if not one.error]
    for one in running:
        try:
            for load in LOADS:
                await calibrate(one, load)
        except Exception as error:  # noqa: BLE001 - goes into the table
            one.error = f"{error!r}"
    for _ in range(number):
        for load in LOADS:
            for one in running:
                if not one.error:
                    one.spent_us[load].append(await measured(one, load))


def table(standings: list[Standing]) -> None:
    medians = {
        one.contender.name: {load: statistics.median(seen) for load, seen in one.spent_us.items() if seen}
        for one in standings
        if not one.error
    }
    yardstick = medians.get(YARDSTICK)
    heads = [f"{'streamed' if stream else 'plain'}, {connections}" for stream, connections in LOADS]
    print(f"{'µs CPU per request':24}{'chunks':>7}{'start':>8}" + "".join(f"{head:>22}" for head in heads))
    for one in standings:
        if one.error:
            print(f"{one.contender.name:24}  {one.error}")
            continue
        row = f"{one.contender.name:24}{one.chunks:>7}{one.begun_s:>7.2f}s"
        for load in LOADS:
            spent = medians[one.contender.name][load]
            ratio = f"1/{yardstick[load] / spent:.1f}" if yardstick and spent < yardstick[load] else ""
            if yardstick and spent >= yardstick[load]:
                ratio = f"x{spent / yardstick[load]:.1f}"
            row += f"{spent:>13.1f} {ratio:>8}"
        print(f"{row}  {one.contender.note}")
    print(
        f"Ratios are to {YARDSTICK}; a column is streamed or plain, and connections at once; chunks are `data:` events."
    )


async def memory(one: Standing, requests: int) -> None:
    """Whether a server grows with what it is asked."""
    assert one.process is not None
    sizes = [memory_kib(one.process.pid)]
    for _ in range(10):
        await ask(one.port, one.question(stream=True), connections=16, requests=requests // 10)
        sizes.append(memory_kib(one.process.pid))
    print(f"\nMiB of {one.contender.name} over {requests} requests more: " + " ".join(f"{s / 1024:.0f}" for s in sizes))


async def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rounds", type=int, default=7)
    asked.add_argument("--only", default="", help="contenders whose names contain one of these, by comma")
    asked.add_argument("--memory", type=int, default=100_000, metavar="REQUESTS")
    options = asked.parse_args()
    wanted = [name for name in options.only.split(",") if name]
    chosen = [c for c in (*CONTENDERS, *HTTP_LAYERS) if not wanted or any(name in c.name for name in wanted)]
    standings: list[Standing] = []
    with stopping(standings):
        for contender in chosen:
            standings.append(await start(contender))  # noqa: PERF401 - one after the other
        await rounds(standings, options.rounds)
        table(standings)
        for one in standings:
            if one.contender.name == "conformance serve" and options.memory and not one.error:
                await memory(one, options.memory)


if __name__ == "__main__":
    asyncio.run(main())
