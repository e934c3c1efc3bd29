"""One session as the stand-alone server has it: a scripted model with matching, provider rules and a journal of the last records."""

from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from answers import PIECES, TEXT

from fake_models.chunking import Chunking, chunking
from fake_models.matching import When
from fake_models.messages import ModelRequest, Usage, World
from fake_models.script import FOREVER, Script, Turn
from fake_models.scripted_model import ScriptedModel
from fake_models.wire import CODECS

#: How many records a journal in memory keeps.
KEPT = 10_000
TWENTY = Chunking("twenty", lambda text: tuple(text[at : at + 20] for at in range(0, len(text), 20)))
TURN = Turn(
    say=TEXT, usage=Usage(20, 50), repeat=FOREVER, when=When(last="user", text="quick brown fox", call="regular")
)


class Session:
    """The model's host, and a guest of the server."""

    def __init__(self, cut: str = "twenty") -> None:
        assert "".join(PIECES) == TEXT
        self.records: deque[tuple[str, str, Mapping[str, Any]]] = deque(maxlen=KEPT)
        self.calls = 0
        self.endpoint = ScriptedModel(
            record=self._record,
            host=self,
            chunking=TWENTY if cut == "twenty" else chunking(cut),
            codecs=CODECS,
            cap=10**9,
        )
        self.endpoint.open("r1", Script((TURN,)), "Question")

    def _record(self, source: str, type: str, data: Mapping[str, Any]) -> None:  # noqa: A002 - the record's own word
        self.records.append((source, type, data))

    def next_call(self) -> str:
        self.calls += 1
        return f"m{self.calls}"

    def side(self, request: ModelRequest, headers: Mapping[str, str]) -> None:  # noqa: ARG002 - as it is asked
        return None

    def world(self, run: str, request: ModelRequest, side: Any) -> World:  # noqa: ARG002 - as it is asked
        return World(now=datetime(2026, 1, 1, tzinfo=UTC), run=run)

    def pause(self, delay_s: float) -> None:
        pass

    def hang(self) -> None:
        raise AssertionError("nothing hangs here")

    async def ahang(self) -> None:
        raise AssertionError("nothing hangs here")

    # As a guest.

    def app(self, below: str) -> None:  # noqa: ARG002 - as it is asked
        return None

    def settle(self) -> None:
        pass

    async def tool(self, name: str, arguments: Any, call_id: str | None) -> tuple[int, Any]:  # noqa: ARG002 - as it is asked
        return 404, None
