"""
Microsoft Agent Framework as an agent under test: `target:agent-framework`.

Drives `Agent.run`, blocking or streaming, and translates what it shows. It repairs nothing: an exception of the framework is the
end of the run.
"""

from collections.abc import AsyncIterator, Mapping
from importlib.metadata import version
from typing import Any

from agent_framework import Agent, AgentSession, Content, FunctionTool, Message
from agent_framework.openai import OpenAIChatCompletionClient
from openai import AsyncOpenAI

from conformance.agent_side import AgentInfo, Bench, InProcessAgent, Outcome, RunInput
from conformance.targets.agent_framework.events import Event, streamed, whole
from conformance.targets.shown import finished, started

#: What differs from the recommended answers, each with where Agent Framework says or does so. Paths are below site-packages.
DIALECT: Mapping[str, Any] = {
    # agent_framework/_tools.py, _get_response_with_function_invocation: the last request has the tools and the choice none.
    "summary_tools": "choice_none",
    # agent_framework/_tools.py, DEFAULT_MAX_ITERATIONS.
    "default_max_iters": 40,
    # agent_framework/_tools.py, _get_response_with_function_invocation: a reply without calls is the end, whatever else it holds.
    "empty_response": "finish",
    # agent_framework_openai/_chat_completion_client.py: ChatClientException is raised; compaction is the caller's to switch on.
    "prompt_too_long": "error",
    # agent_framework_openai/_chat_completion_client.py, _inner_get_response: ChatClientException is raised.
    "model_error": "raise",
    # agent_framework/_types.py, AgentResponse.finish_reason: a cut text is the answer all the same; the reason stands beside it.
    "length_stop": "flag",
    # agent_framework/_tools.py, _validate_arguments_against_schema: refused only where additionalProperties is false.
    "extra_args": "pass",
    # agent_framework/_types.py, AgentResponse.text: the texts of all messages of the run.
    "final_text": "all_text",
    # events.py of this adapter.
    "events": "translated",
    # agent_framework_openai/_chat_completion_client.py: of thinking only what is protected is read, and that has no text.
    "reasoning_events": "off",
    # agent_framework/_types.py, AgentResponse.usage_details: a sum over the run.
    "usage_events": "per_run",
    # ChatClientException stays out: whatever fails in a request is raised as it, an overflow among others.
    "exceptions": {"OpenAIContentFilterException": "filtered"},
}
#: What a finish reason beside an output says of it.
KINDS: Mapping[str | None, str] = {"length": "truncated", "content_filter": "filtered"}


class _Session:
    """One conversation: its messages are kept by the framework's own session, of runs that came to their end."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._openai = AsyncOpenAI(base_url=bench.base_url, api_key=bench.api_key)
        self._session = AgentSession()
        self._system: str | None = None

    async def run(self, given: RunInput) -> AsyncIterator[Event | Outcome]:
        """One run of an agent with the run's tools. Exceptions of the framework are let out."""
        messages = given.input["messages"]
        system = [message["content"] for message in messages if message["role"] == "system"]
        self._system = "\n\n".join(system) or self._system
        # Counts the model's replies to whose calls the loop goes on; it is set where a client is made, which refuses 0.
        limits = {"max_iterations": given.limits["max_iters"]} if "max_iters" in given.limits else None
        client = OpenAIChatCompletionClient(
            self._bench.model_name, async_client=self._openai, function_invocation_configuration=limits
        )
        agent = Agent(client, self._system, tools=[self._tool(**tool) for tool in given.input["tools"]])
        asked = [_message(**message) for message in messages if message["role"] != "system"]
        yield started(given)
        if given.stream:
            stream = agent.run(asked, stream=True, session=self._session)
            async for event in streamed(stream, given.run):
                yield event
            response = await stream.get_final_response()
        else:
            response = await agent.run(asked, session=self._session)
            for event in whole(response, given.run):
                yield event
        spent = response.usage_details or {}
        tokens = (spent.get("input_token_count") or 0, spent.get("output_token_count") or 0)
        yield finished(given, tokens if any(tokens) else None)
        reason = response.finish_reason
        yield Outcome(KINDS.get(reason, "answered"), reason, response.text)

    async def close(self) -> None:
        """Close the SDK's client."""
        await self._openai.close()

    def _tool(self, name: str, description: str, parameters: dict[str, Any], **_: Any) -> FunctionTool:
        # Without a middleware the framework tells a tool nothing of its call, so the call's id is not known here.
        async def call(**arguments: Any) -> Any:
            return await self._bench.acall_tool(name, arguments)

        return FunctionTool(name=name, description=description, func=call, input_model=parameters)


def _message(role: str, content: str | None = None, **rest: Any) -> Message:
    """An AG-UI message as Agent Framework keeps one."""
    if role == "tool":
        return Message("tool", [Content.from_function_result(rest["toolCallId"], result=content)])
    calls = [
        Content.from_function_call(call["id"], call["function"]["name"], arguments=call["function"]["arguments"])
        for call in rest.get("toolCalls") or ()
    ]
    return Message(role, [*([content] if content else []), *calls])


AGENT = InProcessAgent(
    AgentInfo(
        name="agent-framework",
        version=version("agent-framework-core"),
        channels=("M", "T", "E", "R", "U"),
        dialect=DIALECT,
        capabilities={"sessions": True, "streaming": True, "wire_streaming": True},
    ),
    open=_Session,
)
