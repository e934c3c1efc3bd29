"""HIS-6: what a request keeps of the one before it. Compares what messages mean, not how they are spelled."""

from collections.abc import Sequence

from conformance.reading.containment import carries
from conformance.reading.conversation import Said, conversation, same_text, squeezed
from conformance.reading.tool_calls import equal, tool_calls
from conformance.reading.view import Call, Run, View
from conformance.rule import OK, SHOULD, Finding, Judged, Rule
from conformance.rules.history_succession import any_mixed, asked_to_compact, may_shrink, successive


def _his_6(view: View) -> Judged:
    thoughts = [call.reply.thinking for run in view.runs for call in run.calls if call.reply and call.reply.thinking]
    sound: dict[str, Call] = {}
    # Sessions with a digest that no request has shown yet: whoever compacts beside the loop puts it to use some requests later.
    digested: set[str] = set()
    for run, before, call in successive(view):
        may_change = any_mixed(view) or may_shrink(before, call, run, view)
        if may_change:
            sound.pop(run.session, None)
        new = conversation(call, thoughts)
        # What one request left out and the next one has again is told of once.
        bases = [before, *([sound[run.session]] if run.session in sound else [])]
        olds = [_lasting(conversation(base, thoughts), _words(base, run, view)) for base in bases]
        if not olds[0]:
            continue
        changed = [_change(old, new, _words(base, run, view), view) for old, base in zip(olds, bases, strict=True)]
        if may_change:
            if None not in changed:
                digested.discard(run.session)
            elif asked_to_compact(before, call, run, view):
                digested.add(run.session)
        elif None in changed:
            sound[run.session] = call
            yield OK
        elif run.session in digested:
            digested.remove(run.session)
            sound.pop(run.session, None)
        elif changed[0] is not None:
            sound.setdefault(run.session, before)
            yield _told(before, call, *changed[0])


def _told(before: Call, call: Call, was: Said, came: Said | None) -> Finding:
    instead = f"messages[{came.index}] has {came}" if came is not None else "nothing more comes"
    return Finding(
        f"{call.id} does not go on from {before.id}: at messages[{was.index}] {before.id} had {was}, and in {call.id} {instead}; "
        "expected every message of the request before, and the new ones behind them",
        call.seq,
        related=(before.seq,),
    )


def _words(base: Call, run: Run, view: View) -> dict[str, frozenset[str]]:
    """What user and model had said in the session when a request was sent, by role."""
    runs = [one for one in view.runs if one.session == run.session]
    past = view.scenario.history
    said = {
        "user": [one.user for one in runs] + [m.get("content") for m in past if m.get("role") == "user"],
        "assistant": [c.reply.text for one in runs for c in one.calls if c.reply is not None and c.reply.seq < base.seq]
        + [m.get("content") for m in past if m.get("role") == "assistant"],
    }
    return {
        role: frozenset(squeezed(text) for text in texts if isinstance(text, str) and text.strip())
        for role, texts in said.items()
    }


def _owed(said: Sequence[Said], words: dict[str, frozenset[str]]) -> list[str]:
    """The words of user or model that the last text holds and no text before it."""
    last = said[-1]
    earlier = [one.text for one in said[:-1] if one.kind == last.kind]
    return [
        word for word in words.get(last.kind, ()) if word in last.text and not any(word in text for text in earlier)
    ]


def _lasting(said: Sequence[Said], words: dict[str, frozenset[str]]) -> Sequence[Said]:
    """A conversation without the texts at its end that nobody said: nudges, hints, an instruction to sum up."""
    while said and said[-1].kind not in ("call", "tool") and not _owed(said, words):
        said = said[:-1]
    return said


def _change(
    old: Sequence[Said], new: Sequence[Said], words: dict[str, frozenset[str]], view: View
) -> tuple[Said, Said | None] | None:
    """The first thing that is not as it was, with what stands in its place."""
    for place, was in enumerate(old):
        came = new[place] if place < len(new) else None
        at_the_end = place == len(old) - 1
        if came is None or not (_same(was, came) or (at_the_end and _goes_over(old, came, words, view))):
            return was, came
    return None


def _same(was: Said, came: Said) -> bool:
    if was.kind != came.kind or was.name != came.name or not equal(was.arguments, came.arguments):
        return False
    if was.text == came.text:
        return True
    return was.paired is not None and came.paired is not None and same_text(was.paired.content, came.paired.content)


def _goes_over(old: Sequence[Said], came: Said, words: dict[str, frozenset[str]], view: View) -> bool:
    """Whether the last thing of a request is still there, with what trailed it changed: a hint may be joined to it."""
    was = old[-1]
    if was.kind != came.kind or was.name != came.name or not equal(was.arguments, came.arguments):
        return False
    if was.kind in ("call", "tool"):
        return came.text.startswith(was.text) or (was.text.startswith(came.text) and _still_says(was, came, view))
    return all(word in came.text for word in _owed(old, words))


def _still_says(was: Said, came: Said, view: View) -> bool:
    """Whether a result that lost its end has all that its tool returned, as far as it had it before."""
    if was.paired is None or came.paired is None:
        return bool(came.text)
    returned = [
        one.value
        for made in tool_calls(view).made
        if made.call.name == was.name and equal(made.arguments, was.arguments)
        for one in made.ran
        if one.end_seq is not None and one.error is None
    ]
    had = [value for value in returned if not carries(was.paired.content, value)]
    return any(not carries(came.paired.content, value) for value in had) if had else bool(came.text)


_ISSUES = "https://github.com"

HIS_6 = Rule(
    id="HIS-6",
    level=SHOULD,
    clause="History only grows: each request holds what the one before it held, and goes on from there. A compaction may "
    "shorten it, system text may change, and a nudge, a hint or an instruction at its end may go again.",
    rationale="What changes behind the model's back is forgotten or contradicted, and every prompt cache misses from there on.",
    evidence=(
        f"{_ISSUES}/agno-agi/agno/issues/7802",
        f"{_ISSUES}/livekit/agents/issues/3702",
        f"{_ISSUES}/NousResearch/hermes-agent/issues/79278",
    ),
    channels="M",
    check=_his_6,
)
