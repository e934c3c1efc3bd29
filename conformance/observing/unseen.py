"""What no recording decides of a dialect, each with the reason: the other half of the table in `observers`."""

from collections.abc import Mapping
from types import MappingProxyType

#: Keys without an observer.
UNSEEN: Mapping[str, str] = MappingProxyType(
    {
        "on_limit": "It is the shorthand for limit_text and limit_terminal, and these two are what is seen.",
        "limit_unit": "What a framework's own knob counts is settled between it and its adapter; a recording holds the "
        "rounds that came of it.",
        "events": "Events that an adapter made look like those that an agent sends itself, and that none came is RUN-1's.",
        "side_calls": "A call beside the loop looks like one of the loop; only the agent knows by what to tell it, and one "
        "that it marks by a header needs no declaration.",
    }
)

#: Values that an observer of their key cannot show.
UNSHOWN: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        (
            "default_max_iters",
            "unlimited",
        ): "A run that only the scenario's cap ended may have a limit of its own beyond it.",
        (
            "parallel_tools",
            "sequential",
        ): "Quick tools can end one after the other though they were started together, so that only an overlap shows anything.",
        (
            "parallel_tools",
            "read_only",
        ): "No scenario says which tools only read, so that an overlap is as much one of `concurrent`.",
    }
)
