"""What no server in Python can beat: asyncio that looks for the end of a request and writes bytes made beforehand."""

import asyncio
import sys

from answers import PLAIN, STREAM


class Ceiling(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.came = b""

    def data_received(self, data: bytes) -> None:
        self.came += data
        head, found, body = self.came.partition(b"\r\n\r\n")
        at = head.find(b"Content-Length: ")
        if found and len(body) >= int(head[at + 16 :].split(b"\r\n", 1)[0]):
            self.came = b""
            self.transport.write(STREAM if b'"stream": true' in body else PLAIN)


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Ceiling, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


if __name__ == "__main__":
    if "uvloop" in sys.argv:
        import uvloop

        uvloop.install()
    asyncio.run(main())
