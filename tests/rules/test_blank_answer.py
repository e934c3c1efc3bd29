"""RUN-8 where the dialect lets a blank text be an answer: it has no words that could be shown or missed."""

import pytest
from story import Story

from conformance.judge import judge
from conformance.rules import RULES


@pytest.mark.parametrize("shown", [True, False])
def test_a_blank_answer_has_no_words_to_show(shown):
    s = Story(dialect={"empty_is": ["no_parts", "null", "thinking"]})
    s.event("RUN_STARTED")
    s.ask()
    s.reply(text=" \n")
    if shown:
        s.text(" \n")
    s.event("RUN_FINISHED")
    s.outcome("answered", text=" \n")
    (run_8,) = [one for one in judge(s.recording(), RULES).results if one.rule == "RUN-8"]
    assert not run_8.findings
