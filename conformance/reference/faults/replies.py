"""Faults in what a reply is taken for."""
# ruff: noqa: D103 - the table of mutants says each fault in a sentence

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from conformance.agent_side import Bench
from conformance.dialect import Dialect
from conformance.reference import recovering
from conformance.reference.failing import Failure, failure
from conformance.reference.hearing import Said
from fake_models.errors import ModelError, StreamBroken

Tools = Mapping[str, Mapping[str, Any]]


def zero_is_empty(heard: Said | Failure, dialect: Dialect) -> str | None:
    if isinstance(heard, Said) and not heard.calls and heard.text.strip() in ("0", "."):
        return "empty"
    return recovering.trouble(heard, dialect)


def tokens_are_an_overflow(error: Exception) -> Failure:
    found = failure(error)
    speaks_of_tokens = isinstance(error, ModelError) and "tokens" in str(error.body)
    return replace(found, kind="overflow") if speaks_of_tokens else found


def overflow_is_transient(error: Exception) -> Failure:
    found = failure(error)
    return replace(found, kind="transient") if found.kind == "overflow" else found


def cut_is_whole(heard: Said | Failure, dialect: Dialect) -> str | None:
    found = recovering.trouble(heard, dialect)
    return None if found == "length" and isinstance(heard, Said) and heard.calls else found


def no_call_is_no_answer(heard: Said | Failure, dialect: Dialect) -> str | None:
    promised = isinstance(heard, Said) and heard.stop == "tool_calls" and not heard.calls
    return "empty" if promised else recovering.trouble(heard, dialect)


def everything_is_transient(error: Exception) -> Failure:
    found = failure(error)
    return replace(found, kind="transient") if found.kind == "final" else found


def only_a_bad_request_is_final(error: Exception) -> Failure:
    found = failure(error)
    forbidden = isinstance(error, ModelError) and error.status not in (400, 401, 429)
    return replace(found, kind="transient") if forbidden and found.kind == "final" else found


def a_spent_quota_is_transient(error: Exception) -> Failure:
    found = failure(error)
    rate_limited = isinstance(error, ModelError) and error.status == 429
    return replace(found, kind="transient") if rate_limited else found


def only_the_server_is_transient(error: Exception) -> Failure:
    found = failure(error)
    refused = isinstance(error, ModelError) and error.status in (408, 409)
    return replace(found, kind="final") if refused else found


def nobody_is_waited_for(error: Exception) -> Failure:
    return replace(failure(error), wait_s=0.0)


def whole_however_it_ended(bench: Bench) -> Bench:
    """Breaks are swallowed where the stream is read, and what came by then is a reply."""

    def stream(body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Iterator[Any]:
        with suppress(StreamBroken):
            yield from bench.stream_model(body, headers=headers)
        yield _FINISHED

    async def astream(body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> AsyncIterator[Any]:
        with suppress(StreamBroken):
            async for chunk in bench.astream_model(body, headers=headers):
                yield chunk
        yield _FINISHED

    return replace(bench, stream_model=stream, astream_model=astream)


_FINISHED = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def any_body_is_a_reply(bench: Bench) -> Bench:
    def model(body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Any:
        said = bench.model(body, headers=headers)
        return said if isinstance(said, Mapping) and said.get("choices") else _reply_of(said)

    async def amodel(body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Any:
        said = await bench.amodel(body, headers=headers)
        return said if isinstance(said, Mapping) and said.get("choices") else _reply_of(said)

    return replace(bench, model=model, amodel=amodel)


def _reply_of(said: Any) -> Any:
    return {"choices": [{"index": 0, "message": {"content": str(said)}, "finish_reason": "stop"}]}
