"""An event stream of AG-UI read as the published client reads it: bytes to events, one by one. Repairs no framing."""

import json
from collections.abc import Iterator
from typing import Any, NoReturn

#: Most that the published client buffers of a stream before a frame of it is whole, in bytes.
MAX_FRAME_BYTES = 10 * 1024 * 1024
#: The end of other protocols' event streams. AG-UI has none.
SENTINEL = "[DONE]"

#: What parts two frames. The standard allows CR LF and CR as well; the published client knows this one alone.
_BOUNDARY = b"\n\n"
_BOM = b"\xef\xbb\xbf"
_DATA = "data:"


class Refused(Exception):  # noqa: N818 - what the client does, not an error of ours
    """The published client refuses this; the message says what was expected and what to do."""


class Frames:
    """Cuts a stream into frames and gives the data of each that has any. Comments and other fields are ignored."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0
        self._begun = False

    def feed(self, chunk: bytes) -> Iterator[str]:
        """
        The data of the frames that this chunk completes.

        Raises:
            Refused: what is left is larger than a frame may be.
        """
        self._buffer += chunk
        while (at := self._buffer.find(_BOUNDARY, self._searched)) >= 0:
            yield from self._cut(at, at + len(_BOUNDARY))
        # The boundary's first half may be here already.
        self._searched = max(len(self._buffer) - 1, 0)
        if len(self._buffer) > MAX_FRAME_BYTES:
            raise Refused(
                f"more than {MAX_FRAME_BYTES} bytes came without an empty line that ends the frame; the published client "
                "buffers no more"
            )

    def end(self) -> Iterator[str]:
        """The data of a last frame without its empty line, which counts all the same."""
        yield from self._cut(len(self._buffer), len(self._buffer))

    @property
    def rest(self) -> str:
        """What was received of a frame that is not whole."""
        return self._buffer.decode("utf-8", "replace")

    def _cut(self, end: int, after: int) -> Iterator[str]:
        frame = bytes(self._buffer[:end])
        del self._buffer[:after]
        self._searched = 0
        if not self._begun:
            frame = frame.removeprefix(_BOM)
            self._begun = True
        data = [
            line.removeprefix(_DATA).removeprefix(" ")
            for line in frame.decode("utf-8", "replace").split("\n")
            if line.startswith(_DATA)
        ]
        if data:
            yield "\n".join(data)


def event(data: str) -> dict[str, Any]:
    """
    The event that a frame's data is. Which event that is and whether it is a good one is not asked here.

    Raises:
        Refused: it is no JSON object.
    """
    try:
        said = json.loads(data, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Refused(_why(data, error)) from None
    if not isinstance(said, dict):
        raise Refused("the frame is JSON and no object; each frame is to hold one event")
    return said


def _why(data: str, error: Exception) -> str:
    if data.strip() == SENTINEL:
        return (
            f"AG-UI has no {SENTINEL}: the published client reads every data line as JSON and fails here; close the stream "
            "instead"
        )
    if "\r" in data:
        return (
            "the lines end in CR LF: the published client parts frames at LF LF alone, so that all of the stream is one frame "
            "to it, which is no JSON; end lines in LF"
        )
    return f"the frame is no JSON ({error}), where the published client fails; write each event as JSON in a frame of its own"


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")
