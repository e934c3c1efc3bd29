"""RUN-8: whether the final text is what the model said, once. One check, no rule of its own."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conformance.reading.agui import TextMessage
from conformance.reading.classes import is_empty
from conformance.reading.outcome import actual, answer, claimed, continued, last_reply, shown_elsewhere
from conformance.reading.outcome import words as all_said
from conformance.reading.view import Call, Run, View
from conformance.rule import OK, SHOULD, Finding, Judged


@dataclass(frozen=True, slots=True)
class _Words:
    """
    What the user has to read. `texts` are equally right, the first is what findings name; `all_text` is all that the model
    said, reply by reply.

    `times` is how often the model said it, `shown_by_call` whether a call of the answer tool already shows it.
    """

    call: Call
    texts: tuple[str, ...]
    all_text: tuple[str, ...]
    times: int
    shown_by_call: bool


def the_text_is_the_models(view: View) -> Judged:
    """Judge the result and the events, whichever are declared: a user reads one of them."""
    for run in view.runs:
        words = _words(run, view)
        if words is None or run.how not in ("returned", "raised"):
            continue
        if "R" in view.channels and run.said is not None:
            yield from _result(run, view, words)
        if "E" in view.channels and run.events:
            yield from _events(run, view, words)


def _words(run: Run, view: View) -> _Words | None:
    """None where the run has no final text of the model's: neither an answer nor a summary."""
    claim = claimed(run, view)
    if run.cancelled or (claim is not None and claim.kind in ("gate", "unverified", "guard")):
        return None
    if run.summary:
        call = run.outcome_of(run.summary[-1])
        reply = call.reply
        if call.failed or is_empty(call, view.dialect) or call.said or reply is None or not (reply.text or "").strip():
            return None
        final = reply.text or ""
    else:
        last = last_reply(run)
        said = answer(last, view.dialect) if last is not None and actual(run, view) == "answered" else None
        # Where a blank counts as an answer, there is nothing in it that a reader could miss.
        if last is None or said is None or not said.strip():
            return None
        call, final = last, said
    heard = [one for one in run.calls if one.role in ("regular", "retry", "summary")]
    whole = [one.reply for one in heard if one.reply is not None and one.reply.complete]
    joined = continued(run, call, final)
    return _Words(
        call=call,
        texts=(final,) if joined is None else (final, joined),
        all_text=tuple(text for one in heard for text in all_said(one, view.dialect)),
        times=sum((reply.text or "").strip() == final.strip() for reply in whole),
        shown_by_call=bool(call.said),
    )


def _result(run: Run, view: View, words: _Words) -> Judged:
    said = run.said
    if said is None:
        return
    if said.text is None:
        # Where there are events too, they are where the user reads it.
        if "E" not in view.channels:
            yield Finding(
                f"run {run.id}: the result has no text, expected {words.texts[0].strip()!r} ({words.call.id})", said.seq
            )
        return
    if _is(said.text, words, view):
        yield OK
    else:
        yield _other(f"run {run.id}: the result's text is {said.text[:200]!r}", said.seq, said.text, words, view)


def _is(text: str, words: _Words, view: View) -> bool:
    if view.dialect.final_text == "all_text":
        return _alike((text,), words.all_text)
    return any(text.strip() == one.strip() for one in words.texts)


def _alike(shown: Sequence[str], said: Sequence[str]) -> bool:
    """Whether two rows of texts say the same: white space may differ only where one of the texts begins or ends."""
    (bare, gaps), (wanted, its) = _read(shown), _read(said)
    return bare == wanted and all(
        gaps.get(at, "") == its.get(at, "") or None in (gaps.get(at, ""), its.get(at, "")) for at in {*gaps, *its}
    )


def _read(texts: Sequence[str]) -> tuple[str, Mapping[int, str | None]]:
    """The texts without white space, and what white space stands before which character; None where any may."""
    bare, gaps = "", dict[int, str | None]()
    for text in texts:
        gaps[len(bare)] = None
        for part in re.findall(r"\s+|\S+", text.strip()):
            if part.isspace():
                gaps[len(bare)] = part
            else:
                bare += part
        gaps[len(bare)] = None
    return bare, gaps


def _other(came: str, seq: int, text: str, words: _Words, view: View) -> Finding:
    everything = view.dialect.final_text == "all_text"
    wanted = "".join(words.all_text) if everything else words.texts[0].strip()
    other = "last_reply" if everything else "all_text"
    fits = text.strip() == words.texts[0].strip() if everything else _alike((text,), words.all_text)
    return Finding(
        f"{came}; the model said {wanted[:200]!r} ({words.call.id})",
        seq,
        related=(words.call.seq,),
        fits=("final_text", other) if fits else None,
    )


def _events(run: Run, view: View, words: _Words) -> Judged:
    shown = [message for message in run.shown.text_messages if message.role == "assistant" and message.text.strip()]
    elsewhere = shown_elsewhere(run, view.dialect.final_text)
    twice = [message for message in shown if message.text.strip() == words.texts[0].strip()]
    if view.dialect.final_text == "last_reply" and len(twice) > max(words.times, 1):
        yield Finding(
            f"run {run.id}: the final text {words.texts[0].strip()[:80]!r} is shown {len(twice)} times, expected once",
            twice[-1].seq,
            related=(twice[0].seq,),
        )
    elif _shows(shown, words, view) or (not shown and any(_is(text, words, view) for text in elsewhere)):
        yield OK
    elif words.shown_by_call and not twice:
        return
    elif not shown:
        yield Finding(
            f"run {run.id}: no message shows the final text {words.texts[0].strip()[:80]!r} ({words.call.id})",
            run.end_seq,
            # Where the result carries the text, the user has it; the events leave it out.
            level=SHOULD if run.said is not None and (run.said.text or "").strip() else None,
        )
    else:
        last = shown[-1]
        yield _other(
            f"run {run.id}: the last message {last.id!r} says {last.text[:200]!r}", last.seq, last.text, words, view
        )


def _shows(shown: Sequence[TextMessage], words: _Words, view: View) -> bool:
    """Whether the last message is the text, or the last few together are: thinking between two parts of a text splits it."""
    tails = [[message.text for message in shown[start:]] for start in range(len(shown))]
    if view.dialect.final_text == "all_text":
        # A reply that broke may have been shown as far as it came, and was then said again.
        return any(_alike(tail, words.all_text) for tail in tails)
    return any(_alike(tail, (text,)) for tail in tails for text in words.texts)
