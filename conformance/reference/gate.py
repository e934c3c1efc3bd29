"""The completion gate: what must have been seen before an answer may end the run. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from conformance.reference.run import Done, Ending, Run

#: How often an answer is sent back for what is missing.
RETRIES = 1


def unmet(run: Run) -> str | None:
    """What is still missing before the run may end, None where nothing is."""
    wanted = run.given.knobs.get("gate")
    return None if not wanted else missing(wanted, run.done)


def missing(wanted: Mapping[str, Any], done: Sequence[Done]) -> str | None:
    """Why no run of the wanted tool is evidence: none, failed, older than a change, or without the wanted words."""
    tool, words, changes = wanted["tool"], wanted.get("contains", ""), wanted.get("since", ())
    last_change = max((at for at, one in enumerate(done) if one.tool in changes), default=-1)
    fresh = [one for one in done[last_change + 1 :] if one.tool == tool]
    if any(not one.failed and words in one.text for one in fresh):
        return None
    said = f" with {words!r} in its result" if words else ""
    after = " after the last change" if last_change >= 0 else ""
    return f"no run of {tool!r}{said} was seen{after}"


def sent_back(run: Run, lacking: str) -> Ending | None:
    """Tell the model what its answer lacks; the end of the run where it was told before."""
    if run.sent_back >= RETRIES:
        return Ending("gate", "error", f"the answer was not accepted: {lacking}")
    run.sent_back += 1
    run.session.messages.append({"role": "user", "content": f"Your answer is not accepted yet: {lacking}."})
    return None


def marked(run: Run, ending: Ending) -> Ending:
    """The end at the limit, said to be unverified where the gate still misses something."""
    lacking = run.parts.unmet(run) if ending.kind == "limit" else None
    return ending if lacking is None else replace(ending, kind="unverified", reason=f"{ending.reason}; {lacking}")
