"""Haystack as an agent under test: the agent component of haystack-ai over its chat generator for OpenAI."""

import os

# The framework's own switch, which is read when it is imported.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
