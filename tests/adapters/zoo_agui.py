"""The zoo of `zoo_command.py` behind an AG-UI endpoint: a bare server on the test's own loop."""

import asyncio
import json
from contextlib import asynccontextmanager

import httpx2

MEGABYTES = 100
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def frame(kind, **fields):
    return b"data: " + json.dumps({"type": kind, **fields}).encode() + b"\n\n"


def ids(given):
    return {"threadId": given["threadId"], "runId": given["runId"]}


async def normal(given, writer):
    model = given["forwardedProps"]["conformance"]["model"]
    writer.write(HEAD + frame("RUN_STARTED", **ids(given)))
    async with httpx2.AsyncClient(base_url=model["base_url"]) as client:
        body = {"model": model["name"], "messages": [{"role": "user", "content": given["messages"][-1]["content"]}]}
        reply = await client.post("chat/completions", json=body)
    text = reply.json()["choices"][0]["message"]["content"]
    writer.write(frame("TEXT_MESSAGE_START", messageId="t1", role="assistant"))
    writer.write(frame("TEXT_MESSAGE_CONTENT", messageId="t1", delta=text))
    writer.write(frame("TEXT_MESSAGE_END", messageId="t1") + frame("RUN_FINISHED", **ids(given)))


async def exception(_given, writer):
    writer.write(b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 5\r\n\r\nwrong")


async def hang(given, writer):
    writer.write(HEAD + frame("RUN_STARTED", **ids(given)))
    await writer.wait_closed()


async def half_a_line(_given, writer):
    writer.write(HEAD + b'data: {"type":"RUN_STA')
    await writer.wait_closed()


async def death_in_mid_event(_given, writer):
    head = HEAD.replace(b"Connection: close", b"Transfer-Encoding: chunked")
    writer.write(head + b'16\r\ndata: {"type":"RUN_STA\r\n')
    await writer.drain()


async def close_before_the_end(given, writer):
    writer.write(HEAD + frame("RUN_STARTED", **ids(given)))


async def garbage_line(given, writer):
    writer.write(HEAD + b"data: DEBUG loading the model\n\n" + frame("RUN_STARTED", **ids(given)))


async def endless_line(_given, writer):
    writer.write(HEAD + b"data: ")
    for _ in range(MEGABYTES):
        writer.write(b"x" * 1_000_000)
        await writer.drain()


async def flood_of_events(_given, writer):
    block = frame("CUSTOM", name="n", value="x" * 100_000)
    writer.write(HEAD)
    for _ in range(10 * MEGABYTES):
        writer.write(block)
        await writer.drain()


@asynccontextmanager
async def served(way):
    """The URL of an endpoint that goes wrong this way in runs whose user says "wrong"."""
    ways = {"normal": normal} | {name: value for name, value in globals().items() if name == way}
    tasks = set()

    async def answer(reader, writer):
        tasks.add(asyncio.current_task())
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            size = int(head.split("content-length: ")[1].split("\r\n")[0]) if "content-length" in head else 0
            body = await reader.readexactly(size)
            if head.startswith("options"):
                writer.write(b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            given = json.loads(body)
            wrong = given["messages"][-1]["content"] == "wrong"
            await ways[way if wrong else "normal"](given, writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
