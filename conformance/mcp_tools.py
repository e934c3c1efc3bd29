"""
A session's tools as a server of the Model Context Protocol. Runs no tool: it translates what a list and a call bring.

Both ways that agents take are here, one HTTP request at a time or one client on a pair of streams, and all versions of
the protocol that its official library speaks. Importing that takes longer than most runs, so whoever may never need it
imports this module late.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import mcp_types as mcp
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from starlette.responses import Response

from conformance import __version__
from fake_models.asgi import App
from fake_models.http_requests import MAX_BODY_BYTES

#: Key of a call's `_meta` by which a client may say which of the model's calls it is.
CALL_ID = "conformance/toolCallId"

#: Gives the tools: `name`, `description`, `parameters`.
Listed = Callable[[], Awaitable[Sequence[Mapping[str, Any]]]]
#: Runs a tool by name, arguments and call id: status and body, as the HTTP route answers.
Called = Callable[[str, Mapping[str, Any], str | None], Awaitable[tuple[int, Any]]]


def tool_server(listed: Listed, called: Called) -> Server[Any]:
    """A server that offers what `listed` gives and hands each call to `called`, several at once where a client asks so."""

    async def on_list(_context: Any, _params: Any) -> mcp.ListToolsResult:
        return mcp.ListToolsResult(tools=[_shown(_sendable(one)) for one in await listed()])

    async def on_call(context: Any, params: mcp.CallToolRequestParams) -> mcp.CallToolResult:
        call_id = (context.meta or {}).get(CALL_ID)
        told = call_id if isinstance(call_id, str) else None
        status, body = await called(params.name, params.arguments or {}, told)
        return _result(status, _sendable(body))

    return Server("conformance", version=__version__, on_list_tools=on_list, on_call_tool=on_call)


def tool_app(listed: Listed, called: Called) -> App:
    """
    The same by streamable HTTP.

    Each request stands alone and is answered whole: the server has nothing to say unasked. So nothing of it outlives a request,
    and a client that leaves, or a session that ends, cancels the tool it waits for.
    """
    server = tool_server(listed, called)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] != "POST":
            refused = Response(status_code=HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": "POST"})
            await refused(scope, receive, send)
            return
        # The library's manager is made for one life, which here is a request's.
        manager = StreamableHTTPSessionManager(
            server, stateless=True, json_response=True, max_request_body_size=MAX_BODY_BYTES
        )
        async with manager.run():
            await manager.handle_request(scope, receive, send)

    return app


def _shown(tool: Mapping[str, Any]) -> mcp.Tool:
    # Clients insist on a type, which a JSON Schema of arguments may leave out.
    schema = {"type": "object", **tool["parameters"]}
    return mcp.Tool(name=tool["name"], description=tool["description"], input_schema=schema)


def _result(status: int, body: Any) -> mcp.CallToolResult:
    if status == HTTPStatus.OK:
        value = body["result"]
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        # The protocol's structured content is an object; any other value is text alone.
        return _said(text, structured_content=value if isinstance(value, dict) else None)
    error = body["error"]
    if status == HTTPStatus.NOT_FOUND:
        raise MCPError(mcp.INVALID_PARAMS, error["message"])
    return _said(f"{error['type']}: {error['message']}", is_error=True)


def _sendable(value: Any) -> Any:
    """The value as UTF-8 can hold it: half a surrogate pair, on which the library would end, becomes a question mark."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def _said(text: str, **more: Any) -> mcp.CallToolResult:
    return mcp.CallToolResult(content=[mcp.TextContent(type="text", text=text)], **more)
