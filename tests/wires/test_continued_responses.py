"""An agent that sends only what is new, with `previous_response_id`, is judged by the conversation that the model saw."""

from over_wires import played, troubles

#: How many requests of each can name a response. A summary's instruction is no part of the history, so that a run after one
#: begins with all of it.
SCENARIOS = {
    "time-query-max-iters-1": 1,
    "cargo-chain-max-iters-2": 2,
    "parallel-calls": 1,
    "cargo-chain-second-run": 3,
    "second-run-after-a-cut-call": 1,
}


def test_a_loop_that_goes_on_from_stored_responses_passes(monkeypatch):
    report = played(monkeypatch, SCENARIOS, "openai_responses", of="continuing_over_sdks")

    assert troubles(report) == []
    assert {entry.scenario: _continued(entry) for entry in report.entries} == SCENARIOS


def _continued(entry):
    """How many requests of a play named a response."""
    records = entry.recordings[0].records
    return sum("previous_response_id" in one.data["body"] for one in records if one.kind == "model/request")
