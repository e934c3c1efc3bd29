"""Run by test_openai_1x.py in an environment that has openai 1.x and httpx only: asks the model and prints JSON of what came."""

import asyncio
import json
import sys

import httpx
import openai
from reply_endpoint import ReplyEndpoint

from fake_models.chunking import CHARACTER
from fake_models.httpx_transport import transport
from fake_models.messages import Cut, ErrorReply, Reply, Text, ToolCall

QUESTION = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
CALLS = Reply((ToolCall("c1", "f", '{"x":"时"}'), ToolCall("c2", "g", "{bad")), stop="tool_calls")


def client(*replies):
    endpoint = ReplyEndpoint(*replies, chunking=CHARACTER)
    http = httpx.Client(transport=transport(endpoint, httpx))
    return openai.OpenAI(api_key="k", base_url="http://127.0.0.1:9/v1", http_client=http, max_retries=2)


def joined(stream):
    return "".join(chunk.choices[0].delta.content or "" for chunk in stream)


def streamed_calls(stream):
    calls = {}
    for chunk in stream:
        for call in chunk.choices[0].delta.tool_calls or []:
            id_, name, arguments = calls.get(call.index, (call.id, call.function.name, ""))
            calls[call.index] = (id_, name, arguments + call.function.arguments)
    return list(calls.values())


def whole_calls(completion):
    return [(call.id, call.function.name, call.function.arguments) for call in completion.choices[0].message.tool_calls]


async def asked():
    http = httpx.AsyncClient(transport=transport(ReplyEndpoint(Reply((Text("时间"),))), httpx))
    sdk = openai.AsyncOpenAI(api_key="k", base_url="http://127.0.0.1:9/v1", http_client=http)
    stream = await sdk.chat.completions.create(**QUESTION, stream=True)
    return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])


def reset():
    text = ""
    broken = Reply((Text("hello"),), broken=Cut(after_chunks=3, reset=True))
    try:
        for chunk in client(broken).chat.completions.create(**QUESTION, stream=True):
            text += chunk.choices[0].delta.content or ""
    except (httpx.ReadError, openai.APIConnectionError) as error:
        return [text, type(error).__name__]
    return [text, None]


later = Reply(error=ErrorReply(429, "slow down", retry_after_s=0))
cut = Reply((Text("hello"),), broken=Cut(after_chunks=3))
found = {
    "openai": openai.__version__,
    "httpx2": "httpx2" in sys.modules,
    "streaming": joined(client(Reply((Text("时间"),))).chat.completions.create(**QUESTION, stream=True)),
    "async streaming": asyncio.run(asked()),
    "cut": joined(client(cut).chat.completions.create(**QUESTION, stream=True)),
    "reset": reset(),
    "calls": whole_calls(client(CALLS).chat.completions.create(**QUESTION)),
    "streamed calls": streamed_calls(client(CALLS).chat.completions.create(**QUESTION, stream=True)),
    "retried": client(later, Reply((Text("hello"),))).chat.completions.create(**QUESTION).choices[0].message.content,
}
sys.stdout.write(json.dumps(found))
