"""Agents of the plugin's tests, as the text of a module: one loop that keeps its results, and ways to break it."""

LOOP = """
import json

from conformance.agent_side import AgentInfo, InProcessAgent, Outcome, ToolFailed


class Session:
    def __init__(self, bench):
        self.bench, self.messages = bench, []

    def run(self, given):
        self.messages += [{"role": m["role"], "content": m["content"]} for m in given.input["messages"]]
        tools = [{"type": "function", "function": tool} for tool in given.input["tools"]]
        for _ in range(given.limits.get("max_iters", 10)):
            body = {"model": "m", "messages": self.messages} | ({"tools": tools} if tools else {})
            message = self.bench.model(body)["choices"][0]["message"]
            self.messages.append(message)
            if not message.get("tool_calls"):
                yield Outcome("answered", text=message["content"])
                return
            for call in message["tool_calls"]:
                try:
                    arguments = json.loads(call["function"]["arguments"])
                    result = self.bench.call_tool(call["function"]["name"], arguments, call["id"])
                except ToolFailed as failed:
                    result = str(failed)
                KEEP
        yield Outcome("limit", reason="max_iters")


INFO = AgentInfo("loop", channels=("M", "T", "R"), dialect={"on_limit": "stop"}, capabilities={"sessions": True})
AGENT = InProcessAgent(INFO, Session)
"""

KEEPS = 'self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)})'
#: Every loop of the tests, by the name of its module.
AGENTS = {
    "keeps": LOOP.replace("KEEP", KEEPS),
    "loses": LOOP.replace("KEEP", f'if call["id"] == message["tool_calls"][0]["id"]: {KEEPS}'),
    "mute": LOOP.replace("KEEP", KEEPS)
    .replace('("M", "T", "R")', '("M",)')
    .replace("        self.messages +=", "        return iter(())\n        self.messages +="),
    "closed": LOOP.replace("KEEP", KEEPS).replace("bench, []", 'bench, {}["no key"]'),
    "hangs": LOOP.replace("KEEP", KEEPS).replace(
        "        self.messages +=",
        "        import threading\n        threading.Event().wait()\n        self.messages +=",
    ),
}

#: A scenario of one's own: what the two tools bring has to come back.
TWO_CALLS = """
id: two-calls
title: Both results reach the model
why: A result that is lost is a wrong answer.
exercises: [ACT-1, HIS-1]
deadline_s: 0.2
tools:
  tide: {description: The tide., parameters: {type: object}, returns: low}
  wind: {description: The wind., parameters: {type: object}, returns: strong}
runs:
  - user: Can we sail?
    model:
      - call: [tide, wind]
      - answer: No.
"""
