"""
How fast the kit is, as ratios within one interleaved run. `make bench` prints figures; nothing is asserted.

1. Whole processes, medians of wall and CPU time: a bare interpreter, `conformance --help`, the core suite on the reference, in process
   and behind the command protocol.
2. In process, CPU time: the bare reference loop over canned replies, the same played by the kit, and played and judged.
3. The same over the whole core in all cells of the reference, where scenarios are larger: played, and what was played judged.
"""

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from conformance.adapters.in_process import connected
from conformance.agent_side import RunInput
from conformance.cell import cells_of
from conformance.judge import judge
from conformance.loading.loader import find, library, load_all
from conformance.recording import Recording
from conformance.reference import REFERENCE
from conformance.rules import RULES
from conformance.runner import Cell, declared, play

BIN = Path(sys.executable).parent
SERVED = f"{sys.executable} -m conformance.agent_side conformance.reference.agent:REFERENCE"
PROCESSES = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "conformance --help": [str(BIN / "conformance"), "--help"],
    "conformance run": [str(BIN / "conformance"), "run"],
    "the same by command": [str(BIN / "conformance"), "run", "--agent", f"command:{SERVED}"],
}
ROUNDS = 11
#: The founding scenarios whose script needs nothing but canned replies.
FOUNDING = ("time-query-max-iters-1", "cargo-chain-max-iters-2", "empty-once")
PLAYS = 100
PLANS = load_all(find(FOUNDING, [library()]))
CORE = load_all(find((), [library()]))
#: The core takes seconds a time.
CORE_ROUNDS = 3


def processes() -> None:
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in PROCESSES}
    for turn in range(ROUNDS + 1):
        for name, command in PROCESSES.items():
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
            # The first turn fills caches of bytecode and files.
            if turn:
                cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                times[name].append((wall, cpu))
    bare = statistics.median(wall for wall, _ in times["python -c pass"])
    print(f"{'whole process':32}{'wall':>10}{'CPU':>10}{'x bare':>9}")
    for name, seen in times.items():
        wall, cpu = (statistics.median(column) for column in zip(*seen, strict=True))
        print(f"{name:32}{wall:>9.3f}s{cpu:>9.3f}s{wall / bare:>9.1f}")


def canned(recording: Recording) -> Callable[[], None]:
    """A run of the bare reference loop over what the model and the tools said in a recording, without the kit."""
    asked = [r.data for r in recording.records if r.kind == "model/reply"]
    given = next(r.data for r in recording.records if r.kind == "kit/run_start")
    results = [r.data["result"] for r in recording.records if r.kind == "tool/result"]
    bodies = [json.dumps(_body(reply)) for reply in asked]
    run = RunInput(run="r1", session="s1", input=given["input"], limits=given["limits"])

    def once() -> None:
        replies, values = iter(bodies), iter(results)
        bench: Any = SimpleNamespace(
            model=lambda _body, headers=None: json.loads(next(replies)),  # noqa: ARG005 - named as the loop names it
            call_tool=lambda *_call, **_terms: next(values),
            model_name="m",
            api_key="k",
            now=lambda: PLANS[0].clock,
            sleep=lambda _s: None,
        )
        for _ in REFERENCE.open(bench).run(run):
            pass

    return once


def _body(reply: dict[str, Any]) -> dict[str, Any]:
    texts = [part["text"] for part in reply["parts"] if part["type"] == "text"]
    calls = [
        {"id": p["id"], "type": "function", "function": {"name": p["name"], "arguments": p["arguments"]}}
        for p in reply["parts"]
        if p["type"] == "tool_call"
    ]
    message = {"role": "assistant", "content": "".join(texts) or None, **({"tool_calls": calls} if calls else {})}
    finish = {"tool_calls": "tool_calls"}.get(reply["stop"], reply["stop"])
    return {"id": reply["id"], "choices": [{"index": 0, "message": message, "finish_reason": finish}]}


async def in_process() -> None:
    async with connected(REFERENCE) as agent:
        under = declared(agent.info)
        loops = [canned(await play(agent, plan, Cell(), under)) for plan in PLANS]

        async def bare() -> None:
            for loop in loops:
                loop()

        async def played() -> None:
            for plan in PLANS:
                await play(agent, plan, Cell(), under)

        async def judged() -> None:
            for plan in PLANS:
                judge(await play(agent, plan, Cell(), under), RULES)

        kinds = {"bare loop": bare, "played": played, "played and judged": judged}
        table(
            "one founding scenario, CPU", "bare", await measured(kinds, PLAYS * len(PLANS), rounds=ROUNDS, times=PLAYS)
        )


async def core() -> None:
    async with connected(REFERENCE) as agent:
        under, recordings = declared(agent.info), list[Recording]()
        cells = cells_of(agent.info, (), ("all",))

        async def played() -> None:
            recordings[:] = [await play(agent, plan, cell, under) for plan in CORE for cell in cells]

        async def judged() -> None:
            # A suite's judgements are kept to its end.
            _kept = [judge(recording, RULES) for recording in recordings]

        kinds = {"played": played, "what was played, judged": judged}
        spent = await measured(kinds, len(CORE) * len(cells), rounds=CORE_ROUNDS)
        table(f"one of {len(CORE) * len(cells)} core plays, CPU", "played", spent)


async def measured(
    kinds: dict[str, Callable[[], Awaitable[None]]], plays: int, *, rounds: int, times: int = 1
) -> dict[str, float]:
    """CPU seconds of one of `plays` that `times` calls make, the median of interleaved rounds; the first one warms up."""
    spent: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(rounds + 1):
        for name, work in kinds.items():
            start = time.process_time()
            for _ in range(times):
                await work()
            spent[name].append((time.process_time() - start) / plays)
    return {name: statistics.median(seen[1:]) for name, seen in spent.items()}


def table(title: str, baseline: str, spent: dict[str, float]) -> None:
    """Print what each kind took, and how often the first of them, the baseline, would go into it."""
    first_s = next(iter(spent.values()))
    print(f"\n{title:32}{'each':>10}{'a second':>10}{f'x {baseline}':>9}")
    for name, each_s in spent.items():
        print(f"{name:32}{1e3 * each_s:>8.2f}ms{1 / each_s:>10.0f}{each_s / first_s:>9.1f}")


if __name__ == "__main__":
    processes()
    asyncio.run(in_process())
    asyncio.run(core())
