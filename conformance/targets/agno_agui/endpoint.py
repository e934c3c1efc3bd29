"""
Agno behind its AG-UI interface: `target:agno-agui`.

Each run makes the agent that `forwardedProps` tells of, and hands the run to the handler of Agno's own route, whose events are what is
judged.
"""

from collections.abc import AsyncIterator, Mapping
from importlib.metadata import version
from typing import Any

from ag_ui.core import RunAgentInput
from ag_ui.encoder import EventEncoder
from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.openai.like import OpenAILike
from agno.os.interfaces.agui.router import run_entity
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

from conformance.agent_side import AgentInfo, told
from conformance.targets.agno.tools import tool

#: What differs from the recommended answers, each with where Agno says or does so. Paths are below agno/.
DIALECT: Mapping[str, Any] = {
    # models/base.py, Model.aresponse: `while True`. There is no limit of rounds; tool_call_limit counts calls, and ends no run.
    "default_max_iters": "unlimited",
    # models/base.py, Model.aresponse: a reply without calls is the end, whatever else it holds.
    "empty_response": "finish",
    # models/base.py, Model._is_retryable_error: not asked again; compaction is the caller's to switch on.
    "prompt_too_long": "error",
    # models/base.py, Function.skip_entrypoint_processing: the function gets what the model said, unchecked.
    "type_check": "tool",
    "extra_args": "pass",
    # os/interfaces/agui/stream.py: what the model thought over Chat Completions is not shown.
    "reasoning_events": "off",
    # models/base.py, Model.create_tool_call_limit_error_result: calls beyond tool_call_limit are answered, and the loop goes on.
    "on_guard": "refuse",
}

PATH = "/agui"
APP = FastAPI()
# A thread's runs are kept from run to run.
_DB = InMemoryDb()


@APP.post(PATH)
async def _run(request: Request) -> StreamingResponse:
    body = await request.json()
    given = told.given(body)
    # Where the model is, with its key, was for this file alone.
    body["forwardedProps"].pop("conformance")
    bench = told.bench(given)
    agent = Agent(
        model=OpenAILike(id=bench.model_name, base_url=bench.base_url, api_key=bench.api_key),
        tools=[tool(bench, **one) for one in given.input["tools"]],
        db=_DB,
        add_history_to_context=True,
        tool_call_limit=given.limits.get("max_tool_calls"),
        telemetry=False,
    )
    encoder = EventEncoder()

    async def stream() -> AsyncIterator[str]:
        async for event in run_entity(agent, RunAgentInput.model_validate(body)):
            yield encoder.encode(event)

    return StreamingResponse(stream(), media_type=encoder.get_content_type())


AGENT = AgentInfo(
    name="agno-agui",
    version=version("agno"),
    channels=("M", "T", "E"),
    dialect=DIALECT,
    # Whatever a run asks for, its events are streamed and its requests too: one cell shows it all.
    capabilities={"guards": {"max_tool_calls": "caller"}, "sessions": True, "wire_streaming": True},
)
