"""
LangGraph behind its AG-UI integration: `target:langgraph-agui`.

Each run makes the graph of `create_agent` that `forwardedProps` tells of, and hands the run to `LangGraphAgent`, whose events are what
is judged.
"""

from collections.abc import AsyncIterator, Mapping
from importlib.metadata import version
from typing import Any

from ag_ui.core import RunAgentInput
from ag_ui.encoder import EventEncoder
from ag_ui_langgraph import LangGraphAgent
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from conformance.agent_side import AgentInfo, told
from conformance.targets.langchain.tools import tool

#: What differs from the recommended answers, each with where LangChain or its integration says or does so. Paths are below site-packages.
DIALECT: Mapping[str, Any] = {
    # langgraph/pregel/main.py, Pregel.astream: GraphRecursionError, which ag_ui_langgraph/agent.py turns into RUN_ERROR.
    "on_limit": "error",
    # langchain_core/runnables/config.py, DEFAULT_RECURSION_LIMIT: 25 supersteps where the integration sets none, 13 of them the model's.
    "default_max_iters": 13,
    "limit_unit": "steps",
    # langchain/agents/factory.py, _make_model_to_tools_edge: a reply without calls is the end, whatever else it holds.
    "empty_response": "finish",
    # langchain_openai/chat_models/base.py, OpenAIContextOverflowError: raised; compacting is left to a middleware.
    "prompt_too_long": "error",
    # langchain_openai/chat_models/base.py: a cut text is the answer all the same; no event carries the reason.
    "length_stop": "flag",
    # langgraph/prebuilt/tool_node.py, _default_handle_tool_errors: all but arguments that fail validation is raised.
    "tool_exception": "error",
    # langchain_core/tools/base.py, BaseTool._parse_input: a schema that is a dict checks nothing.
    "type_check": "tool",
    "extra_args": "pass",
    # langchain_core/messages/tool.py: a call without an id is kept without one, which its tool then refuses.
    "bad_ids": "refuse",
    # langchain_openai/chat_models/base.py: of a reply over Chat Completions content, refusal and calls are read.
    "reasoning_events": "off",
}

PATH = "/agent"
APP = FastAPI()
# A thread's messages are kept from run to run, as far as a run got.
_SAVER = InMemorySaver()


@APP.post(PATH)
async def _run(request: Request) -> StreamingResponse:
    body = await request.json()
    given = told.given(body)
    # Where the model is, with its key, was for this file alone.
    body["forwardedProps"].pop("conformance")
    bench = told.bench(given)
    model = ChatOpenAI(
        model=bench.model_name, base_url=bench.base_url, api_key=SecretStr(bench.api_key), stream_usage=True
    )
    graph = create_agent(model, [tool(bench, **one) for one in given.input["tools"]], checkpointer=_SAVER)
    # N rounds are 2N supersteps, see conformance/targets/langchain.
    limit = {"recursion_limit": 2 * given.limits["max_iters"]} if "max_iters" in given.limits else {}
    agent = LangGraphAgent(name="agent", graph=graph, config=limit)
    encoder = EventEncoder()

    async def stream() -> AsyncIterator[str]:
        async for event in agent.run(RunAgentInput.model_validate(body)):
            yield encoder.encode(event)

    return StreamingResponse(stream(), media_type=encoder.get_content_type())


AGENT = AgentInfo(
    name="langgraph-agui",
    version=version("ag-ui-langgraph"),
    channels=("M", "T", "E"),
    dialect=DIALECT,
    # Whatever a run asks for, its events are streamed and its requests too: one cell shows it all.
    capabilities={"sessions": True, "wire_streaming": True},
)
