"""A server that stands for a test, and an honest agent that asks it over sockets."""

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from conformance.dialect import dialect
from conformance.loading.loader import load_text
from conformance.rules import BY_ID
from conformance.serving.plans import persona_plan
from conformance.serving.sessions import Manner
from conformance.serving.stand import stand
from fake_models.personas import Persona

TIDE = """
id: tide
title: A tide is looked up and told
why: So that there is something to play.
limits: {max_iters: 10}
system: You know the sea.
tools:
  tide:
    description: The tide at a place.
    parameters: {type: object, properties: {place: {type: string}}, required: [place]}
    returns: {metres: 3.2}
runs:
  - user: How high is the tide?
    model:
      - call: {name: tide, args: {place: Hoek}}
      - answer: "{{ result.tide.metres }} metres."
"""
TWO = """
id: two
title: One asks and asks on
why: So that there are two runs.
runs:
  - user: What is the first?
    model: [{say: One.}]
  - user: What is the second?
    model: [{say: Two.}]
"""
PLANS = {name: load_text(text, f"{name}.yaml", rule_ids=BY_ID) for name, text in (("tide", TIDE), ("two", TWO))}


@dataclass
class Standing:
    """What the readiness line says, and a client."""

    line: dict[str, Any]
    http: httpx2.AsyncClient

    @property
    def sessions_url(self):
        return f"{self.line['control']}/sessions"

    def chat(self, token):
        return f"{self.line['sessions'][token]['openai_chat']}/chat/completions"

    async def control(self, method, path="", body=None):
        return await self.http.request(method, f"{self.sessions_url}{path}", json=body)

    async def ask(self, url, *messages, tools=None, stream=False):
        body = {"model": "m", "messages": list(messages), "stream": stream} | (
            {} if tools is None else {"tools": tools}
        )
        return await self.http.post(url, json=body)

    async def said(self, url, text):
        answer = await self.ask(url, {"role": "user", "content": text})
        return answer.json()["choices"][0]["message"]["content"]


@asynccontextmanager
async def standing(*names, **manner):
    """Scenarios of PLANS and personas by name."""
    plays = {name: PLANS[name] if name in PLANS else persona_plan(Persona(name)) for name in names}
    line = asyncio.get_running_loop().create_future()
    manner = Manner(dialect({}), **manner)
    server = asyncio.create_task(stand(plays, manner, host="127.0.0.1", port=0, ready=line.set_result))
    await asyncio.wait([server, line], return_when=asyncio.FIRST_COMPLETED)
    try:
        async with httpx2.AsyncClient(timeout=20, limits=httpx2.Limits(max_connections=100)) as http:
            yield Standing(json.loads(await line), http)
    finally:
        server.cancel()
        await asyncio.gather(server, return_exceptions=True)


def tools_of(plan):
    return [
        {
            "type": "function",
            "function": {"name": one.name, "description": one.description, "parameters": one.parameters},
        }
        for one in plan.tools.values()
    ]


async def play(there, session, plan, number=0, history=()):
    """An honest agent: one run of the scenario, with the tools of the session; gives the messages."""
    url = f"{session['base_urls']['openai_chat']}/chat/completions"
    system = [] if plan.system is None or history else [{"role": "system", "content": plan.system}]
    messages = [*history, *system, {"role": "user", "content": plan.runs[number].user}]
    tools = tools_of(plan) or None
    while True:
        answer = await there.ask(url, *messages, tools=tools)
        message = answer.raise_for_status().json()["choices"][0]["message"]
        messages.append({key: value for key, value in message.items() if key in ("role", "content", "tool_calls")})
        for call in message.get("tool_calls") or ():
            result = await there.http.post(
                f"{session['tools_url']}/{call['function']['name']}",
                content=call["function"]["arguments"],
                headers={"X-Tool-Call-Id": call["id"]},
            )
            messages.append(
                {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result.json()["result"])}
            )
        if not message.get("tool_calls"):
            return messages
