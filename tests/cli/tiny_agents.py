"""Agents of a few lines: a right one, and some that each go wrong in one way."""

import os
import threading

from conformance.agent_side import AgentInfo, InProcessAgent, Outcome

INFO = AgentInfo(name="tiny", version="1", dialect={"usage_events": "none", "reasoning_events": "off"})


class Honest:
    def __init__(self, bench):
        self.bench = bench

    def event(self, kind, given, **more):
        return {"type": kind, "threadId": given.session, "runId": given.run, **more}

    def answer(self, given):
        messages = [{"role": m["role"], "content": m["content"]} for m in given.input["messages"]]
        return self.bench.model({"model": self.bench.model_name, "messages": messages})["choices"][0]["message"][
            "content"
        ]

    def run(self, given):
        yield self.event("RUN_STARTED", given)
        text = self.answer(given)
        yield {"type": "TEXT_MESSAGE_START", "messageId": "t", "role": "assistant"}
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": "t", "delta": text}
        yield {"type": "TEXT_MESSAGE_END", "messageId": "t"}
        yield self.event("RUN_FINISHED", given)
        yield Outcome("answered", None, text)


class Printing(Honest):
    def answer(self, given):
        print("printed by the agent")  # noqa: T201 - what agents do
        os.system("echo printed by a child of the agent")
        return super().answer(given)


class Hanging(Honest):
    def answer(self, given):
        threading.Event().wait()


class Unopened(Honest):
    def __init__(self, bench):
        raise RuntimeError("no key is set")


class Hostile(Honest):
    def run(self, given):
        yield self.event("RUN_STARTED", given)
        self.answer(given)
        yield self.event("\x1b[31m[bold]RED[/bold]\x9b2J\ud800\n", given)
        yield self.event("RUN_FINISHED", given)
        yield Outcome("answered", None, "Hello.")


class Interrupting(Honest):
    def answer(self, given):
        if given.stream:
            os.kill(os.getpid(), 2)
            threading.Event().wait()
        return super().answer(given)

    def run(self, given):
        yield from super().run(given)


class Moody(Honest):
    """Wrong in every session but the first, each time in other words, so that it matters which one comes first."""

    sessions = 0

    def __init__(self, bench):
        super().__init__(bench)
        Moody.sessions += 1

    def answer(self, given):
        text = super().answer(given)
        return text if Moody.sessions == 1 else f"{text} {Moody.sessions}"


HONEST = InProcessAgent(INFO, Honest)
PRINTING = InProcessAgent(INFO, Printing)
HANGING = InProcessAgent(INFO, Hanging)
UNOPENED = InProcessAgent(INFO, Unopened)
HOSTILE = InProcessAgent(INFO, Hostile)
INTERRUPTING = InProcessAgent(
    AgentInfo(name="tiny", version="1", dialect=INFO.dialect, capabilities={"streaming": True}), Interrupting
)
MOODY = InProcessAgent(INTERRUPTING.info, Moody)
MISDECLARED = InProcessAgent(AgentInfo(name="tiny", dialect={"on_limit": "never"}), Honest)
SILENT = InProcessAgent(AgentInfo(name="tiny", channels=("M", "R"), dialect=INFO.dialect), Honest)
NOT_AN_AGENT = "HONEST"
