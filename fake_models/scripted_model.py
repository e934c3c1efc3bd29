"""One session's model: plays scripts to requests and tells the recorder. The one mutable object here; it does no I/O."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from threading import Lock
from typing import Any, Literal, Protocol

from fake_models.chunking import Chunking
from fake_models.exchange import Ended, Exchange, exchange_of, of_error
from fake_models.messages import ErrorReply, ModelRequest, Reply, Thinking, World
from fake_models.overflow import overflow_reply
from fake_models.provider_rules import BODY_NO_OBJECT, Breach, Known, breaches, refusal
from fake_models.records import digests, reply_data, retry_count
from fake_models.script import Cursor, Missed, Played, Script, Turn, answer, aside, unplayed
from fake_models.wire.codec import Codec, Stamp, compact, quirked, remembering
from fake_models.wire.memory import NOTHING, Kept

#: How many requests beyond its cap a run is refused before it is left waiting: enough for a loop to see that it must end.
PATIENCE = 5
#: The estimator that scenarios call bytes/4.
BYTES_PER_TOKEN = 4
#: Most digits of a length that is one; no machine holds what a longer one says.
_LENGTH_DIGITS = 15

By = Literal["provider", "script", "window", "cap", "late"]
SideCall = Literal["auxiliary", "compaction"]
Mode = Literal["enforce", "observe", "off"]


class Host(Protocol):
    """What the model asks of whoever holds the recording."""

    def world(self, run: str, request: ModelRequest, side: SideCall | None) -> World:
        """Give what a script may look at. Asked once per request that nothing stopped before, after it was recorded."""

    def side(self, request: ModelRequest, headers: Mapping[str, str]) -> SideCall | None:
        """Tell whether the agent marked the request as one beside its conversation. Names of headers are in lower case."""

    def next_call(self) -> str:
        """Count on m1, m2, ... over the whole recording, which may hold several sessions."""

    def pause(self, delay_s: float) -> None:
        """Let the scenario's time pass."""

    def hang(self) -> None:
        """Block until the run is over."""

    async def ahang(self) -> None:
        """Wait until cancelled."""


@dataclass(slots=True)
class _Play:
    """A run's script, the text that tells its requests, and where it stands, which moves."""

    script: Script
    user_text: str | None
    cursor: Cursor
    requests: int = 0


@dataclass(frozen=True, slots=True)
class _Refused:
    """Why a request is refused, and the provider's answer to it."""

    by: By
    error: ErrorReply
    rule: str | None = None
    nearest: dict[str, Any] | None = None


class ScriptedModel:
    """
    The model of one session, an `Endpoint` for any shell.

    `record` takes source, type and data; the data is the recorder's to keep. `cap` counts the requests of a run, attempts,
    side calls and refused ones too; `patience` is how many more are refused until it is overrun. `context_window` is in tokens of four message bytes. `rule_modes` overrides how provider
    rules are applied, by id. `watched` is given each scripted answer with its run, to say where it is held and where its host wants
    to hear how far it got. On a wire whose requests can go on from an earlier reply, the last of this session's can be gone on
    from, as many as `fake_models.wire.memory` says; what is recorded is the request as it was sent.
    """

    def __init__(
        self,
        *,
        record: Callable[[str, str, dict[str, Any]], Any],
        host: Host,
        chunking: Chunking,
        codecs: Mapping[str, Codec],
        cap: float = 60,
        patience: float = PATIENCE,
        context_window: int | None = None,
        rule_modes: Mapping[str, Mode] | None = None,
        watched: Callable[[str, Exchange], Exchange] = lambda _run, exchange: exchange,
    ) -> None:
        self._record = record
        self._host = host
        self._chunking = chunking
        self._codecs = codecs
        self._cap = cap
        self._patience = patience
        self._context_window = context_window
        self._rule_modes = rule_modes or {}
        self._watched = watched
        self._plays: dict[str, _Play] = {}
        self._open: list[str] = []
        self._ended: str | None = None
        self._asides: list[Turn] = []
        # Ids of the calls that came with a thought: some providers want it back with them.
        self._thoughts: set[str] = set()
        self._kept: Kept = NOTHING
        # Agents run tools, subagents and sessions on threads. A turn is played once, whoever asks first.
        self._lock = Lock()

    def open(self, run: str, script: Script, user_text: str | None) -> None:
        """Begin a run. `user_text` tells its requests from those of a run beside it; None where it carries none."""
        with self._lock:
            self._plays[run] = _Play(script, user_text, Cursor())
            self._open.append(run)

    def close(self, run: str) -> None:
        """End a run: requests that still come are late."""
        with self._lock:
            self._open.remove(run)
            self._ended = run

    def interject(self, turn: Turn) -> None:
        """Let this turn answer the next request that the script would have answered, which goes on behind it. Several queue up."""
        with self._lock:
            self._asides.append(turn)

    @property
    def overrun(self) -> bool:
        """Whether an open run was refused by its cap and did not stop: it gets no answer any more, its host ends it."""
        most = self._cap + self._patience
        return any([self._plays[run].requests >= most for run in self._open])  # noqa: C419 - a generator costs more

    def overran(self, run: str) -> bool:
        """The same of one run."""
        return self._plays[run].requests >= self._cap + self._patience

    def unplayed(self, run: str) -> tuple[int, ...]:
        """The run's turns, from 0, that had to be played and were not."""
        play = self._plays[run]
        return unplayed(play.script, play.cursor)

    def exchange(self, wire: str, path: str, body: Any, headers: Mapping[str, str]) -> Exchange:
        """Decide the answer to one request and record both. Whatever the body holds, this answers and does not raise."""
        with self._lock:
            return self._exchange(wire, path, body, headers)

    def done(self, call: str, sent_bytes: int, by: Ended) -> None:
        """Record how an answer arrived."""
        self._record("model", "reply_done", {"call": call, "bytes": sent_bytes, "by": by})

    def pause(self, delay_s: float) -> None:
        """Let the scenario's time pass."""
        self._host.pause(delay_s)

    def hang(self) -> None:
        """Block until the run is over."""
        self._host.hang()

    async def ahang(self) -> None:
        """Wait until cancelled."""
        await self._host.ahang()

    def _exchange(self, wire: str, path: str, body: Any, headers: Mapping[str, str]) -> Exchange:
        codec = self._codecs[wire]
        # A path is recorded, and a query that came encoded in it, as some proxies send it, holds keys.
        path = path.partition("?")[0]
        whole: Mapping[str, Any] = body if isinstance(body, dict) else {}
        if codec.memory is not None:
            whole = codec.memory.resumed(whole, self._kept)
        request = codec.decode(whole, path)
        side = self._host.side(request, headers)
        run = self._run_of(request)
        call = self._host.next_call()
        asked = {
            "run": run,
            "call": call,
            "wire": wire,
            "path": path,
            "retry_header": retry_count(headers),
            "side": side,
            "body": body,
            "bytes": _size(body, headers),
            "secrets": digests(headers),
        }
        self._record("model", "request", asked)
        if run is None or (run not in self._open and side != "auxiliary"):
            return self._refuse(call, codec, _late(run))
        play = self._plays[run]
        play.requests += 1
        known = Known(request.model, self._thoughts)
        found = breaches(wire, whole, self._rule_modes, known) if isinstance(body, dict) else ()
        if (refused := self._refusal(request, body, play, found)) is not None:
            return self._refuse(call, codec, refused)
        world = self._host.world(run, request, side)
        turn = self._asides.pop(0) if self._asides else None
        played = (
            answer(play.script, play.cursor, request, world)
            if turn is None
            else aside(turn, play.cursor, request, world)
        )
        if isinstance(played, Missed):
            return self._refuse(call, codec, _missed(played))
        if played.reply.quirks and (unknown := [name for name in played.reply.quirks if name not in codec.quirks]):
            return self._refuse(call, codec, _not_on_this_wire(unknown, played.turn, codec))
        play.cursor = played.cursor
        observed = [breach.rule.id for breach in found] if found else []
        stamp = Stamp(f"{codec.reply_prefix}{call}", int(world.now.timestamp()), request.model)
        said, altered = _told(codec, request, played)
        if codec.memory is not None:
            self._kept = remembering(codec, self._kept, whole, said.reply, stamp)
        return self._watched(
            run, self._say(call, codec, request, said, observed=observed, altered=altered, stamp=stamp)
        )

    def _run_of(self, request: ModelRequest) -> str | None:
        """The open run whose user text stands last in the request; the older of two that say nothing; else the last to end."""
        if len(self._open) <= 1:
            return self._open[0] if self._open else self._ended
        return max(self._open, key=lambda run: _place(self._plays[run].user_text, request))

    def _refusal(self, request: ModelRequest, body: Any, play: _Play, found: Sequence[Breach]) -> _Refused | None:
        """What stops a request before the script is asked; the first that applies."""
        if play.requests > self._cap:
            message = f"the agent sent request {play.requests} of a run, which is capped at {self._cap}"
            return _Refused("cap", ErrorReply(400, message))
        if not isinstance(body, dict):
            message = f"We expected a JSON object as the body of your request, but got {str(body)[:80]!r}."
            return _Refused("provider", ErrorReply(400, message), BODY_NO_OBJECT)
        if (enforced := next((breach for breach in found if breach.mode == "enforce"), None)) is not None:
            return _Refused("provider", refusal(enforced), enforced.rule.id)
        if self._context_window is not None and -(-request.size // BYTES_PER_TOKEN) > self._context_window:
            return _Refused("window", overflow_reply("provider", request.wire))
        return None

    def _refuse(self, call: str, codec: Codec, refused: _Refused) -> Exchange:
        error = refused.error
        data = {
            "call": call,
            "status": error.status,
            "by": refused.by,
            "rule": refused.rule,
            "nearest": refused.nearest,
            "message": error.message,
        }
        self._record("model", "refused", data)
        return of_error(call, codec, error)

    def _say(
        self,
        call: str,
        codec: Codec,
        request: ModelRequest,
        played: Played,
        *,
        observed: list[str],
        altered: Sequence[str],
        stamp: Stamp,
    ) -> Exchange:
        self._note_thoughts(played.reply)
        exchange = exchange_of(call, codec, played.reply, request=request, stamp=stamp, chunking=self._chunking)
        counted = request.include_usage or not request.stream
        self._record(
            "model", "reply", reply_data(played, stamp.id, exchange, observed, tells_usage=counted, altered=altered)
        )
        return exchange

    def _note_thoughts(self, reply: Reply) -> None:
        # Ids come again in later runs: what counts is the last reply that gave one.
        thought = any([isinstance(part, Thinking) for part in reply.parts])  # noqa: C419 - a generator costs more
        if not thought and not self._thoughts:
            return
        ids = {call.id for call in reply.calls if call.id}
        self._thoughts = self._thoughts | ids if thought else self._thoughts - ids


def _told(codec: Codec, request: ModelRequest, played: Played) -> tuple[Played, Sequence[str]]:
    """The turn as the agent is told it over this wire, and the fields in which that is not what the script says."""
    carried = codec.carried(played.reply, request)
    altered = () if carried is played.reply else _differing(played.reply, carried)
    if carried is not played.reply or carried.quirks:
        played = replace(played, reply=quirked(codec, carried))
    return played, altered


def _differing(script: Reply, carried: Reply) -> list[str]:
    return [one.name for one in fields(Reply) if getattr(script, one.name) != getattr(carried, one.name)]


def _size(body: Any, headers: Mapping[str, str]) -> int:
    """Bytes of a body as HTTP tells them, else as compact JSON."""
    told = headers.get("content-length", "")
    return int(told) if told.isdecimal() and len(told) <= _LENGTH_DIGITS else len(compact(body))


def _place(user_text: str | None, request: ModelRequest) -> tuple[int, int]:
    """Where a run's user text stands last in a request, for comparing; before everything if it does not."""
    if user_text:
        for index in reversed(range(len(request.messages))):
            if (at := (request.messages[index].content or "").rfind(user_text)) >= 0:
                return index, at
    return -1, -1


def _late(run: str | None) -> _Refused:
    ended = "no run has begun yet" if run is None else f"run {run!r} is over"
    return _Refused("late", ErrorReply(400, f"{ended}, but the agent sent one more request to its model"))


def _missed(missed: Missed) -> _Refused:
    nearest = None if missed.turn is None else {"turn": missed.turn, "failed": missed.failed}
    return _Refused("script", ErrorReply(400, missed.message), nearest=nearest)


def _not_on_this_wire(unknown: list[str], turn: int | None, codec: Codec) -> _Refused:
    failed = f"it asks for {', '.join(unknown)}, which wire {codec.name} does not have"
    known = ", ".join(codec.quirks) or "none"
    named = "the turn that was asked for" if turn is None else f"turn {turn} (turns count from 0)"
    message = (
        f"{named} cannot be played: {failed}. Its quirks are: {known}. "
        "Leave it out of the turn, or play it on a wire that has it."
    )
    return _Refused("script", ErrorReply(400, message), nearest={"turn": turn, "failed": failed})
