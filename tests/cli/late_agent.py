"""An agent in this process that fails, and ends the process when the kit is done with it."""

import atexit
import os

import tiny_agents

from conformance.agent_side import InProcessAgent

atexit.register(lambda: os._exit(0))

LATE = InProcessAgent(tiny_agents.INFO, tiny_agents.Hostile)
