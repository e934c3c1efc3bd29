"""An agent in this process that leaves for another folder in its run."""

import os
import tempfile

import tiny_agents

from conformance.agent_side import InProcessAgent


class Leaving(tiny_agents.Honest):
    def run(self, given):
        os.chdir(tempfile.gettempdir())
        yield from super().run(given)


LEAVING = InProcessAgent(tiny_agents.INFO, Leaving)
