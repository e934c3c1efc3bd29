"""
Pydantic AI behind its own AG-UI endpoint: `target:pydantic-ai-agui`.

Each run makes the agent that `forwardedProps` tells of, and hands the request to `AGUIAdapter`, whose events are what is judged.
"""

import os
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import httpx2
from pydantic_ai import Agent, UsageLimits
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from conformance.agent_side import AgentInfo, told
from conformance.targets.pydantic_ai.tools import tool

#: What differs from the recommended answers, each with where Pydantic AI says or does so. Paths are below pydantic_ai/.
DIALECT: Mapping[str, Any] = {
    # usage.py, UsageLimits.check_before_request: UsageLimitExceeded, which ui/_event_stream.py turns into RUN_ERROR.
    "on_limit": "error",
    # usage.py, UsageLimits.request_limit: 50 unless the caller says otherwise.
    "default_max_iters": 50,
    # usage.py, RunUsage.requests: every response of the loop counts, the answer to a retry prompt too; SDK retries do not.
    "retry_budget": "counts",
    # _agent_graph.py, CallToolsNode: a response of thinking only, or of texts without a character; a blank is a text.
    "empty_is": ["no_parts", "null", "thinking"],
    # _agent_graph.py, consume_output_retry: one retry (AgentRetries), counted over the run.
    "recovery_scope": "run",
    # exceptions.py, ModelContextWindowExceededError: raised; compacting is left to the caller.
    "prompt_too_long": "error",
    # messages.py, ModelResponse.finish_reason: a cut text is the output all the same; no event carries the reason.
    "length_stop": "flag",
    # tool_manager.py, ToolManager: ModelRetry and ToolFailed are fed back, any other exception of a tool ends the run.
    "tool_exception": "error",
    # tools.py, Tool.from_schema: "Schema validation of the arguments is skipped".
    "type_check": "tool",
    "extra_args": "pass",
}

# The framework's own switch: its first run prints a banner where it finds a terminal.
os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
_HTTP = httpx2.AsyncClient()


async def _run(request: Request) -> Response:
    given = told.given(await request.json())
    bench = told.bench(given)
    provider = OpenAIProvider(base_url=bench.base_url, api_key=bench.api_key, http_client=_HTTP)
    tools = [tool(bench, **one) for one in given.input["tools"]]
    agent = Agent(OpenAIChatModel(bench.model_name, provider=provider), tools=tools)
    limits = UsageLimits(request_limit=given.limits["max_iters"]) if "max_iters" in given.limits else UsageLimits()
    return await AGUIAdapter.dispatch_request(request, agent=agent, usage_limits=limits, manage_system_prompt="client")


PATH = "/agent"
APP = Starlette(routes=[Route(PATH, _run, methods=["POST"])])
AGENT = AgentInfo(
    name="pydantic-ai-agui",
    version=version("pydantic-ai-slim"),
    channels=("M", "T", "E"),
    dialect=DIALECT,
    # Whatever a run asks for, its events are streamed and its requests too: one cell shows it all.
    capabilities={"wire_streaming": True},
)
