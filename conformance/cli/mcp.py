"""`conformance mcp`: a session's tools for an agent that starts its MCP servers itself."""

import click


@click.command("mcp")
@click.argument("tools_url")
def command(tools_url: str) -> None:
    """
    Offer the tools at TOOLS_URL as an MCP server on stdin and stdout.

    For the agent to start, not for you: TOOLS_URL is the `tools_url` that a run brings.
    """
    from conformance.mcp_stdio import serve  # noqa: PLC0415 - start-up time

    serve(tools_url)
