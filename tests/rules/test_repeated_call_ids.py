"""EVT-6 where the model gives one id to several calls: each result is read as that of the call it was shown for."""

from story import Story

from conformance.reading.joined import view
from conformance.rule import Finding
from conformance.rules import RULES

[EVT_6] = [rule for rule in RULES if rule.id == "EVT-6"]


def told(*results):
    """Two rounds that call with one id, the first tool giving 41 and the second 42; `results` are what the events show."""
    s = Story()
    s.event("RUN_STARTED")
    for given, shown in zip((41, 42), results, strict=True):
        s.ask()
        s.reply(calls=[("look", {"at": given}, "same")])
        s.execute("look", {"at": given}, "same", given)
        s.call_events("look", {"at": given}, "same", **({} if shown is None else {"result": shown}))
    s.ask()
    s.reply(text="42")
    s.text("42")
    s.event("RUN_FINISHED")
    return [one.message for one in EVT_6.check(view(s.recording())) if isinstance(one, Finding)]


def test_a_result_belongs_to_the_call_it_was_shown_for():
    assert told("41", "42") == []


def test_a_wrong_result_is_found_all_the_same():
    [wrong] = told("41", "7")
    assert "'7'; the tool returned 42" in wrong


def test_a_result_that_is_not_shown_is_missed_though_its_id_was_shown_before():
    [unshown] = told("41", None)
    assert "x2, but no event shows its result" in unshown
