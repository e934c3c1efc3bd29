"""The fitter: what recordings show becomes the smallest declaration, the same whatever was declared before."""

import asyncio

import pytest
from kits_library import by_id
from story import Story

from conformance.adapters.in_process import connected
from conformance.cell import Cell
from conformance.dialect import BY_NAME, dialect
from conformance.fitting import fitted
from conformance.judge import judge
from conformance.observing.unseen import UNSHOWN
from conformance.reference import reference, sensible_dialects
from conformance.report import Played, report
from conformance.rules import RULES
from conformance.runner import declared, play

#: Scenarios of the kit in which together every choice of the reference can be seen.
TELLING = (
    *("time-query-max-iters-1", "cargo-chain-max-iters-2", "default-limit", "summary-fails"),
    *("empty-once", "empty-forever", "empty-in-each-of-two-rounds", "second-run-stays-empty", "overflow-forever"),
    *("server-error-forever", "wrong-every-time", "reply-cut-by-length", "unknown-tool", "malformed-arguments"),
    *("tool-raises", "unknown-argument", "thinking-beside-text", "text-beside-a-call", "overflow-once"),
    *("wrong-argument-type", "ids-missing", "ids-duplicate", "hooks-that-raise"),
)
#: Ways of the reference that these scenarios leave open, for a reason that is theirs and not the key's.
OPEN = {
    ("prompt_too_long", "{'compact_then_error': 2}"): "one compaction leaves nothing that a second could shrink",
    ("answer_by", "tool:final_answer.text"): "the kit's model answers by a tool only where that is declared",
}
#: Ways that all recordings together tell, and no finding of one of them.
TOGETHER = {
    ("empty_response", "continue"): "one empty reply that is followed by another request looks like a retry",
}


def recordings(agent, names=TELLING):
    async def played():
        async with connected(agent) as opened:
            under = declared(opened.info)
            return [await play(opened, by_id()[name], Cell(wire="openai_chat"), under) for name in names]

    return asyncio.run(played())


def plain(keys):
    """Keys as they are compared: the shorthand where there is one, and without what the reference says of its exceptions."""
    whole = dialect({key: value for key, value in keys.items() if key != "exceptions"}).data()
    return {key: value for key, value in whole.items() if value != dialect({}).data()[key] and key != "on_limit"}


class Named(set):
    """Pairs of a key and a value, compared by what they say: a value may be a mapping."""

    def __init__(self, pairs):
        super().__init__((key, repr(value)) for key, value in pairs)


def named(played):
    """What the findings of a report say would fit."""
    plays = [Played(one.header.scenario["id"], "blocking", judge(one, RULES)) for one in played]
    whole = report({}, dialect({}).data(), plays, RULES)
    results = (result for entry in whole.entries for result in entry.results)
    return Named(finding.fits for result in results for finding in result.findings if finding.fits)


@pytest.mark.parametrize("does", sensible_dialects(), ids=str)
def test_what_an_agent_does_is_found_whether_or_not_it_declares_it(does):
    honest = fitted(recordings(reference(does)), RULES)
    played = recordings(reference({}, behaves=does))
    silent = fitted(played, RULES)
    assert plain(honest.keys) == plain(does)
    assert (honest.torn, silent.torn) == ((), ())
    hidden = any((key, str(value)) in (*UNSHOWN, *OPEN) for key, value in does.items())
    assert plain(silent.keys) == ({} if hidden else plain(does))
    hidden = hidden or any((key, str(value)) in TOGETHER for key, value in does.items())
    assert hidden or Named(plain(does).items()) <= named(played), "no finding of the report says what to declare"


def test_a_declaration_that_fits_fits():
    silent = recordings(reference({}, behaves={"on_limit": "raise", "http_retry": "none", "usage_events": "per_run"}))
    keys = fitted(silent, RULES).keys
    again = recordings(reference(keys, behaves={"on_limit": "raise", "http_retry": "none", "usage_events": "per_run"}))
    assert fitted(again, RULES).keys == keys


def test_a_false_declaration_is_named_beside_the_value_that_takes_its_place():
    lines = {
        line.key: line
        for line in fitted(
            recordings(reference({"http_retry": "none"}, behaves={"http_retry": "transient"})), RULES
        ).lines
    }
    assert (lines["http_retry"].value, lines["http_retry"].instead_of) == ("transient", "none")
    assert "server-error-forever" in lines["http_retry"].shown.scenarios


def test_the_shorthand_takes_the_place_of_its_parts_and_says_what_was_declared():
    (line, *_) = fitted(recordings(reference({"on_limit": "stop"}, behaves={"on_limit": "raise"})), RULES).lines
    assert (line.key, line.value, line.instead_of) == ("on_limit", "raise", "stop")


def test_what_is_declared_and_not_seen_stays_and_is_marked():
    found = fitted(
        [answered(dialect={"retry_budget": "counts", "exceptions": {"Spent": "limit"}, "limit_unit": "steps"})], RULES
    )
    assert found.keys == {"retry_budget": "counts", "limit_unit": "steps", "exceptions": {"Spent": "limit"}}
    assert [line.shown for line in (*found.lines, *found.classes)] == [None, None, None]


def test_an_agent_as_recommended_has_nothing_to_declare():
    assert fitted([answered()], RULES).keys == {}
    assert fitted([], RULES).keys == {}


def answered(*, id="told", **fields):
    s = Story(scenario={"id": id}, **fields)
    s.event("RUN_STARTED")
    s.ask()
    s.reply(text="42")
    s.text("42")
    s.event("RUN_FINISHED")
    s.outcome("answered", text="42")
    return s.recording()


def failed(id, exception=None, *, times=1, status=500, **fields):
    """A model that fails: the request is sent so many times, and then the run ends in an error or raises."""
    s = Story(scenario={"id": id}, **fields)
    s.event("RUN_STARTED")
    for turn in range(times):
        s.ask(again=turn > 0)
        s.fail(status)
    if exception is None:
        s.event("RUN_ERROR", message="the model failed", code="model_error")
        s.outcome("model_error")
    else:
        s.raises(exception, "the model failed")
    return s.recording()


def test_a_key_that_shows_two_values_is_left_out_and_both_are_named():
    found = fitted([failed("once"), failed("twice", times=2)], RULES)
    assert "http_retry" not in found.keys
    (torn,) = found.torn
    assert torn.key == "http_retry"
    assert {one.value: one.scenarios for one in torn.values} == {"none": ("once",), "transient": ("twice",)}


def test_an_exception_means_what_every_recording_of_it_proves():
    found = fitted([failed("a", "Down", times=2), failed("b", "Down", times=2, dialect={})], RULES)
    assert found.keys == {"model_error": "raise", "exceptions": {"Down": "model_error"}}


def limited(id, exception):
    s = Story(max_iters=1, scenario={"id": id})
    s.event("RUN_STARTED")
    s.ask()
    s.reply(calls=[("look", {}, "c1")])
    s.execute("look", {}, "c1", 42)
    s.raises(exception, "no more")
    return s.recording()


def test_an_exception_of_several_causes_means_none_of_them():
    found = fitted([failed("down", "Trouble", times=2), limited("spent", "Trouble")], RULES)
    assert "exceptions" not in found.keys
    (torn,) = found.torn
    assert torn.key == "exceptions.Trouble"
    assert {one.value for one in torn.values} == {"model_error", "limit"}


def raised_on(id, exception, stop):
    """A call whose arguments cannot be read, in a reply that was cut or was not."""
    s = Story(scenario={"id": id})
    s.event("RUN_STARTED")
    s.ask()
    s.reply(calls=[("look", '{"at": ', "c1")], stop=stop)
    s.raises(exception, "no JSON")
    return s.recording()


def test_an_exception_that_a_cut_reply_brought_about_does_not_mean_a_cut_where_it_comes_without_one():
    cut, whole = raised_on("cut", "BadJSON", "length"), raised_on("whole", "BadJSON", "tool_calls")
    assert fitted([cut], RULES).keys["exceptions"] == {"BadJSON": "truncated"}
    found = fitted([cut, whole], RULES)
    assert "exceptions" not in found.keys
    (torn,) = [one for one in found.torn if one.key == "exceptions.BadJSON"]
    assert {one.value: one.scenarios for one in torn.values} == {"truncated": ("cut",), "error": ("whole",)}


def empty(id, shape, *, ends=False):
    """An empty reply, which is asked again, or on which the run ends as answered."""
    s = Story(scenario={"id": id})
    s.event("RUN_STARTED")
    s.ask()
    s.reply(**{"blank": {"text": "  "}, "no_parts": {"parts": []}}[shape], stop="stop", keep=False)
    if not ends:
        s.ask(messages=[*s.history, {"role": "user", "content": "Please answer."}])
        s.reply(text="42")
        s.text("42")
    s.event("RUN_FINISHED")
    s.outcome("answered", text=None if ends else "42")
    return s.recording()


def test_a_shape_that_ends_runs_beside_others_that_are_asked_again_is_no_empty_reply():
    found = fitted([empty("nothing", "no_parts"), empty("blank", "blank", ends=True)], RULES)
    assert (found.keys, found.torn) == ({"empty_is": ("no_parts", "null", "thinking")}, ())


def test_where_every_shape_ends_a_run_nothing_is_asked_again():
    found = fitted([empty("nothing", "no_parts", ends=True), empty("blank", "blank", ends=True)], RULES)
    assert (found.keys, found.torn) == ({"empty_response": "finish"}, ())


def test_every_line_is_of_a_key():
    found = fitted(
        recordings(reference({"on_limit": "stop", "limit_unit": "steps"}, behaves={"on_limit": "error"})), RULES
    )
    assert {line.key for line in found.lines} <= set(BY_NAME)
