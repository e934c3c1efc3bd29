"""One refusal of a provider as data, and those of one wire. Pure; knows no wire and sends nothing."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fake_models.messages import ErrorReply

#: Answer with the error, only report, or do nothing.
Mode = Literal["enforce", "observe", "off"]
Fields = Mapping[str, Any]
#: Finds every breach in a body as its wire reads it, and names what the row's texts need to tell of it. Never raises.
Check = Callable[[Any], Iterator[Fields]]


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a request beside its body: the model it asks, and the ids of the calls that came with a thought."""

    model: str = ""
    thoughts: Collection[str] = ()


#: Where several wires' texts were captured.
CAPTURED = "validation parity table of kangminlee-maker/local-OAuth-CLI-API-adapter, direct observations 2026-08-30 to 2026-09-04"


@dataclass(frozen=True, slots=True)
class ProviderRule:
    """
    One refusal. `message` and `param` are format strings over the fields that `check` names.

    `id` is unique within its wire. `source` says where the text was seen. A row whose mode is `off` is kept because the
    refusal is real, though no loop can be blamed for it. `about` is what a body must have, as its wire's `WireRules.has` tells,
    for the row to find anything in it; without it the row always looks. `only` says of a finding whether it counts, where that
    hangs on what the body does not tell.
    """

    id: str
    wire: str
    status: int
    type: str
    code: str | None
    param: str | None
    message: str
    source: str
    confidence: Literal["A", "B"]
    mode: Mode
    check: Check
    about: str | None = None
    only: Callable[[Fields, Known], bool] | None = None


@dataclass(frozen=True, slots=True)
class WireRules:
    """
    What one wire's provider refuses, in the order in which it looks.

    `read` makes of a raw body what the checks look at, so that what several of them need is found once; it never raises.
    `has` names what stands in such a body, for the rows that are about that alone.
    """

    wire: str
    read: Callable[[Fields], Any]
    rules: tuple[ProviderRule, ...]
    has: Callable[[Any], Collection[str]] = lambda _: ()


@dataclass(frozen=True, slots=True)
class Breach:
    """A request that broke a rule, in the provider's words, and what is to be done about it."""

    rule: ProviderRule
    message: str
    param: str | None
    mode: Mode


def refusal(breach: Breach) -> ErrorReply:
    """Give the provider's answer to the breach."""
    rule = breach.rule
    return ErrorReply(rule.status, breach.message, type=rule.type, code=rule.code, param=breach.param)
