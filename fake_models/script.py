"""The script as a pure state machine: one cursor, in order, never searching ahead. No clock, no I/O, no wire."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fake_models.matching import When
from fake_models.messages import Cut, EmptyShape, Stall, Stop, Usage

#: `Turn.repeat` of a turn that is never used up.
FOREVER = -1


@dataclass(frozen=True, slots=True)
class CallTurn:
    """A call to make. Exactly one of `args` (may hold templates) and `raw` is set; neither means `{}`. `id`: None = a fresh one."""

    name: str
    args: Mapping[str, Any] | None = None
    raw: str | None = None
    id: str | None = None
    id_shape: Literal["given", "fresh", "missing", "empty"] = "fresh"


@dataclass(frozen=True, slots=True)
class ErrorTurn:
    """`error:` of a turn. What is None is filled in by the provider's usual words for that status."""

    status: int
    code: str | None = None
    type: str | None = None
    message: str | None = None
    retry_after_s: float | None = None
    body: Any = None


@dataclass(frozen=True, slots=True)
class Turn:
    """
    One step of a script: what the model says (`say`, `think`, `answer`, `calls`, `empty`, `stop`, `usage`), or how it fails
    (`error`, `overflow`), how the reply is `broken` on its way, and when the turn is played (`when`, `optional`, `repeat`,
    `wait_s`). `repeat` is a count or FOREVER. `stop` None: `tool_calls` with calls, else `stop`.
    """

    say: str | None = None
    think: str | None = None
    answer: str | None = None
    calls: tuple[CallTurn, ...] = ()
    empty: EmptyShape | None = None
    stop: Stop | None = None
    usage: Usage | None = None
    error: ErrorTurn | None = None
    overflow: Literal["code", "openai", "anthropic", "unknown", "length"] | None = None
    broken: Cut | Stall | None = None
    when: When | None = None
    optional: bool = False
    repeat: int = 1
    wait_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Script:
    """The turns of one run."""

    turns: tuple[Turn, ...]
