"""The values that cross the model's border, free of any wire: requests, replies and their parts. No behaviour."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

Role = Literal["system", "developer", "user", "assistant", "tool"]
Stop = Literal["stop", "length", "filter", "tool_calls"]
#: How an empty reply looks: no text at all, a null text, white space only, thinking only.
EmptyShape = Literal["no_parts", "null", "blank", "thinking"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the model spelled it. `arguments` is raw text and may be no JSON; `id` None means that it was left out."""

    id: str | None
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Text:
    """Said text. None is an explicit null on the wire, which is not the same as no text."""

    text: str | None


@dataclass(frozen=True, slots=True)
class Thinking:
    """Thought text, which wires carry beside the answer."""

    text: str


Part = Text | Thinking | ToolCall

#: The parts of an empty reply, by its shape.
EMPTY: Mapping[EmptyShape, tuple[Part, ...]] = MappingProxyType(
    {
        "no_parts": (),
        "null": (Text(None),),
        "blank": (Text(" \n"),),
        "thinking": (Thinking("Let me think about this."),),
    }
)


@dataclass(frozen=True, slots=True)
class Message:
    """
    One message of a request, as the wire carried it.

    `content` is the joined text of all text parts, None where the key was null or absent.
    """

    role: str
    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as it was offered to the model."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class ModelRequest:
    """
    A request, decoded.

    `tools` None: the key was left out; `()`: an empty list was sent. `tool_choice` is None where the key was left out,
    else `auto`, `none`, `required` or a tool's name. `measured` gives `size`, which most never ask for.
    """

    wire: str
    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] | None = None
    tool_choice: str | None = None
    stream: bool = False
    include_usage: bool = False
    measured: Callable[[], int] = field(default=lambda: 0, compare=False, repr=False)

    @cached_property
    def size(self) -> int:
        """The bytes of the messages as compact JSON."""
        return self.measured()

    @property
    def callable_tools(self) -> tuple[str, ...]:
        """Names of the tools that the model could call: none where the choice is `none` or nothing was offered."""
        if self.tool_choice == "none":
            return ()
        return tuple(tool.name for tool in self.tools or ())


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that the model reports for one reply."""

    input: int
    output: int


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """
    An error in place of a reply; the wire's codec spells the body unless `body` is given.

    `retry_after_s` None: no header. 0 is sent as `Retry-After: 0` with `retry-after-ms: 1`, since the OpenAI SDK honours
    only values above zero and sleeps about half a second otherwise.
    """

    status: int
    message: str
    type: str | None = None
    code: str | None = None
    param: str | None = None
    retry_after_s: float | None = None
    body: Any = None


@dataclass(frozen=True, slots=True)
class Cut:
    """
    The connection ends after so many chunks or body bytes, cleanly or by reset. Exactly one of the two is set.

    Chunks are counted alike on every wire, in what they say, see `breaking.sent`; so in the other breaks.
    """

    after_chunks: int | None = None
    after_bytes: int | None = None
    reset: bool = False


@dataclass(frozen=True, slots=True)
class Stall:
    """The connection stays open and silent after so many chunks."""

    after_chunks: int = 0


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """A stream tells of an error after so many chunks, in its wire's words, and ends. Without a stream it is the error alone."""

    error: ErrorReply
    after_chunks: int = 0


@dataclass(frozen=True, slots=True)
class NoConnection:
    """No byte of an answer: the connection is refused, or, where it is there already, reset."""


Break = Cut | Stall | ErrorEvent | NoConnection


@dataclass(frozen=True, slots=True)
class Reply:
    """
    What the model says to one request.

    `error` excludes parts. `wait_s` is the scenario's time before the first byte, `pace_s` that between two chunks. `broken`
    is applied while the reply is written. `finish` is sent as the finish reason in place of the wire's word for `stop`.
    `quirks` names ways to stray from the wire, see `Codec.quirks`.
    """

    parts: tuple[Part, ...] = ()
    stop: Stop = "stop"
    usage: Usage | None = None
    error: ErrorReply | None = None
    broken: Break | None = None
    wait_s: float = 0.0
    pace_s: float = 0.0
    finish: str | None = None
    quirks: tuple[str, ...] = ()

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls in the order said."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


@dataclass(frozen=True, slots=True)
class Execution:
    """One finished execution of a tool, as templates see it. `value` is what the tool returned."""

    exec: str
    run: str
    tool: str
    call_id: str | None
    value: Any


@dataclass(frozen=True, slots=True)
class World:
    """
    What a script may look at beside the request: the clock, what tools returned, and how its host classes this request.

    `executions` are those of the session, oldest first. `calls_made` counts the tool calls the model made in this session,
    so that ids stay unique. `call` and `round` are the host's classification of the request being answered.
    `answer_by` is `text` or `tool:NAME.ARG`.
    """

    now: datetime
    run: str = "r1"
    executions: tuple[Execution, ...] = ()
    calls_made: int = 0
    call: str = "regular"
    round: int = 1
    answer_by: str = "text"
