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


def played(monkeypatch, scenarios, wire, chunkings=("whole",), *, agent="AGENT", of="reference_over_sdks"):
    """The report of these scenarios over that wire, blocking and streamed, by an agent of a module of this folder."""
    command = shlex.join((sys.executable, "-m", "conformance.agent_side", f"{of}:{agent}"))
    monkeypatch.setenv("PYTHONPATH", HERE)
    plans = [plan for plan in load_all(bundled()) if scenarios is None or plan.id in scenarios]
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
