"""Faults of the completion gate."""
# ruff: noqa: D103 - the table of mutants says each fault in a sentence

from dataclasses import replace

from conformance.reference import gate
from conformance.reference.run import Ending, Run


def no_gate(_run: Run) -> str | None:
    return None


def asked_without_a_word(run: Run, lacking: str) -> Ending | None:
    ending = gate.sent_back(run, lacking)
    if ending is None:
        run.session.messages.pop()
    return ending


def asked_by_the_system(run: Run, lacking: str) -> Ending | None:
    ending = gate.sent_back(run, lacking)
    if ending is None:
        run.session.messages[-1] = {"role": "system", "content": run.session.messages[-1]["content"]}
    return ending


def ends_at_once(run: Run, lacking: str) -> Ending | None:
    run.sent_back = gate.RETRIES
    return gate.sent_back(run, lacking)


def asks_for_ever(run: Run, lacking: str) -> Ending | None:
    run.sent_back = 0
    return gate.sent_back(run, lacking)


def ends_like_any_error(run: Run, lacking: str) -> Ending | None:
    ending = gate.sent_back(run, lacking)
    return ending and replace(ending, kind="error")


def passes_once_asked(run: Run) -> str | None:
    return None if run.sent_back else gate.unmet(run)


def any_time_will_do(run: Run) -> str | None:
    wanted = dict(run.given.knobs.get("gate") or {})
    wanted.pop("since", None)
    return gate.missing(wanted, run.done) if wanted else None


def any_tool_will_do(run: Run) -> str | None:
    wanted = run.given.knobs.get("gate")
    changes = (wanted or {}).get("since", ())
    return None if any(not one.failed and one.tool not in changes for one in run.done) else gate.unmet(run)


def a_failed_check_will_do(run: Run) -> str | None:
    wanted = run.given.knobs.get("gate")
    return gate.missing(wanted, [replace(one, failed=False) for one in run.done]) if wanted else None


def any_result_will_do(run: Run) -> str | None:
    wanted = run.given.knobs.get("gate")
    return gate.missing({**wanted, "contains": ""}, run.done) if wanted else None


def the_words_will_do(run: Run) -> str | None:
    words = (run.given.knobs.get("gate") or {}).get("contains")
    said = " ".join(str(one["content"]) for one in run.session.messages if one["role"] == "assistant")
    return None if words and words in said else gate.unmet(run)


def any_mention_will_do(run: Run) -> str | None:
    words = (run.given.knobs.get("gate") or {}).get("contains")
    said = " ".join(one.text for one in run.done)
    return None if words and words in said else gate.unmet(run)


def the_limit_lifts_the_gate(run: Run) -> str | None:
    return None if run.limit is not None and run.rounds >= run.limit else gate.unmet(run)


def the_limit_forgets_the_evidence(run: Run) -> str | None:
    spent = run.limit is not None and run.rounds >= run.limit
    return "the run came to its limit" if spent and run.given.knobs.get("gate") else gate.unmet(run)


def asks_though_nothing_is_required(run: Run) -> str | None:
    return gate.unmet(run) or (None if run.done or not run.tools else "no tool was run")


def good_evidence_is_refused(run: Run) -> str | None:
    # A check that was run more than one round ago is forgotten.
    wanted = run.given.knobs.get("gate")
    return gate.missing(wanted, run.done[-1:]) if wanted else None


def evidence_is_never_enough(run: Run) -> str | None:
    return "it is not certain enough" if run.given.knobs.get("gate") else None
