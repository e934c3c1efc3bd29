"""A client that keeps its connections and counts what comes back. Every request differs from the one before it."""

import asyncio
import json
from dataclasses import dataclass, field

#: Enough for the slowest of the servers to answer a round.
DEADLINE_S = 120.0


@dataclass(slots=True)
class Question:
    """The requests of a run: what a small agent asks, its user's text numbered, so that no two bodies are alike."""

    path: str
    stream: bool
    asked: int = 0

    def next(self) -> bytes:
        self.asked += 1
        body = {
            "model": "gpt-4o-mini",
            "messages": [
                {"role": "system", "content": "You are a helpful assistant."},
                {"role": "user", "content": f"Question {self.asked:07}: what does the quick brown fox do?"},
            ],
            "temperature": 0.2,
            **({"stream": True, "stream_options": {"include_usage": True}} if self.stream else {}),
        }
        content = json.dumps(body).encode()
        head = (
            f"POST {self.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n"
            f"Content-Type: application/json\r\nUser-Agent: bench\r\nAuthorization: Bearer sk-bench\r\n"
            f"X-Stainless-Retry-Count: 0\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        return head.encode() + content


@dataclass(slots=True)
class Client(asyncio.Protocol):
    """One connection, which asks again as soon as it was answered, until all has been asked."""

    question: Question
    left: list[int]
    done: asyncio.Future[None]
    answers: list[bytes] = field(default_factory=list)
    _came: bytearray = field(default_factory=bytearray)
    _transport: asyncio.Transport = field(init=False)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._came += data
        if whole(self._came):
            if not self.answers or not self._came.startswith(b"HTTP/1.1 200"):
                self.answers.append(bytes(self._came))
            self._came.clear()
            self._ask()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(exc or ConnectionError("the server closed a connection that was to be kept"))

    def _ask(self) -> None:
        if self.left[0] > 0:
            self.left[0] -= 1
            self._transport.write(self.question.next())
        elif not self.done.done():
            self.done.set_result(None)
            self._transport.close()


def whole(came: bytearray) -> bool:
    """Whether an answer, whose client has one at a time, has come to its end."""
    head, found, body = came.partition(b"\r\n\r\n")
    if not found:
        return False
    lowered = head.lower()
    if b"transfer-encoding: chunked" in lowered:
        return came.endswith(b"0\r\n\r\n")
    length = next(line for line in lowered.split(b"\r\n") if line.startswith(b"content-length:"))
    return len(body) >= int(length.partition(b":")[2])


async def ask(port: int, question: Question, *, connections: int, requests: int) -> bytes:
    """Ask so often, over so many connections at once; gives an answer. Raises where one of them is no 200."""
    loop = asyncio.get_running_loop()
    left = [requests]
    clients = [Client(question, left, loop.create_future()) for _ in range(connections)]
    async with asyncio.timeout(DEADLINE_S):
        for client in clients:
            await loop.create_connection(lambda client=client: client, "127.0.0.1", port)
        await asyncio.gather(*(client.done for client in clients))
    answers = [answer for client in clients for answer in client.answers]
    wrong = next((answer for answer in answers if not answer.startswith(b"HTTP/1.1 200")), None)
    if wrong is not None:
        raise RuntimeError(f"answered {wrong[:200]!r}, expected a 200")
    return answers[0]
