"""One answer on its way to the agent, and what delivering it takes, as effects. Sends nothing itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from fake_models.messages import Cut, Stall
from fake_models.wire.codec import Codec


@dataclass(frozen=True, slots=True)
class Exchange:
    """
    The answer to one request.

    Exactly one of `body` (a JSON value, or a str sent as it is) and `chunks` (stream payloads, unframed) is set.
    `call` names it in the recording (m1, m2, ...). `headers` come beside the content type.
    """

    call: str
    codec: Codec
    status: int
    body: Any = None
    chunks: tuple[Any, ...] | None = None
    headers: tuple[tuple[str, str], ...] = ()
    broken: Cut | Stall | None = None
    wait_s: float = 0.0


class Endpoint(Protocol):
    """
    What a shell needs of a model: answers, and ears for how they arrived.

    `exchange` decides and records the answer; `done` is told once per answer how it ended (`kit`: all sent, `client`: the
    agent left, `cut`: broken as scripted) and how many bytes of the body had gone out. `pause` lets the scenario's time
    pass (no real time). `hang` blocks until the run is over and `ahang` until it is cancelled.
    """

    def exchange(self, wire: str, path: str, body: Any, headers: Mapping[str, str]) -> Exchange: ...

    def done(self, call: str, sent_bytes: int, by: Literal["kit", "client", "cut"]) -> None: ...

    def pause(self, delay_s: float) -> None: ...

    def hang(self) -> None: ...

    async def ahang(self) -> None: ...
