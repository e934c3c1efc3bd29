"""
Keeps this process when an agent in it would end it, by `os._exit` or by becoming another program.

Either leaves nothing behind that could give a verdict, and an exit code of the agent's choice.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

#: What ends a process at once. All others of `os` that do so go by one of these.
_ENDS = ("_exit", "execv", "execve")


@contextlib.contextmanager
def withheld() -> Iterator[list[str]]:
    """
    Until the block ends, each of them raises SystemExit instead, on whichever thread; gives the list in which they are told.

    A process that was forked from this one is free to end.
    """
    told: list[str] = []
    kept = {name: getattr(os, name) for name in _ENDS}
    for name, end in kept.items():
        setattr(os, name, _instead(name, end, os.getpid(), told))
    try:
        yield told
    finally:
        for name, end in kept.items():
            setattr(os, name, end)


def fixed(code: int) -> None:
    """From now on each of them ends this process with this exit code, whatever it is given: the verdict has been told."""
    here, end = os.getpid(), os._exit

    def instead(kept: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return kept(*args, **kwargs) if os.getpid() != here else end(code)

    for name in _ENDS:
        setattr(os, name, partial(instead, getattr(os, name)))


def _instead(name: str, end: Callable[..., Any], here: int, told: list[str]) -> Callable[..., Any]:
    def instead(*args: Any, **kwargs: Any) -> Any:
        if os.getpid() != here:
            return end(*args, **kwargs)
        said = f"os.{name} was called, which would have ended the kit's own process"
        told.append(said)
        raise SystemExit(said)

    return instead
