"""A session as the loopback server's guest: what comes by HTTP goes to its model and its tools."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from conformance.agent_side import ToolFailed
from conformance.session import Session
from fake_models.asgi import App
from fake_models.scripted_model import ScriptedModel


@dataclass(frozen=True, slots=True)
class Guest:
    """`catch_up` reads what the agent said before it asked, which comes first in the recording."""

    session: Session
    catch_up: Callable[[], Awaitable[None]]

    @property
    def endpoint(self) -> ScriptedModel:
        """The session's model."""
        return self.session.model

    def app(self, below: str) -> App | None:  # noqa: ARG002 - the server's protocol
        """Model and tools answer all."""
        return None

    async def settle(self) -> None:
        """Read the agent's own channel first."""
        await self.catch_up()

    async def tool(self, name: str, arguments: Any, call_id: str | None) -> tuple[int, Any]:
        """Run a tool: the status and the body that tell what became of it."""
        try:
            return 200, {"result": await self.session.acall_tool(name, arguments, call_id)}
        except ToolFailed as failed:
            error = {"type": failed.type, "message": failed.message, "rejected": failed.rejected}
            return 422 if name in self.session.tool_names else 404, {"error": error}
