"""The dialect: which of several legitimate answers an agent declares, key by key. Declares and checks; observes nothing."""

import difflib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

#: Every shape that can count as an empty reply.
EMPTY_SHAPES = ("no_parts", "null", "blank", "thinking")

#: What `on_limit` abbreviates: the text the user reads, and how the run ends.
ON_LIMIT: Mapping[str, tuple[str, str]] = {
    "summarize": ("model", "finished"),
    "stop": ("none", "flagged"),
    "error": ("none", "error"),
    "raise": ("none", "raise"),
}


class DialectError(ValueError):
    """A declared dialect that cannot be read; the message names the key, the value and what is allowed."""


@dataclass(frozen=True, slots=True)
class Key:
    """One choice. `values` are the plain ones, recommended first; `other` accepts what no list can hold; `help` says both."""

    name: str
    values: tuple[Any, ...]
    help: str
    other: Callable[[Any], bool] = lambda _value: False

    @property
    def default(self) -> Any:
        """The recommended value, which an undeclared key means."""
        return self.values[0]

    def allows(self, value: Any) -> bool:
        """Whether the value may be declared."""
        # 1 == True in Python, and a dialect file that says `true` means something else than 1.
        return any(value == one and type(value) is type(one) for one in self.values) or self.other(value)


def _counts(name: str) -> Callable[[Any], bool]:
    def is_count(value: Any) -> bool:
        return isinstance(value, Mapping) and set(value) == {name} and _whole(value[name])

    return is_count


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _some(value: Any) -> bool:
    return _whole(value) and value > 0


def _shapes(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(one in EMPTY_SHAPES for one in value)


def _names(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(name, str) for pair in value.items() for name in pair)


def _side_calls(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and set(value) <= {"auxiliary", "compaction"}
        and all(
            isinstance(whens, list | tuple) and all(isinstance(w, Mapping) for w in whens) for whens in value.values()
        )
    )


def _answer_tool(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("tool:") and all(value.removeprefix("tool:").partition("."))


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


KEYS: tuple[Key, ...] = (
    Key("on_limit", (*ON_LIMIT, "other"), "shorthand for limit_text and limit_terminal"),
    Key(
        "limit_text", ("model", "canned", "last_result", "none"), "what the user reads when the round budget is used up"
    ),
    Key(
        "limit_terminal", ("finished", "flagged", "error", "raise"), "how the run ends when the round budget is used up"
    ),
    Key("limit_marker", ("raw", "custom"), "under limit_terminal finished: the kind of event that shows the limit"),
    Key("marker_name", (None,), "how the marker is called; null: any name that speaks of a limit", _text),
    Key("summary_tools", ("none", "choice_none"), "no tool offered in the summary call, or the choice forced to none"),
    Key("summary_failure", ("fallback", "error"), "a failed summary call becomes a fallback text or an error exit"),
    Key("default_max_iters", (10, "unlimited"), "rounds when the caller sets no limit: a count or unlimited", _some),
    Key("limit_unit", ("rounds", "model_calls", "steps"), "what the framework's own knob counts"),
    Key("last_round_tools", ("run", "skip"), "calls of the last allowed round run or are skipped"),
    Key("retry_budget", ("free", "counts"), "whether an empty reply spends a round"),
    Key(
        "empty_is", (EMPTY_SHAPES,), f"list of what counts as an empty reply, among {', '.join(EMPTY_SHAPES)}", _shapes
    ),
    Key(
        "empty_response",
        ({"retry_then_error": 1}, "finish", "continue", "error"),
        "{retry_then_error: N}, finish, continue or error",
        _counts("retry_then_error"),
    ),
    Key("recovery_scope", ("round", "run"), "when recovery counters start anew"),
    Key(
        "prompt_too_long",
        ({"compact_then_error": 1}, "error"),
        "{compact_then_error: N} or error",
        _counts("compact_then_error"),
    ),
    Key("model_error", ("error", "raise"), "a model failure that is not recovered"),
    Key("length_stop", ("error", "continue", "flag"), "a reply cut by the length limit"),
    Key("http_retry", ("transient", "none", "all"), "which HTTP failures are sent again"),
    Key("unknown_tool", ("observe", "error", "raise"), "a call of an unknown tool is fed back or ends the run"),
    Key("bad_arguments", ("observe", "error", "raise"), "bad arguments are fed back or end the run"),
    Key("tool_exception", ("observe", "error", "raise"), "a raising tool is fed back or ends the run"),
    Key("type_check", ("loop", "tool"), "who rejects a wrong argument type"),
    Key("extra_args", ("refuse", "drop", "pass"), "arguments the schema does not know"),
    Key("bad_ids", ("repair", "refuse"), "the model's call ids are missing, empty or repeated"),
    Key("parallel_tools", ("concurrent", "read_only", "sequential"), "order and overlap of parallel calls"),
    Key("tool_history", ("messages", "text"), "calls and results travel as the wire's tool messages or as text"),
    Key("answer_by", ("text",), "text, or tool:NAME.ARG where the answer is a call of that tool", _answer_tool),
    Key("final_text", ("last_reply", "all_text"), "the final text is the last reply's or all text of the run"),
    Key("events", ("native", "translated", "none"), "whose events these are"),
    Key("reasoning_events", ("on", "off"), "whether thinking is shown as reasoning events"),
    Key("usage_events", ("per_call", "per_run", "none"), "how usage is reported"),
    Key("on_guard", ("stop", "refuse"), "a guard ends the run, or answers the call with a refusal"),
    Key("listener_errors", ("isolated", "propagate"), "what an exception in an observer does"),
    Key("side_calls", ({},), "{auxiliary: [WHEN], compaction: [WHEN]}: calls beside the loop", _side_calls),
    Key("exceptions", ({},), "{Class: outcome kind}: what an exception of the agent means", _names),
)
#: The channels an agent can declare, by letter.
CHANNELS: Mapping[str, str] = {
    "M": "model requests and replies",
    "T": "tool executions",
    "E": "the agent's own AG-UI events",
    "R": "its result: how the run ended, and the text",
    "U": "usage reports",
    "L": "log records",
}
#: Every kind of outcome there is.
OUTCOMES = frozenset(
    {
        *("answered", "limit", "empty", "overflow", "truncated", "filtered", "model_error", "tool_error"),
        *("guard", "gate", "unverified", "interrupted", "waiting", "refused", "error"),
    }
)
#: What an agent can declare to be able to do, beyond the loop itself. Undeclared, the clauses about it do not apply.
CAPABILITIES: Mapping[str, str] = {
    "approval": "waits for a person before tools that need one, and resumes with the answer",
    "callbacks": "reports its hooks as CUSTOM conformance.callback events",
    "cancel": "a run can be cancelled",
    "circuit_breaker": "refuses a tool after failures: {kind, threshold, window_s, recovery_s}",
    "compaction": "checks a request's size before it goes out, and shrinks the history",
    "completion_gate": "asks for evidence before it finishes: {retries}",
    "concurrent_runs": "takes a second run while one is open",
    "guards": "caps on what a run may do: {max_tool_calls, max_same_call, token_budget}",
    "records": "reports its steps as CUSTOM conformance.record events",
    "retries": "a bound on HTTP retries: {http}",
    "sessions": "keeps the history of a session, so that a later run is sent only what is new",
    "streaming": "can run streamed, which is a cell of its own",
    "subagents": "runs agents inside a run",
    "tool_choice": "takes a forced tool choice",
    "tool_timeout": "gives up on a tool: {seconds, retries}",
    "wire_streaming": "asks its model for streamed replies",
}


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a capability: what each may be, which of them it needs, and an example that is allowed."""

    each: Mapping[str, Callable[[Any], bool]]
    needs: tuple[str, ...]
    example: Mapping[str, Any]
    #: Whether one of them is enough, whichever.
    any_of: bool = False


def _seconds(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _some_seconds(value: Any) -> bool:
    return _seconds(value) and value > 0


def _cap(value: Any) -> bool:
    # `caller`: none of the agent's own, so that it holds only what the caller sets.
    return value == "caller" or _whole(value)


#: The figures that a capability has to be declared with; one that is not here is true or false.
FIGURES: Mapping[str, Figures] = {
    "circuit_breaker": Figures(
        {"kind": _text, "threshold": _some, "window_s": _seconds, "recovery_s": _seconds},
        ("kind", "threshold", "recovery_s"),
        {"kind": "consecutive", "threshold": 5, "window_s": 60, "recovery_s": 30},
    ),
    "completion_gate": Figures({"retries": _whole}, ("retries",), {"retries": 1}),
    "guards": Figures(
        dict.fromkeys(("max_tool_calls", "max_same_call", "token_budget"), _cap),
        (),
        {"max_tool_calls": 50, "max_same_call": 3},
        any_of=True,
    ),
    "retries": Figures({"http": _whole}, ("http",), {"http": 2}),
    "tool_timeout": Figures(
        {"seconds": _some_seconds, "retries": _whole}, ("seconds", "retries"), {"seconds": 30, "retries": 0}
    ),
}

BY_NAME: Mapping[str, Key] = {key.name: key for key in KEYS}


@dataclass(frozen=True, slots=True)
class Dialect:
    """A normalised dialect: every key has a value, and `on_limit` agrees with its two parts. Build it with `dialect()`."""

    on_limit: str = "summarize"
    limit_text: str = "model"
    limit_terminal: str = "finished"
    limit_marker: str = "raw"
    marker_name: str | None = None
    summary_tools: str = "none"
    summary_failure: str = "fallback"
    default_max_iters: int | str = 10
    limit_unit: str = "rounds"
    last_round_tools: str = "run"
    retry_budget: str = "free"
    empty_is: tuple[str, ...] = EMPTY_SHAPES
    empty_response: Any = field(default_factory=lambda: {"retry_then_error": 1})
    recovery_scope: str = "round"
    prompt_too_long: Any = field(default_factory=lambda: {"compact_then_error": 1})
    model_error: str = "error"
    length_stop: str = "error"
    http_retry: str = "transient"
    unknown_tool: str = "observe"
    bad_arguments: str = "observe"
    tool_exception: str = "observe"
    type_check: str = "loop"
    extra_args: str = "refuse"
    bad_ids: str = "repair"
    parallel_tools: str = "concurrent"
    tool_history: str = "messages"
    answer_by: str = "text"
    final_text: str = "last_reply"
    events: str = "native"
    reasoning_events: str = "on"
    usage_events: str = "per_call"
    on_guard: str = "stop"
    listener_errors: str = "isolated"
    side_calls: Mapping[str, Any] = field(default_factory=dict)
    exceptions: Mapping[str, str] = field(default_factory=dict)

    @property
    def empty_retries(self) -> int:
        """How often an empty reply may be retried."""
        return _count(self.empty_response, "retry_then_error")

    @property
    def compactions(self) -> int:
        """How often an overflow may be answered by a smaller request."""
        return _count(self.prompt_too_long, "compact_then_error")

    def data(self) -> dict[str, Any]:
        """The dialect as plain JSON, for a recording's header; `dialect()` reads it back."""
        values = {name: getattr(self, name) for name in BY_NAME}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    def with_value(self, key: str, value: Any) -> "Dialect":
        """The dialect with one key declared otherwise, normalised again."""
        # The shorthand and its parts say the same: whichever is not the one that changes has to follow.
        follows = ("limit_text", "limit_terminal") if key == "on_limit" else ("on_limit",)
        return dialect({name: old for name, old in self.data().items() if name not in follows} | {key: value})


def dialect(declared: Mapping[str, Any]) -> Dialect:
    """
    The normalised dialect of what an agent declares; keys that are not declared take the recommended value.

    Raises:
        DialectError: an unknown key, or a value its key does not allow.
    """
    for name, value in declared.items():
        key = BY_NAME.get(name)
        if key is None:
            near = difflib.get_close_matches(str(name), BY_NAME, n=1)
            guess = f"; did you mean {near[0]!r}?" if near else "."
            raise DialectError(f"dialect: unknown key {name!r}{guess} Known keys: {', '.join(BY_NAME)}")
        if not key.allows(value):
            raise DialectError(f"dialect: {name} is {value!r}, expected {_expected(key)}")
    parts = ON_LIMIT.get(declared.get("on_limit", "summarize"), ON_LIMIT["summarize"])
    values = {"limit_text": parts[0], "limit_terminal": parts[1]} | dict(declared)
    pair = (values["limit_text"], values["limit_terminal"])
    values["on_limit"] = next((name for name, both in ON_LIMIT.items() if both == pair), "other")
    for name, one in (("empty_response", "retry_then_error"), ("prompt_too_long", "compact_then_error")):
        # No second try and then an error is the error.
        if values.get(name) == {one: 0}:
            values[name] = "error"
    if "empty_is" in values:
        values["empty_is"] = tuple(shape for shape in EMPTY_SHAPES if shape in values["empty_is"])
    return Dialect(**values)


def declaration(said: Mapping[str, Any], channels: Collection[str], capabilities: Mapping[str, Any]) -> Dialect:
    """
    The dialect of a whole declaration, which must not contradict itself.

    Raises:
        DialectError: a key or a value that there is not, or what `contradictions` finds.
    """
    normal = dialect(said)
    wrong = next(contradictions(said, channels, capabilities), None)
    if wrong is not None:
        raise DialectError(wrong)
    return normal


def contradictions(
    said: Mapping[str, Any], channels: Collection[str], capabilities: Mapping[str, Any]
) -> Iterator[str]:
    """
    Where a declaration cannot be true whatever the agent does, each in a sentence.

    A key that is read under another value only, such as summary_tools under limit_text none, says nothing and is none.
    """
    if said.get("on_limit") == "other" and not {"limit_text", "limit_terminal"} <= set(said):
        yield "dialect: on_limit is 'other', expected limit_text and limit_terminal beside it, which say what it is"
    if said.get("events") == "none" and "E" in channels:
        yield "dialect: events is 'none', and channel E is declared; leave out E, or declare events: native or translated"
    for name, kind in (said.get("exceptions") or {}).items():
        if kind not in OUTCOMES:
            near = difflib.get_close_matches(kind, OUTCOMES, n=1)
            guess = f"; did you mean {near[0]!r}?" if near else "."
            kinds = ", ".join(sorted(OUTCOMES))
            yield f"dialect: exceptions says that {name} means {kind!r}, which is no outcome{guess} Expected one of {kinds}"
    for name, value in capabilities.items():
        yield from _figures(name, value)


def _figures(name: str, value: Any) -> Iterator[str]:
    figures = FIGURES.get(name)
    if value is None or value is False:
        return
    if figures is None:
        if value is not True:
            yield f"capability {name!r} is {value!r}, expected true or false: it has no figures"
        return
    expected = f"expected {'one or more' if figures.any_of else 'all'} of {', '.join(figures.each if figures.any_of else figures.needs)}"
    write = f"write for example {name}: {dict(figures.example)}"
    if not isinstance(value, Mapping) or not value:
        yield f"capability {name!r} is {value!r}, {expected}, as without its figures nothing can be held against it; {write}"
        return
    for odd in (one for one in value if one not in figures.each):
        yield f"capability {name!r} has the figure {odd!r}, which there is not; it has {', '.join(figures.each)}"
    for lacking in (one for one in figures.needs if one not in value):
        yield f"capability {name!r} lacks its figure {lacking!r}, {expected}; {write}"
    for one, fits in figures.each.items():
        if one in value and not fits(value[one]):
            yield f"capability {name!r} has {one} {value[one]!r}, which it cannot be; {write}"


def _expected(key: Key) -> str:
    plain = ", ".join(str(value) for value in key.values if isinstance(value, str | int))
    return f"{plain} ({key.help})" if plain else key.help


def _count(value: Any, name: str) -> int:
    return int(value[name]) if isinstance(value, Mapping) else 0
