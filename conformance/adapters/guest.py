"""A session as the loopback server's guest: what comes by HTTP goes to its model and its tools."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.agent_side import ToolFailed
from conformance.session import Session
from fake_models.asgi import App
from fake_models.scripted_model import ScriptedModel

#: Path below a session's where its tools are an MCP server.
MCP = "/mcp"


@dataclass(frozen=True, slots=True)
class Guest:
    """`catch_up` reads what the agent said before it asked, which comes first in the recording; None: it says nothing but by asking."""

    session: Session
    catch_up: Callable[[], Awaitable[None]] | None = None

    @property
    def endpoint(self) -> ScriptedModel:
        """The session's model."""
        return self.session.model

    def app(self, below: str) -> App | None:
        """The tools as an MCP server; the server of model and tools answers the rest."""
        if below.rstrip("/") != MCP:
            return None
        # The protocol's library takes longer to import than most runs, and few agents ask for it.
        from conformance.mcp_tools import tool_app  # noqa: PLC0415

        return tool_app(self._listed, self._called)

    def settle(self) -> Awaitable[None] | None:
        """Read the agent's own channel first."""
        return None if self.catch_up is None else self.catch_up()

    def tools(self) -> list[Mapping[str, Any]]:
        """The scenario's tools."""
        return [
            {"name": one.name, "description": one.description, "parameters": one.parameters}
            for one in self.session.tools
        ]

    async def tool(self, name: str, arguments: Any, call_id: str | None) -> tuple[int, Any]:
        """Run a tool: the status and the body that tell what became of it."""
        try:
            return 200, {"result": await self.session.acall_tool(name, arguments, call_id)}
        except ToolFailed as failed:
            error = {"type": failed.type, "message": failed.message, "rejected": failed.rejected}
            return 422 if name in self.session.tool_names else 404, {"error": error}

    async def _listed(self) -> list[Mapping[str, Any]]:
        return self.tools()

    async def _called(self, name: str, arguments: Any, call_id: str | None) -> tuple[int, Any]:
        if (settling := self.settle()) is not None:
            await settling
        return await self.tool(name, arguments, call_id)
