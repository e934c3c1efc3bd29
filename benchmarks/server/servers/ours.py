"""The kit's own server with one session, below /s/t."""

import asyncio
import sys

from session import Session

from fake_models.server import Server


async def main() -> None:
    async with Server(int(sys.argv[1])) as server:
        server.mount("t", Session(sys.argv[2] if len(sys.argv) > 2 else "twenty"))
        await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    if "uvloop" in sys.argv:
        import uvloop

        uvloop.install()
    asyncio.run(main())
