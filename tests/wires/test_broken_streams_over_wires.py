"""An agent that takes broken streams for whole is found out on every wire that can break in that place; takes minutes."""

import pytest
from over_wires import played

from fake_models.wire import CODECS

SCENARIOS = {
    "connection-reset-in-a-text": "fail",
    "half-replies-after-a-tool": "fail",
    "stream-cut-in-a-call": "fail",
    # A stream that just ends in a text may have been whole, so that this is only a SHOULD.
    "stream-ends-without-a-reason": "warn",
    "failures-take-no-round": "fail",
    "stream-ends-in-a-second-call": "fail",
}
#: Where a wire cannot break as the scenario has it, so that even this agent does nothing wrong.
UNSAYABLE = {
    ("gemini", "stream-cut-in-a-call"): "a call is never split",
    ("ollama", "stream-cut-in-a-call"): "a call is never split",
    ("gemini", "stream-ends-in-a-second-call"): "calls in a row come in one chunk",
}


@pytest.mark.parametrize("wire", CODECS)
def test_who_believes_broken_streams_is_found_out_over(wire, monkeypatch):
    report = played(monkeypatch, SCENARIOS, wire, agent="BELIEVES_BROKEN_STREAMS")
    verdicts = {entry.scenario: entry.verdict for entry in report.entries if "streaming" in entry.cell}

    assert [entry.error for entry in report.entries if entry.error] == []
    assert verdicts == {name: "pass" if (wire, name) in UNSAYABLE else how for name, how in SCENARIOS.items()}
