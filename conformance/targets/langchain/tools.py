"""The scenario's tools as LangChain's, for every target whose graph runs them."""

from typing import Any

from langchain_core.tools import StructuredTool, ToolException
from langgraph.prebuilt import ToolRuntime

from conformance.agent_side import Bench, ToolFailed


def tool(bench: Bench, name: str, description: str, parameters: dict[str, Any], **_: Any) -> StructuredTool:
    """One of them; it is run by the kit, and recorded."""

    async def call(runtime: ToolRuntime, **arguments: Any) -> Any:
        try:
            return await bench.acall_tool(name, arguments, runtime.tool_call_id)
        except ToolFailed as failed:
            # A tool that refuses its arguments says so with ToolException; what else it raises is an ordinary exception.
            if failed.rejected:
                raise ToolException(failed.message) from failed
            raise

    return StructuredTool(
        name=name, description=description, args_schema=parameters, coroutine=call, handle_tool_error=True
    )
