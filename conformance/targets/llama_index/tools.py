"""The scenario's tools as LlamaIndex's, for every target that drives one of its agents."""

from typing import Any

from llama_index.core.tools import FunctionTool
from pydantic import ConfigDict, create_model

from conformance.agent_side import Bench


def tool(bench: Bench, name: str, description: str, parameters: dict[str, Any], **_: Any) -> FunctionTool:
    """One of them; it is run by the kit, and recorded."""

    # The framework tells a tool nothing of its call, so the call's id is not known here.
    async def call(**arguments: Any) -> Any:
        return await bench.acall_tool(name, arguments)

    # A tool's schema is a model's; this one's is the given schema, and checks nothing.
    schema = create_model(name, __config__=ConfigDict(json_schema_extra=parameters))
    return FunctionTool.from_defaults(async_fn=call, name=name, description=description, fn_schema=schema)
