"""The official client of the Model Context Protocol lists and calls a scenario's tools, and every call is recorded."""

import asyncio
import json

import httpx2
import mcp
import mcp_types
import pytest
from mcp_clients import by_http, by_stdio, serving, tool

from conformance.mcp_tools import CALL_ID

TYPED = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
TOOLS = {
    "look": tool(description="Looks.", parameters=TYPED, returns="clear 🙂\u2028"),
    "weigh": tool(parameters={}, returns={"kg": 0.5, "Ort": "Malmö"}),
    "list": tool(returns=["a", {"b": None}]),
    "nothing": tool(returns=None),
    "truth": tool(returns=True),
    "fail": tool(raises={"type": "KeyError", "message": "no such word: 词"}),
    "large": tool(large={"bytes": 1_000_000}),
    "hang": tool(hangs=True),
    "one-2_THREE": tool(returns="named"),
    "half": tool(description="\ud800", returns={"a": ["\ud800", "\\ud800"]}),
}

#: What is called with what, and what comes back: whether it is an error, the text, the structured value.
CALLS = [
    ("look", {"x": 1}, False, "clear 🙂\u2028", None),
    ("weigh", {"whatever": "ü"}, False, '{"kg": 0.5, "Ort": "Malmö"}', {"kg": 0.5, "Ort": "Malmö"}),
    ("list", {}, False, '["a", {"b": null}]', None),
    ("nothing", {}, False, "null", None),
    ("truth", None, False, "true", None),
    ("large", {}, False, "x" * 1_000_000, None),
    ("one-2_THREE", {}, False, "named", None),
    # Half a surrogate pair, which UTF-8 cannot hold.
    ("half", {}, False, '{"a": ["?", "\\\\ud800"]}', {"a": ["?", "\\ud800"]}),
    ("fail", {}, True, "KeyError: no such word: 词", None),
    ("look", {"x": "one"}, True, "ArgumentError: tool 'look': argument 'x': 'one' is not of type 'integer'", None),
    ("look", {}, True, "ArgumentError: tool 'look': arguments: 'x' is a required property", None),
]


#: A process takes a second to start; both eras of it are one test's, since what it hears is the library's to read.
WAYS = [(by_http, "handshake"), (by_http, "without handshake"), (by_stdio, "handshake")]


@pytest.fixture(params=WAYS, ids=lambda way: f"{way[0].__name__} {way[1]}")
def connect(request):
    way, era = request.param
    return lambda served, **options: way(served.url, era, **options)


@pytest.mark.parametrize("connect", [*WAYS, (by_stdio, "without handshake")], indirect=True)
def test_the_tools_are_those_of_the_scenario(connect):
    async def run():
        async with serving(TOOLS) as served, connect(served) as client:
            return (await client.list_tools()).tools, served.told

    tools, told = asyncio.run(run())
    assert [one.name for one in tools] == list(TOOLS)
    assert (tools[0].description, tools[0].input_schema) == ("Looks.", TYPED)
    # The protocol wants a type, which this scenario leaves out.
    assert tools[1].input_schema == {"type": "object"}
    assert told == []


def test_what_a_tool_does_comes_back_and_is_recorded(connect):
    async def run():
        async with serving(TOOLS) as served, connect(served) as client:
            answers = [await client.call_tool(name, arguments) for name, arguments, *_ in CALLS]
            return answers, served

    answers, served = asyncio.run(run())
    assert [(one.is_error, one.content[0].text, one.structured_content) for one in answers] == [
        tuple(expected) for _, _, *expected in CALLS
    ]
    assert [(one["tool"], one["arguments"], one["call_id"]) for one in served.of("tool/start")] == [
        (name, arguments or {}, None) for name, arguments, *_ in CALLS
    ]
    assert served.told == 8 * ["start", "result"] + 3 * ["start", "error"]
    assert [one["error"]["rejected"] for one in served.of("tool/error")] == [False, True, True]
    # Before each of them, what the agent said on its own channel was read.
    assert len(served.settled) == len(CALLS)


def test_a_tool_that_there_is_not_is_an_error_of_the_protocol_and_recorded(connect):
    async def run():
        async with serving(TOOLS) as served, connect(served) as client:
            with pytest.raises(mcp.MCPError) as raised:
                await client.call_tool("loook", {"x": 1})
            return raised.value, served.of("tool/error")

    error, recorded = asyncio.run(run())
    assert (error.code, error.message) == (mcp_types.INVALID_PARAMS, "there is no tool 'loook'")
    assert recorded[0]["error"] == {"type": "UnknownTool", "message": "there is no tool 'loook'", "rejected": True}


def test_a_client_may_say_which_of_the_models_calls_it_is(connect):
    async def run():
        async with serving(TOOLS) as served, connect(served) as client:
            for said in ("call-é", 7):
                await client.call_tool("nothing", {}, meta={CALL_ID: said})
            return served.of("tool/start")

    assert [one["call_id"] for one in asyncio.run(run())] == ["call-é", None]


def test_calls_that_come_at_once_run_at_once(connect):
    async def run():
        async with serving(TOOLS) as served, connect(served) as client:
            hanging = asyncio.create_task(client.call_tool("hang", {}))
            await served.until("tool/start")
            answers = await asyncio.gather(*(client.call_tool("look", {"x": n}) for n in range(20)))
            hanging.cancel()
            return answers, served

    answers, served = asyncio.run(run())
    assert {one.content[0].text for one in answers} == {"clear 🙂\u2028"}
    assert sorted(one["arguments"]["x"] for one in served.of("tool/start")[1:]) == list(range(20))


def test_a_tool_that_hangs_is_cancelled_when_the_client_leaves(connect):
    async def run():
        async with serving(TOOLS) as served:
            async with connect(served) as client:
                hanging = asyncio.create_task(client.call_tool("hang", {}))
                await served.until("tool/start")
                hanging.cancel()
            await asyncio.gather(hanging, return_exceptions=True)
            # The session is still open: nothing but the client's leaving ends the tool.
            await served.quiet()
            return served.told

    assert asyncio.run(run()) == ["start"]


def test_a_session_that_is_over_answers_nothing(connect):
    async def run():
        async with serving(TOOLS) as served, connect(served) as client:
            await client.list_tools()
            await served.over()
            with pytest.raises(mcp.MCPError) as raised:
                await client.call_tool("look", {"x": 1})
            return raised.value.message, served.told

    message, told = asyncio.run(run())
    assert "not found" in message.lower() or "No session 't' is open" in message
    assert told == []


def test_what_waits_when_the_session_ends_ends_with_it_and_leaves_nothing(connect):
    async def one_call(served):
        async with connect(served) as client:
            hanging = asyncio.create_task(client.call_tool("hang", {}))
            await served.until("tool/start")
            await served.over()
            await hanging

    async def run():
        async with serving(TOOLS) as served:
            # A client that speaks HTTP may take a reset connection for its own end.
            with pytest.raises((mcp.MCPError, ExceptionGroup)):
                await one_call(served)
            return served.told

    assert asyncio.run(run()) == ["start"]


# By hand, over HTTP.

HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


def asked(method="POST", below="/mcp", content=b"", **headers):
    async def run():
        async with serving(TOOLS) as served, httpx2.AsyncClient(trust_env=False) as client:
            answer = await client.request(method, served.url + below, content=content, headers=HEADERS | headers)
            return answer, served.told

    return asyncio.run(run())


@pytest.mark.parametrize("below", ["/mcp", "/mcp/"])
def test_one_request_that_stands_alone_is_answered_as_json(below):
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list"}}
    answer, told = asked(below=below, content=json.dumps(call).encode())
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["result"]["content"] == [{"type": "text", "text": '["a", {"b": null}]'}]
    assert told == ["start", "result"]


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 400),
        (b"no json", 400),
        (b"[" * 100_000, 400),
        (b"[]", 400),
        (b'{"jsonrpc": "2.0", "id": 1}', 400),
        (b"\xff\xfe", 400),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "look", "arguments": "x"}}', 200),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"arguments": {}}}', 200),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "resources/list"}', 200),
    ],
)
def test_what_is_no_request_of_the_protocol_is_refused_in_its_words_and_runs_nothing(content, status, capfd):
    answer, told = asked(content=content)
    assert answer.status_code == status
    assert {"code", "message"} <= answer.json()["error"].keys()
    assert told == []
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("odd", "status"), [(b"NaN", 200), (b"1e999", 200), (b"[" * 190 + b"]" * 190, 200), (b"[" * 960 + b"]" * 960, 400)]
)
def test_arguments_that_no_json_can_say_again_are_refused_or_never_reach_the_tool(odd, status):
    call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","arguments":{"x":%b}}}' % odd
    answer, told = asked(content=call)
    assert answer.status_code == status
    assert told == (["start", "error"] if status == 200 else [])


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_there_is_nothing_to_hear_unasked_and_nothing_to_end(method):
    answer, _ = asked(method)
    assert (answer.status_code, answer.headers["allow"], answer.content) == (405, "POST", b"")


def test_the_tools_can_be_listed_without_the_protocol():
    answer, told = asked("GET", "/tools")
    assert answer.status_code == 200
    listed = answer.json()
    assert listed[0] == {"name": "look", "description": "Looks.", "parameters": TYPED}
    assert [one["name"] for one in listed] == list(TOOLS)
    assert told == []


def test_a_client_that_closes_its_connection_cancels_its_tool():
    call = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "hang"}}).encode()

    async def run():
        async with serving(TOOLS) as served:
            _, writer = await asyncio.open_connection("127.0.0.1", served.server.port)
            head = [
                f"POST {served.url.partition(str(served.server.port))[2]}/mcp HTTP/1.1",
                f"Content-Length: {len(call)}",
            ]
            head += [f"{name}: {value}" for name, value in HEADERS.items()]
            writer.write("\r\n".join([*head, "", ""]).encode() + call)
            await served.until("tool/start")
            writer.close()
            await writer.wait_closed()
            await served.quiet()
            async with by_http(served.url, "handshake") as client:
                return await client.call_tool("nothing", {}), served.told

    after, told = asyncio.run(run())
    assert after.content[0].text == "null"
    assert told == ["start", "start", "result"]
