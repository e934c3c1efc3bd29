"""Agents that ask one question and differ in when they show the answer. Imported in a process of its own."""

from conformance.agent_side import AgentInfo, InProcessAgent, Outcome


def _event(kind, **fields):
    return {"type": kind, "messageId": "t1", **fields}


def _asks(bench, given):
    messages = [{"role": one["role"], "content": one["content"]} for one in given.input["messages"]]
    return {"model": bench.model_name, "messages": messages}


def _said(bench, given):
    """What the model says, piece by piece."""
    if not given.stream:
        yield bench.model(_asks(bench, given))["choices"][0]["message"]["content"]
        return
    for chunk in bench.stream_model(_asks(bench, given)):
        for choice in chunk["choices"]:
            if choice["delta"].get("content"):
                yield choice["delta"]["content"]


class Shows:
    """`eager`: each piece while it comes. Else all of it once nothing more comes, though the message is begun before."""

    def __init__(self, bench, *, eager):
        self._bench = bench
        self._eager = eager

    def run(self, given):
        yield {"type": "RUN_STARTED", "threadId": given.session, "runId": given.run}
        text = ""
        for piece in _said(self._bench, given):
            if not text:
                yield _event("TEXT_MESSAGE_START", role="assistant")
            text += piece
            if self._eager:
                yield _event("TEXT_MESSAGE_CONTENT", delta=piece)
        if not self._eager:
            yield _event("TEXT_MESSAGE_CONTENT", delta=text)
        yield _event("TEXT_MESSAGE_END")
        yield {"type": "RUN_FINISHED", "threadId": given.session, "runId": given.run}
        yield Outcome("answered", text=text)


class Mute:
    """It shows nothing at all."""

    def __init__(self, bench):
        self._bench = bench

    def run(self, given):
        yield Outcome("answered", text="".join(_said(self._bench, given)))


CAPABILITIES = {"streaming": True, "wire_streaming": True}
STREAMS_ON = InProcessAgent(AgentInfo("eager", capabilities=CAPABILITIES), lambda bench: Shows(bench, eager=True))
WAITS = InProcessAgent(AgentInfo("late", capabilities=CAPABILITIES), lambda bench: Shows(bench, eager=False))
MUTE = InProcessAgent(AgentInfo("mute", channels=("M", "T", "R"), capabilities=CAPABILITIES), Mute)
