"""Faults in how a stream is read: each changes the chunks on their way to an honest reader. Says nothing about why."""
# ruff: noqa: D103 - the table of mutants says each fault in a sentence

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from conformance.agent_side import Bench
from conformance.reference.run import Run, Shown

Delta = Mapping[str, Any]
#: Reads the call deltas of one stream, one after another, since what one means may hang on those before.
Reader = Callable[[Delta], Delta]


def reading_calls(reader: Callable[[], Reader]) -> Callable[[Bench], Bench]:
    """A bench whose streams are read with a reader of their own each."""
    return _streams(lambda: _calls_of(reader()))


def reading(**pieces: Callable[[str], str]) -> Callable[[Bench], Bench]:
    """A bench whose texts (`content`) or arguments are spoiled piece by piece."""

    def call(delta: Delta) -> Delta:
        function = dict(delta.get("function") or {})
        if "arguments" in pieces and function.get("arguments"):
            function["arguments"] = pieces["arguments"](function["arguments"])
        return {**delta, "function": function}

    def read(delta: Delta) -> Delta:
        found = _calls_of(call)(delta)
        if "content" in pieces and found.get("content"):
            found = {**found, "content": pieces["content"](found["content"])}
        return found

    return _streams(lambda: read)


def asking(change: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Callable[[Bench], Bench]:
    """A bench to which another request is sent where it is to be streamed."""

    def changed(bench: Bench) -> Bench:
        def stream(body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Iterator[Any]:
            return bench.stream_model(change(body), headers=headers)

        def astream(body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> AsyncIterator[Any]:
            return bench.astream_model(change(body), headers=headers)

        return replace(bench, stream_model=stream, astream_model=astream)

    return changed


def _streams(reader: Callable[[], Reader]) -> Callable[[Bench], Bench]:
    def changed(bench: Bench) -> Bench:
        def stream(body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Iterator[Any]:
            read = reader()
            for chunk in bench.stream_model(body, headers=headers):
                yield _read(chunk, read)

        async def astream(body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> AsyncIterator[Any]:
            read = reader()
            async for chunk in bench.astream_model(body, headers=headers):
                yield _read(chunk, read)

        return replace(bench, stream_model=stream, astream_model=astream)

    return changed


def _read(chunk: Any, read: Reader) -> Any:
    if not isinstance(chunk, Mapping) or not isinstance(chunk.get("choices"), list):
        return chunk
    return {**chunk, "choices": [{**choice, "delta": read(choice.get("delta") or {})} for choice in chunk["choices"]]}


def _calls_of(read: Reader) -> Reader:
    return lambda delta: (
        {**delta, "tool_calls": list(map(read, calls))} if (calls := delta.get("tool_calls")) else delta
    )


def by_arrival() -> Reader:
    last = [-1]

    def read(call: Delta) -> Delta:
        if call.get("id"):
            last[0] += 1
        return {**call, "index": last[0]}

    return read


def each_id_opens(sort: Callable[[Any], bool]) -> Callable[[], Reader]:
    """A delta whose id is of this sort begins a call, whatever was begun before."""

    def made() -> Reader:
        last = [-1]

        def read(call: Delta) -> Delta:
            if sort(call.get("id")):
                last[0] += 1
            return {**call, "index": last[0]}

        return read

    return made


def index_alone() -> Reader:
    seen: set[Any] = set()

    def read(call: Delta) -> Delta:
        index = call.get("index")
        if index in seen:
            return {key: value for key, value in call.items() if key != "id"}
        seen.add(index)
        return call

    return read


def cut_characters(piece: str) -> str:
    """What a reader makes of bytes that end within a character: it throws the half away."""
    return piece if piece[-1].isascii() else piece[:-1]


def text_beside_calls_forgotten(body: Mapping[str, Any]) -> Mapping[str, Any]:
    messages = [{**one, "content": None} if one.get("tool_calls") else one for one in body["messages"]]
    return {**body, "messages": messages}


def sampled(body: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**body, "temperature": 0.2}


def all_at_once(run: Run) -> Shown:
    """Where it is to be streamed, nothing is shown before the end of the run but that it began."""
    held: list[Any] = []

    def shown(item: Any) -> list[Any]:
        kind = item.get("type") if isinstance(item, dict) else None
        held.append(item)
        if run.given.stream and kind not in ("RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", None):
            return []
        out = list(held)
        held.clear()
        return out

    return shown
