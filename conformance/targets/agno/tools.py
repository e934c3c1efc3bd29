"""The scenario's tools as Agno's, for every target that drives its agent."""

from typing import Any

from agno.exceptions import RetryAgentRun
from agno.tools.function import Function, FunctionCall

from conformance.agent_side import Bench, ToolFailed


def tool(bench: Bench, name: str, description: str, parameters: dict[str, Any], **_: Any) -> Function:
    """One of them; it is run by the kit, and recorded."""

    async def call(fc: FunctionCall, **arguments: Any) -> Any:
        try:
            return await bench.acall_tool(name, arguments, fc.call_id)
        except ToolFailed as failed:
            # A tool that refuses its arguments says so with RetryAgentRun; what else it raises is an ordinary exception.
            if failed.rejected:
                raise RetryAgentRun(failed.message) from failed
            raise

    return Function(
        name=name, description=description, parameters=parameters, entrypoint=call, skip_entrypoint_processing=True
    )
