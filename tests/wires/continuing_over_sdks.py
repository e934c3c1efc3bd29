"""The reference over Responses, sending only what is new behind the id of the reply before; served as a `command:` agent."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from over_sdks import Heard, Way, responses, streamed, whole

from conformance.agent_side import Bench, InProcessAgent, RunInput
from conformance.reference import reference

HONEST = reference()


class Continuing:
    """Asks over one session. What does not begin with all that it said and heard so far, it says whole."""

    def __init__(self) -> None:
        self._said: list[dict[str, Any]] = []
        self._calls: list[str | None] = []
        self._reply: str | None = None

    def __call__(self, way: Way, body: dict[str, Any], headers: Mapping[str, str], *, stream: bool) -> Iterator[Heard]:
        """Ask, and remember what was said and heard if it went well."""
        asked = body["messages"]
        known = len(self._said) + 1
        goes_on = (
            self._reply is not None and asked[: known - 1] == self._said and self._answers(asked[known - 1 : known])
        )
        sent = {**body, "messages": asked[known:]} if goes_on else body
        calls: list[str | None] = []
        for heard in responses(
            way, sent, headers, stream=stream, previous=self._reply if goes_on else None, store=True
        ):
            calls += [id_ for _, id_, _, _ in heard.calls if heard.calls and id_]
            if heard.finish and heard.reply:
                self._said, self._calls, self._reply = asked, calls, heard.reply
            yield heard

    def _answers(self, reply: list[dict[str, Any]]) -> bool:
        """Whether a message is the reply as it was heard: its calls may have new ids here that the provider does not know."""
        return (
            bool(reply)
            and reply[0]["role"] == "assistant"
            and [call["id"] for call in reply[0].get("tool_calls", ())] == self._calls
        )


class Session:
    """The way to the model is told with the first run, so the loop is opened then."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._loop: Any = None

    def run(self, given: RunInput) -> Iterator[Any]:
        """One run of the reference."""
        if self._loop is None:
            ask, way = Continuing(), Way(given.model["base_url"], given.model["api_key"])
            model = {"model": partial(whole, ask, way), "stream_model": partial(streamed, ask, way)}
            self._loop = HONEST.open(replace(self._bench, **model))
        return self._loop.run(given)


AGENT = InProcessAgent(
    replace(HONEST.info, name="reference that continues", profile=None, wires=("openai_responses",)), Session
)
