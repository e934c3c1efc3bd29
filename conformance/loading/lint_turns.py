"""What a turn of a script gets wrong by itself: quirks that exclude each other or have nothing to change, a false finish. Pure."""

from collections.abc import Callable, Iterator, Mapping

from conformance.errors import Path
from fake_models.messages import Stop
from fake_models.script import Turn
from fake_models.wire import CODECS

#: Quirks of which a reply can have one.
EITHER = (
    frozenset({"index_zero", "no_index"}),
    frozenset({"ids_empty", "ids_repeated", "names_repeated"}),
    frozenset({"usage_null", "usage_bare", "usage_cumulative", "usage_last"}),
)


def _calls(turn: Turn) -> int:
    # An answer is a call where the agent has a tool for it.
    return len(turn.calls) + (turn.answer is not None)


def _a_call(turn: Turn) -> bool:
    return _calls(turn) > 0


def _usage(turn: Turn) -> bool:
    return turn.usage is not None


#: What a turn must have for a quirk to change something, in words and as a question.
NEEDS: Mapping[str, tuple[str, Callable[[Turn], bool]]] = {
    "calls_whole": ("a call", _a_call),
    "calls_interleaved": ("two calls", lambda turn: _calls(turn) > 1),
    "duplicate_ids": ("two calls", lambda turn: _calls(turn) > 1),
    "finish_missing": ("no `finish`", lambda turn: turn.finish is None),
    "ids_empty": ("a call", _a_call),
    "ids_repeated": ("a call", _a_call),
    "index_zero": ("a call", _a_call),
    "names_repeated": ("a call", _a_call),
    "no_index": ("a call", _a_call),
    "text_after_calls": (
        "a text and a call",
        lambda turn: _a_call(turn) and (turn.say is not None or turn.answer is not None),
    ),
    "usage_bare": ("`usage`", _usage),
    "usage_cumulative": ("`usage`", _usage),
    "usage_last": ("`usage`", _usage),
    "usage_null": ("`usage`", _usage),
}

#: Finish reasons that some wire has a meaning for, and the stop reasons that they are true of.
WORDS: Mapping[str, tuple[Stop, ...]] = {
    "stop": ("stop",),
    "end_turn": ("stop",),
    "stop_sequence": ("stop",),
    "STOP": ("stop", "tool_calls"),
    "length": ("length",),
    "max_tokens": ("length",),
    "max_output_tokens": ("length",),
    "model_context_window_exceeded": ("length",),
    "MAX_TOKENS": ("length",),
    "content_filter": ("filter",),
    "refusal": ("filter",),
    "SAFETY": ("filter",),
    "RECITATION": ("filter",),
    "BLOCKLIST": ("filter",),
    "PROHIBITED_CONTENT": ("filter",),
    "SPII": ("filter",),
    "tool_calls": ("tool_calls",),
    "tool_use": ("tool_calls",),
    "function_call": ("tool_calls",),
}


def contradictions(turn: Turn) -> Iterator[tuple[Path, str]]:
    """Everything, each with its path from the turn."""
    for group in EITHER:
        if len(found := [name for name in turn.quirks if name in group]) > 1:
            message = f"{' and '.join(map(repr, found))} exclude each other; keep one of them"
            yield ("quirks", turn.quirks.index(found[1])), message
    for place, name in enumerate(turn.quirks):
        what, has = NEEDS.get(name, ("", lambda _: True))
        if not has(turn):
            yield ("quirks", place), f"{name!r} changes nothing here: it needs {what} in its turn"
    if not any(codec.quirks.keys() >= set(turn.quirks) for codec in CODECS.values()):
        yield ("quirks",), f"no wire has all of {', '.join(turn.quirks)}; give them to turns of their own"
    stop = turn.stop or ("tool_calls" if turn.calls else "stop")
    if stop not in (true := WORDS.get(turn.finish or "", (stop,))):
        message = f"came {turn.finish!r}, which says stop: {true[0]}, but this turn has stop: {stop}; write `stop: {true[0]}` as well"
        yield ("finish",), message
