"""Agents in this process that would end it, each where its name says. None of them shows events."""

import contextlib
import os
import threading

from conformance.agent_side import AgentInfo, InProcessAgent, Outcome

INFO = AgentInfo("exits", channels=("M", "R"))


class Answering:
    def __init__(self, bench):
        self.bench = bench

    def run(self, given):
        messages = [{"role": m["role"], "content": m["content"]} for m in given.input["messages"]]
        reply = self.bench.model({"model": self.bench.model_name, "messages": messages})
        yield Outcome("answered", text=reply["choices"][0]["message"]["content"])


class InItsRun(Answering):
    def run(self, given):
        yield from super().run(given)
        os._exit(0)


class AsAnotherProgram(Answering):
    def run(self, given):
        yield from super().run(given)
        os.execlp("true", "true")


class OnAThread(Answering):
    def run(self, given):
        watchdog = threading.Thread(target=self.end)
        watchdog.start()
        watchdog.join()
        yield from super().run(given)

    def end(self):
        with contextlib.suppress(SystemExit):
            os._exit(0)


class WhenItIsOpened(Answering):
    def __init__(self, bench):
        os._exit(0)


class WhenItIsClosed(Answering):
    def close(self):
        os._exit(0)


class InAChild(Answering):
    def run(self, given):
        yield from super().run(given)
        child = os.fork()
        if child == 0:
            os._exit(7)
        self.code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert self.code == 7


IN_ITS_RUN, AS_ANOTHER_PROGRAM, ON_A_THREAD, WHEN_IT_IS_OPENED, WHEN_IT_IS_CLOSED, IN_A_CHILD = (
    InProcessAgent(INFO, each)
    for each in (InItsRun, AsAnotherProgram, OnAThread, WhenItIsOpened, WhenItIsClosed, InAChild)
)
