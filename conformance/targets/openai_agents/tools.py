"""
The kit's tools as those of an MCP server, in the process.

It is this way that the Agents SDK takes tools as JSON schemas, reads their arguments and answers their errors itself. The function of a
`FunctionTool` is handed the text of the arguments and has to do both.
"""

from typing import Any

from agents.mcp import MCPServer, MCPToolMetaContext
from mcp.types import CallToolResult, GetPromptResult, ListPromptsResult, TextContent, Tool

from conformance.agent_side import Bench, ToolFailed
from conformance.targets.shown import as_text


class Tools(MCPServer):
    """The tools of one run."""

    name = "tools"

    def __init__(self, bench: Bench, tools: list[dict[str, Any]]) -> None:
        super().__init__(tool_meta_resolver=_call_id)
        self._bench = bench
        self._tools = tools

    async def connect(self) -> None:
        """Nothing to connect to."""

    async def cleanup(self) -> None:
        """Nothing to leave."""

    async def list_tools(self, *_: Any) -> list[Tool]:
        """All of them."""
        return [
            Tool(name=one["name"], description=one["description"], input_schema=one["parameters"])
            for one in self._tools
        ]

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any] | None, meta: dict[str, Any] | None = None
    ) -> CallToolResult:
        """Refused arguments are an error that the model is told, as MCP has it; what else a tool raises is let out."""
        try:
            result = await self._bench.acall_tool(tool_name, arguments or {}, (meta or {})["call"])
        except ToolFailed as failed:
            if not failed.rejected:
                raise
            return CallToolResult(content=[TextContent(text=failed.message)], is_error=True)
        return CallToolResult(content=[TextContent(text=as_text(result))])

    async def list_prompts(self) -> ListPromptsResult:
        """None."""
        return ListPromptsResult(prompts=[])

    async def get_prompt(self, name: str, arguments: dict[str, Any] | None = None) -> GetPromptResult:
        """None."""
        raise KeyError(name, arguments)


def _call_id(context: MCPToolMetaContext) -> dict[str, Any]:
    """The SDK resolves what is sent beside the arguments from the call's context."""
    return {"call": getattr(context.run_context, "tool_call_id", None)}
