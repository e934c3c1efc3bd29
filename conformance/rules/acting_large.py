"""ACT-12: a result that no window holds is made smaller before the model is sent it. How small is up to the agent."""

import json
import re

from conformance.reading.tool_calls import next_main, said_in, tool_calls
from conformance.reading.view import View
from conformance.rule import OK, SHOULD, Finding, Judged, Rule
from conformance.rules.history_succession import BYTES_PER_TOKEN, shrank

#: Words and signs by which a shortened result says that it is not whole.
_SAYS_SO = re.compile(
    r"truncat|\bcut\b|cut off|omit|abbreviat|shorten|trimm|clipp|elid|partial|incomplete|remain|too (large|long|big)|exceed|limit"
    r"|first \d|last \d|more (bytes|char|lines|tokens)|\b(bytes|characters|chars|tokens|lines)\b|saved to|written to|stored"
    r"|summar|…|\.\.\.|截断|省略|过长|摘要",
    re.IGNORECASE,
)


def _act_12(view: View) -> Judged:
    window = view.scenario.model.context_window
    if window is None:
        return
    room = window * BYTES_PER_TOKEN
    calls = tool_calls(view)
    for made in calls.made:
        done = [one for one in made.ran if one.end_seq is not None and one.error is None]
        size = _size(done[-1].value) if done else 0
        follows = next_main(made.run, done[-1].end_seq or 0) if done else None
        # A compaction in between is another way to make it fit, and tells of it in words of its own.
        if size <= room or follows is None or not made.whole or shrank(made.by, follows, made.run, view):
            continue
        there = calls.carried(follows, made.run.session).get(made.key)
        as_text = view.dialect.tool_history == "text"
        if there is None and not as_text:
            continue
        came = said_in(follows) if there is None else there.content
        if _size(came) > room:
            yield Finding(
                f"{follows.id} carries {_size(came)} bytes for the result of {made}, and the model's window holds {room} ({window} "
                "tokens); expected the result to be bounded before it enters the history",
                follows.seq,
                related=(done[-1].seq,),
            )
        elif _SAYS_SO.search(came):
            yield OK
        else:
            yield Finding(
                f"{follows.id} carries {_size(came)} of the {size} bytes that {made} returned and does not say so; expected a word "
                "to the model that the rest is missing",
                follows.seq,
                related=(done[-1].seq,),
            )


def _size(value: object) -> int:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return len(text.encode("utf-8", "surrogatepass"))


_ISSUES = "https://github.com"

ACT_12 = Rule(
    id="ACT-12",
    level=SHOULD,
    clause="A result that is larger than the model's window is bounded before it enters the history, and says that it was.",
    rationale="One careless search ends a long conversation: what does not fit is refused from then on, and a cut that is not "
    "told of is taken for all there is.",
    evidence=(
        f"{_ISSUES}/zed-industries/zed/issues/59401",
        f"{_ISSUES}/huggingface/smolagents/pull/2379",
        f"{_ISSUES}/aaif-goose/goose/pull/1988",
    ),
    channels="M",
    keys=("tool_history",),
    check=_act_12,
)
