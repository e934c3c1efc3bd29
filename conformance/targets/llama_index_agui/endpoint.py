"""
LlamaIndex behind its AG-UI router: `target:llama-index-agui`.

Each run makes the workflow that `forwardedProps` tells of, and hands the run to the router's own handler, whose events are what is
judged. The workflow gives its history with each run, so that a client can send it back.
"""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from ag_ui.core import RunAgentInput
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse
from llama_index.llms.openai_like import OpenAILike
from llama_index.protocols.ag_ui.agent import AGUIChatWorkflow
from llama_index.protocols.ag_ui.router import AGUIWorkflowRouter

from conformance.agent_side import AgentInfo, told
from conformance.targets.llama_index.tools import tool

#: What differs from the recommended answers, each with where LlamaIndex says or does so. Paths are below llama_index/.
DIALECT: Mapping[str, Any] = {
    # protocols/ag_ui/agent.py, AGUIChatWorkflow: chat and tools follow each other without a limit.
    "default_max_iters": "unlimited",
    # protocols/ag_ui/agent.py, AGUIChatWorkflow.chat: a reply without calls is the end, whatever else it holds.
    "empty_response": "finish",
    # llms/openai/base.py: what the SDK raises leaves the run, also of an overflow.
    "prompt_too_long": "error",
    # core/tools/function_tool.py, FunctionTool.acall: the function gets what the model said, unchecked.
    "type_check": "tool",
    "extra_args": "pass",
    # protocols/ag_ui/agent.py, AGUIChatWorkflow.chat: of a reply its text and its calls are shown.
    "reasoning_events": "off",
}

PATH = "/run"
APP = FastAPI()


@APP.post(PATH)
async def _run(request: Request) -> StreamingResponse:
    body = await request.json()
    given = told.given(body)
    # Where the model is, with its key, was for this file alone.
    body["forwardedProps"].pop("conformance")
    bench = told.bench(given)
    llm = OpenAILike(
        model=bench.model_name,
        api_base=bench.base_url,
        api_key=bench.api_key,
        is_chat_model=True,
        is_function_calling_model=True,
    )

    async def workflow() -> AGUIChatWorkflow:
        tools = [tool(bench, **one) for one in given.input["tools"]]
        return AGUIChatWorkflow(llm=llm, backend_tools=tools, timeout=120)

    response: StreamingResponse = await AGUIWorkflowRouter(workflow).run(RunAgentInput.model_validate(body))
    return response


AGENT = AgentInfo(
    name="llama-index-agui",
    version=version("llama-index-protocols-ag-ui"),
    channels=("M", "T", "E"),
    dialect=DIALECT,
    # Whatever a run asks for, its events are streamed and its requests too: one cell shows it all.
    capabilities={"wire_streaming": True},
)
