"""LOG: what the log says of the limit. Reads no other log line, and none of the libraries under the agent."""

import re

from conformance.reading.outcome import actual, claimed
from conformance.reading.own_logs import own_logs
from conformance.reading.round_limit import ended_there
from conformance.reading.view import Run, View
from conformance.recording import Record
from conformance.rule import OK, SHOULD, Finding, Judged, Rule

#: Levels that ask a person to look.
_LOUD = frozenset({"WARN", "WARNING", "ERROR", "CRITICAL", "FATAL"})
_SPEAKS = re.compile(r"limit|max|round|turn|step|iteration", re.IGNORECASE)
_PLAIN = re.compile(r"limit|max|exceed|reached", re.IGNORECASE)


def the_limit_is_logged_quietly(view: View) -> Judged:
    """LOG-1."""
    for run in view.runs:
        if not _ended_by_limit(run, view):
            continue
        told = _told(run)
        loud = [record for record in told if str(record.data.get("level")).upper() in _LOUD]
        if not told:
            yield Finding(
                f"run {run.id} came to its limit of {run.max_iters}, but no log record after the last round says so; one was expected",
                run.end_seq,
            )
        elif len(told) > 1:
            said = "; ".join(repr(record.data.get("message")) for record in told[:3])
            yield Finding(f"run {run.id}: the limit is logged {len(told)} times, expected once: {said}", told[1].seq)
        elif loud and not _pending(run):
            yield Finding(
                f"run {run.id}: the limit is logged as {loud[0].data.get('level')} ({loud[0].data.get('message')!r}), although no call "
                "was pending; a level below WARNING was expected",
                loud[0].seq,
            )
        else:
            yield OK


def _ended_by_limit(run: Run, view: View) -> bool:
    """Whether the limit ended the run: something else may have, in the last round just as in any other."""
    claim = claimed(run, view)
    if run.max_iters is None or run.cancelled or actual(run, view) != "limit":
        return False
    return ended_there(run, view) or (claim is not None and claim.kind == "limit")


def _told(run: Run) -> tuple[Record, ...]:
    """The records that speak of the limit, after the last tool of the last round; the plainest ones, where some are plainer."""
    figure = re.compile(rf"(?<!\d){run.max_iters}(?!\d)")
    told = [
        record
        for record in own_logs(run)
        if record.seq > _last_round_ended(run)
        and figure.search(str(record.data.get("message")))
        and _SPEAKS.search(str(record.data.get("message")))
    ]
    plain = [record for record in told if _PLAIN.search(str(record.data.get("message")))]
    return tuple(plain or told)


def _last_round_ended(run: Run) -> int:
    last = [call for call in run.calls if call.role in ("regular", "retry")]
    if not last:
        return run.seq
    ended = [x.end_seq for x in run.executions if x.end_seq is not None and x.seq > last[-1].seq]
    return max((last[-1].end_seq, *ended))


def _pending(run: Run) -> bool:
    """Whether a call of the last round, or one of the summary, was left without having run."""
    last = [call for call in run.calls if call.role in ("regular", "retry") and call.said]
    ran = [x for x in run.executions if last and x.seq > last[-1].seq]
    return bool(last and len(ran) < len(last[-1].said)) or any(call.said for call in run.summary)


RULES: tuple[Rule, ...] = (
    Rule(
        id="LOG-1",
        level=SHOULD,
        clause="The limit is logged once, below WARNING; a warning is right only where calls were left pending.",
        rationale="A limit that ends in a summary is normal business, and an alarm for it teaches people to ignore the log; one without a trace cannot be explained.",
        channels="L",
        check=the_limit_is_logged_quietly,
        evidence=(
            "https://github.com/mastra-ai/mastra/issues/12596",
            "https://github.com/NousResearch/hermes-agent/issues/92552",
        ),
    ),
)
