"""Requests that go on from a stored response are read, from the recording alone, as the model saw them."""

import pytest
from story import Story

from conformance.reading.joined import view
from conformance.rules import RULES

HISTORY = {rule.id: rule for rule in RULES if rule.id.startswith("HIS-") or rule.id == "WIRE-1"}
USER = {"role": "user", "content": "What is it?"}
LOOK = ("look", {}, "c1")
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "42"}


class OverResponses(Story):
    """A story on the Responses wire, whose requests are told as they are sent."""

    def say(self, given, **keys):
        self.ask()
        body = {"model": "fake", "input": given, "tools": [self.tool], **keys}
        self.records[-1].data.update(wire="openai_responses", path="/v1/responses", body=body)

    @property
    def tool(self):
        return {"type": "function", "name": "look", "parameters": {"type": "object"}, "strict": False}


def two_rounds(*, raw=None, **second):
    """A call, its result alone behind the response's id, and the answer."""
    story = OverResponses()
    story.say([USER])
    story.reply(calls=[("look", raw or {}, "c1")])
    if raw is None:
        story.execute("look", {}, "c1", 42)
    story.say([RESULT], **{"previous_response_id": "reply-1", **second})
    story.reply(text="42")
    return story


def roles(call):
    return [message.role for message in call.request.messages]


def findings(story, *rules):
    read = view(story.recording())
    return [found for rule in rules for found in HISTORY[rule].check(read) if hasattr(found, "message")]


def test_a_request_shows_all_that_its_response_held():
    first, second = view(two_rounds().recording()).runs[0].calls

    assert roles(second) == ["user", "assistant", "tool"]
    assert second.request.size > first.request.size
    assert [message.role for message in second.sent.messages] == ["tool"]
    assert second.body["previous_response_id"] == "reply-1"


def test_a_next_run_goes_on_from_the_run_before():
    story = two_rounds()
    story.end()
    story.begin("And now?")
    story.say("And now?", previous_response_id="reply-2")
    story.reply(text="43")

    assert roles(view(story.recording()).runs[1].calls[0]) == ["user", "assistant", "tool", "assistant", "user"]
    assert findings(story, *HISTORY) == []


@pytest.mark.parametrize("keys", [{}, {"instructions": "be brief"}])
def test_sending_only_what_is_new_breaks_no_rule_of_history(keys):
    assert findings(two_rounds(**keys), *HISTORY) == []


def test_what_nobody_stored_is_not_there():
    unknown = two_rounds(previous_response_id="resp_0")
    unsaved = OverResponses()
    unsaved.say([USER], store=False)
    unsaved.reply(calls=[LOOK])
    unsaved.say([RESULT], previous_response_id="reply-1")

    for story in (unknown, unsaved):
        assert roles(view(story.recording()).runs[0].calls[1]) == ["tool"]


@pytest.mark.parametrize("fault", [{"error": {"status": 200}}, {"error_event": {"after_chunks": 1}}, {"refuse": {}}])
def test_a_reply_that_was_not_made_is_nothing_to_go_on_from(fault):
    story = OverResponses()
    story.say([USER])
    story.reply(calls=[LOOK], fault=fault, by="cut")
    story.say([RESULT], previous_response_id="reply-1")

    assert roles(view(story.recording()).runs[0].calls[1]) == ["tool"]


def test_a_reply_that_broke_off_on_its_way_was_made():
    story = OverResponses()
    story.say([USER])
    story.reply(calls=[LOOK], fault={"cut": {"after_chunks": 1}}, by="cut")
    story.say([RESULT], previous_response_id="reply-1")

    assert roles(view(story.recording()).runs[0].calls[1]) == ["user", "assistant", "tool"]


def test_arguments_that_the_provider_kept_are_not_the_agents_to_mend():
    assert findings(two_rounds(raw="{broken"), "HIS-5") == []


def test_arguments_that_the_agent_sent_itself_are():
    story = OverResponses()
    story.say([USER])
    story.reply(calls=[("look", "{broken", "c1")])
    broken = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{broken"}
    story.say([USER, broken, RESULT])
    story.reply(text="42")

    assert len(findings(story, "HIS-5")) == 1


def test_a_refusal_of_the_pairing_is_explained_by_the_whole_conversation():
    story = OverResponses()
    story.say([USER])
    story.reply(calls=[LOOK])
    story.say([{"role": "user", "content": "never mind"}], previous_response_id="reply-1")
    story.refused(rule="missing_output", message="No tool output found for function call c1.")
    (found,) = findings(story, "WIRE-1")

    assert "[user, assistant(c1), user]" in found.message
