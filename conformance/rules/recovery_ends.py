"""REC-6 and REC-8: when recovery is used up, and what the caller then reads."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from conformance.reading.causes import Cause, Trouble, shrinkable, troubles
from conformance.reading.classes import is_empty
from conformance.reading.failures import asked_to_wait_s, error, names, no_reply, status
from conformance.reading.outcome import claimed, final_text, last_call
from conformance.reading.view import Call, Run, View
from conformance.rule import OK, SHOULD, Finding, Judged

#: Endings by something else than what was to be recovered from.
_OTHER_ENDINGS = frozenset({"answered", "limit", "guard", "gate", "unverified", "interrupted", "waiting", "refused"})
#: Fields of a terminal event in which an agent puts what happened.
_TELLING = ("message", "code", "result", "outcome")

#: Words that name a cause, where no status or code does.
_WORDS: Mapping[str, str] = {
    "empty": r"empty|blank|nothing|(no|without|missing|lack\w*) (any )?(content|text|output|repl|respon|answer|message)|空",
    "overflow": r"overflow|context|too long|too large|length|window|token|上下文|超长|过长",
    "truncated": r"truncat|length|\bcut|incomplete|token|截断|长度",
    "no reply": r"no (valid )?(reply|response|choice)|choices|json|pars|decod|html|invalid|unexpected|malformed|\b200\b|empty|stream"
    r"|expect(ed|ing) value|syntax|unread|解析|无效|格式",
    "broken": r"connect|stream|broke|reset|clos|incomplete|peer|network|protocol|time.?out|\beof\b|\bcut|finish|terminat|premature"
    r"|abort|socket|h[au]ng.?up|not completed|drop|断|连接",
    "408": r"time.?out|timed out|超时",
    "409": r"conflict",
    "429": r"rate.?limit|too many|quota|限流",
    "5xx": r"server.?error|internal|gateway|unavailable|overload|time.?out|timed out|服务",
}

#: Causes that come with neither a status nor a code: what to call them is up to the agent, and no list holds every word for it.
_NAMELESS = frozenset({"broken", "no reply"})
#: Words that only say that something failed, or that it was tried again.
_SAYS_LITTLE = re.compile(
    r"\b(an?|the|it|is|was|were|has|have|could|can|not?|of|to|in|on|by|at|and|or|for|with|from|after|again|up|run|agent|loop|llm|model"
    r"|provider|api|calls?|requests?|repl(y|ies)|responses?|answers?|errors?|exceptions?|fail\w*|g[ai]ve|giving|retr\w*|attempts?|tr(y|ied|ies)"
    r"|times?|many|too|several|exhaust\w*|max\w*|used|internal|unknown|something|went|wrong|sorry|please|later)\b",
    re.IGNORECASE,
)


def rec_6(view: View) -> Judged:
    """After the last recovery the caller can read what it failed of."""
    for run in view.runs:
        last, claim = last_call(run), claimed(run, view)
        if last is None or claim is None or run.summary or run.cancelled or claim.kind in _OTHER_ENDINGS:
            continue
        why = _cause(last, view) if last.kind in ("attempt", "retry") else None
        if why is None:
            continue
        told = _told(run, view)
        if any(re.search(word, told, re.IGNORECASE) for word in _words(run, last, why)):
            yield OK
        else:
            yield Finding(
                f"{run.id} gave up after {last.id}, whose cause was {_named(last, why)}, but all the caller can read is "
                f"{told.strip()[:160]!r}; expected the last cause in it",
                claim.seq,
                related=(last.seq,),
                # An exception may be raised from another that tells the cause, and a recording has its own words only.
                level=SHOULD if claim.by == "raised" or (why in _NAMELESS and _says_more(run)) else None,
            )


def _says_more(run: Run) -> bool:
    """Whether there are words that may name a cause in a way that is not known here, such as those of another language."""
    words = re.sub(r"[\W\d_]+", " ", " ".join(_of_its_end(run)))
    return re.search(r"[^\W\d_]{2}", _SAYS_LITTLE.sub("", words)) is not None


def _cause(call: Call, view: View) -> str | None:
    """What a call failed of, as a key of `_WORDS`."""
    reply = call.reply
    if reply is None:
        return None
    if is_empty(call, view.dialect):
        return "empty"
    if call.overflow:
        return "overflow"
    if reply.complete:
        return "truncated" if reply.stop == "length" else None
    if reply.status == 200:
        return "no reply" if no_reply(call) else "broken"
    return "5xx" if reply.status >= 500 else str(reply.status)


def _named(call: Call, why: str) -> str:
    if call.reply is not None and call.reply.status >= 400:
        return " / ".join((f"status {status(call)}", *names(call)))
    return {"no reply": "a 200 that is no reply", "broken": "a broken reply"}.get(why, why)


def _words(run: Run, last: Call, why: str) -> list[str]:
    """What names the last cause, but for what an earlier failure of another kind is called by as well."""
    earlier = [one for one in run.calls if one.seq < last.seq and error(one) and status(one) != status(last)]
    shared = {name for one in earlier for name in (*names(one), _kind(one))}
    mine = [re.escape(name) for name in names(last) if name not in shared]
    mine += [_WORDS[why]] if why in _WORDS and why not in shared else []
    # Read as a stream, a body that is none has no chunk: a stream that ended too early.
    mine += [_WORDS["broken"]] if why == "no reply" and last.request.stream else []
    if last.reply is not None and last.reply.status != 200:
        mine.append(rf"(?<!\d){last.reply.status}(?!\d)")
    return mine


def _kind(call: Call) -> str:
    came = status(call) or 0
    return "5xx" if came >= 500 else str(came)


def _told(run: Run, view: View) -> str:
    """All that the caller of a run can read of its end."""
    return " · ".join(dict.fromkeys((*_of_its_end(run), *filter(None, (final_text(run, view),)))))


def _of_its_end(run: Run) -> list[str]:
    """What the agent says of the end, the text for the user aside, which may be the model's."""
    end: Mapping[str, Any] = run.terminal.data if run.terminal is not None else {}
    said = [end[key] for key in _TELLING if end.get(key)]
    said += [run.said.kind, run.said.reason] if run.said is not None else []
    said += [run.raised.exception, run.raised.message] if run.raised is not None else []
    return [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in said if one]


def rec_8(view: View) -> Judged:
    """What one cause used up is not taken from another."""
    for run in view.runs:
        found = troubles(run, view)
        for place, one in enumerate(found):
            before = found[:place]
            others = [other for other in before if other.cause != one.cause and other.follows is not None]
            used = sum(other.cause == one.cause and _same_scope(other, one, view) for other in before)
            if not others or used >= _ALLOWED[one.cause](run, one, view):
                continue
            if one.follows is not None:
                yield OK
            elif _gave_up(run, one, view):
                yield Finding(
                    f"{run.id} ended on {one.call.id} ({_WHAT[one.cause]}) without another try, after it had recovered from "
                    f"{_WHAT[others[-1].cause]} ({others[-1].call.id}); expected each cause to be counted by itself",
                    run.end_seq,
                    related=(one.call.seq, others[-1].call.seq),
                )


_WHAT: Mapping[Cause, str] = {
    "empty": "an empty reply",
    "overflow": "an overflow",
    "transient": "a failure that may pass",
}


def _same_scope(one: Trouble, other: Trouble, view: View) -> bool:
    return view.dialect.recovery_scope == "run" or one.call.round == other.call.round


def _transient_tries(run: Run, one: Trouble, view: View) -> int:
    """The first of them has another try for sure; how many more an agent has it does not declare."""
    forbidden = run.spec is not None and run.spec.limits.retries == 0
    return int(view.dialect.http_retry != "none" and not forbidden and not asked_to_wait_s(one.call))


#: How often a cause may be recovered from in its scope, as far as that is declared.
_ALLOWED: Mapping[Cause, Callable[[Run, Trouble, View], int]] = {
    "empty": lambda _run, _one, view: view.dialect.empty_retries,
    "overflow": lambda _run, one, view: view.dialect.compactions if shrinkable(one.call) else 0,
    "transient": _transient_tries,
}


def _gave_up(run: Run, one: Trouble, view: View) -> bool:
    """Whether the agent ended the run where it stood, though a round was left if the next try takes one."""
    costs = one.cause == "empty" and view.dialect.retry_budget == "counts"
    spent = costs and run.max_iters is not None and run.rounds >= run.max_iters
    return run.how in ("returned", "raised") and not (run.cancelled or run.summary or spent)
