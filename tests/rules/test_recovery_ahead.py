"""REC-13 on recordings told by hand: requests that fit the model's window, were made to fit, or should have been."""

from story import Story

from conformance.reading.joined import view
from conformance.rule import OK, Finding
from conformance.rules.recovery_ahead import REC_13

#: 400 bytes of messages.
WINDOW = 100


def turns(count, size=40):
    return [message for n in range(count) for message in ({"role": "user", "content": f"{n}: " + "x" * size}, SAID)]


SAID = {"role": "assistant", "content": "yes"}


def story(*requests, window=WINDOW, capabilities=None, history=()):
    """A request is its messages, `compact` a compaction's."""
    s = Story(
        scenario={"model": {"context_window": window}, "history": list(history)},
        capabilities={"compaction": True} if capabilities is None else capabilities,
    )
    for messages in requests:
        if messages == "compact":
            s.ask(messages=[{"role": "user", "content": "Sum it up."}], side="compaction")
            s.reply("short", keep=False)
        else:
            s.ask(messages=messages)
            s.reply(calls=[("look", {}, f"c{s.calls}")])
            s.execute("look", {}, f"c{s.calls}", 42)
    s.outcome("answered")
    return s


def judged(s):
    read = view(s.recording())
    return REC_13.applies(read) or list(REC_13.check(read))


def test_a_request_that_does_not_fit_is_found():
    [finding] = [one for one in judged(story(turns(6))) if isinstance(one, Finding)]
    assert "m1 holds" in finding.message
    assert "the model's window 400 (100 tokens); expected it to be made smaller" in finding.message


def test_every_round_is_looked_at():
    [finding] = [one for one in judged(story(turns(3), turns(6))) if isinstance(one, Finding)]
    assert "m2 holds" in finding.message


def test_a_request_that_was_made_to_fit_is_right():
    assert judged(story("compact", turns(2))) == [OK]
    assert judged(story(turns(4, size=30), "compact", turns(2))) == [OK]
    assert judged(story(turns(4, size=30), turns(2))) == [OK]
    assert judged(story(turns(2), history=turns(6))) == [OK]


def test_a_history_of_one_turn_cannot_be_made_smaller():
    assert judged(story(turns(1, size=2000))) == []


def test_a_history_that_fits_shows_nothing():
    assert judged(story(turns(2), turns(3))) == []


def test_a_window_that_nobody_gave_is_not_looked_at():
    s = Story(capabilities={"compaction": True})
    s.ask(messages=turns(60))
    assert judged(s) == []


def test_who_declares_no_compaction_is_not_bound():
    assert judged(story(turns(6), capabilities={"guards": True})) == "capability"
