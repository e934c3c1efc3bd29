"""A thousand sessions of one scenario at once: each gets its own script's answers, and its journal holds its own requests alone."""

import asyncio
import json
from urllib.parse import urlsplit

from serve_bench import standing

from conformance.recording import from_bytes

SESSIONS = 1000
#: Both ends are in this process, which may have no more than 1,024 files. Every session is open all the time.
CONNECTIONS = 200
ASKED = "How high is the tide? I am number {}."


async def requested(streams, method, url, body=None, **headers):
    """One request on an open connection, without a library between: five thousand of them are made."""
    reader, writer = streams
    content = b"" if body is None else json.dumps(body).encode()
    lines = [
        f"{method} {urlsplit(url).path} HTTP/1.1",
        f"Host: {urlsplit(url).netloc}",
        f"Content-Length: {len(content)}",
    ]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join((*lines, "", "")).encode() + content)
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    size = int(head.partition("content-length: ")[2].partition("\r\n")[0])
    return (await reader.readexactly(size)) if size else b""


async def talked(streams, sessions_url, number):
    """One session from its beginning to its answer: gives its journal's URL, the id of its call and the answer."""
    opened = await requested(streams, "POST", sessions_url, {"scenario": "tide", "token": f"session-{number}"})
    session = json.loads(opened)
    url = f"{session['base_urls']['openai_chat']}/chat/completions"

    async def said(*messages):
        answer = await requested(streams, "POST", url, {"model": "m", "messages": messages})
        return json.loads(answer)["choices"][0]["message"]

    user = {"role": "user", "content": ASKED.format(number)}
    first = await said(user)
    # Whoever comes after this one has asked before it goes on.
    await asyncio.sleep(0)
    (call,) = first["tool_calls"]
    given = json.loads(call["function"]["arguments"])
    await requested(streams, "POST", f"{session['tools_url']}/tide", given, **{"X-Tool-Call-Id": call["id"]})
    last = await said(user, first, {"role": "tool", "tool_call_id": call["id"], "content": "3.2"})
    return f"{sessions_url}/session-{number}/journal", call["id"], last["content"]


def test_a_thousand_sessions_do_not_touch_each_other():
    async def worker(there, numbers, journals):
        parts = urlsplit(there.sessions_url)
        streams = await asyncio.open_connection(parts.hostname, parts.port)
        for number in numbers:
            url, call_id, answer = await talked(streams, there.sessions_url, number)
            assert (call_id, answer) == ("call_1", "3.2 metres.")
            journals[number] = url
        return streams

    async def story():
        async with standing("tide") as there:
            journals, numbers = {}, iter(range(SESSIONS))
            lines = await asyncio.gather(*(worker(there, numbers, journals) for _ in range(CONNECTIONS)))
            assert len(journals) == SESSIONS
            for number, url in journals.items():
                journal = from_bytes(await requested(lines[0], "GET", url))
                asked = [
                    one.data["body"]["messages"][0]["content"] for one in journal.records if one.kind == "model/request"
                ]
                assert asked == [ASKED.format(number)] * 2
                assert [one.data["call_id"] for one in journal.records if one.kind == "tool/start"] == ["call_1"]
            for _, writer in lines:
                writer.close()
                await writer.wait_closed()

    asyncio.run(story())
