"""Plays scenarios to the reference loop with an official SDK between it and its model, wire by wire, over HTTP."""

import asyncio
import shlex
import sys
from pathlib import Path

from conformance.cell import cells_of
from conformance.certify import certify
from conformance.loading.loader import bundled, load_all
from conformance.rules import RULES

HERE = str(Path(__file__).parent)


#: Areas in which nothing is said that other areas do not say over the wire too; what they wait for would be waited for in earnest.
ASIDE = frozenset({"approval", "answers", "callbacks", "gate", "guards", "interrupts", "records", "slow", "subagents"})


#: The reference measures its own messages against the window, which another wire spells with up to 15 % more bytes.
MEASURED = frozenset({"window-fills-in-a-loop-of-tools"})


def of_a_wire(plan):
    """Whether a scenario of the core could go otherwise over another wire."""
    return "core" in plan.tags and ASIDE.isdisjoint(plan.tags) and plan.id not in MEASURED


def played(monkeypatch, scenarios, wire, chunkings=("whole",), *, agent="AGENT", of="reference_over_sdks"):
    """The report of these scenarios over that wire, blocking and streamed, by an agent of a module of this folder."""
    command = shlex.join((sys.executable, "-m", "conformance.agent_side", f"{of}:{agent}"))
    monkeypatch.setenv("PYTHONPATH", HERE)
    known = load_all(bundled())
    plans = (
        [plan for plan in known if plan.id in scenarios] if scenarios else [plan for plan in known if of_a_wire(plan)]
    )
    going = certify(f"command:{command}", plans, RULES, cells=lambda info: cells_of(info, [wire], chunkings))
    return asyncio.run(going)


def troubles(report):
    """What did not pass, with its findings."""
    return [
        (entry.scenario, entry.cell, entry.error, result.rule, [finding.message for finding in result.findings])
        for entry in report.entries
        if entry.verdict != "pass"
        for judgement in entry.judgements
        for result in judgement.results
        if result.findings or entry.error
    ]
