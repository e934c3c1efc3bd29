"""The scenario's tools as Pydantic AI's, for every target that drives its agent."""

from typing import Any

from pydantic_ai import ModelRetry
from pydantic_ai.tools import RunContext, Tool

from conformance.agent_side import Bench, ToolFailed


def tool(bench: Bench, name: str, description: str, parameters: dict[str, Any], **_: Any) -> Tool[None]:
    """One of them; it is run by the kit, and recorded."""

    async def call(context: RunContext[None], /, **arguments: Any) -> Any:
        try:
            return await bench.acall_tool(name, arguments, context.tool_call_id)
        except ToolFailed as failed:
            # A tool that refuses its arguments says so with ModelRetry; what else it raises is an ordinary exception.
            if failed.rejected:
                raise ModelRetry(failed.message) from failed
            raise

    return Tool.from_schema(call, name, description, parameters, takes_ctx=True)
