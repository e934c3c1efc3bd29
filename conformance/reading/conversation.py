"""A request's messages as what they mean: texts, and calls with their results. Knows no ids, no wire, no system text."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from conformance.reading.pairing import Paired, arguments
from conformance.reading.view import Call

#: How models mark thoughts that travel in a text. An agent may leave them out of what it sends back.
_THOUGHT = re.compile(r"<(think|thinking|thought|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_INSTRUCTIONS = ("system", "developer")


@dataclass(frozen=True, slots=True)
class Said:
    """
    One thing that a request says; `index` is the message it begins at.

    `kind` is `call`, or the role of a text (`tool`: a result whose call is not there). `text` is without white space, since
    agents join and split blocks; of a call it is what its results say. `shown` is the same with all its white space. `name` and
    `arguments` are a call's.
    """

    kind: str
    index: int
    text: str
    shown: str
    name: str = ""
    arguments: Any = None
    paired: Paired | None = None

    def __str__(self) -> str:
        """How findings name it."""
        what = f"call of {self.name} with its result" if self.kind == "call" else f"{self.kind} text"
        shown = json.dumps(self.shown, ensure_ascii=False)
        return f"the {what} {shown if len(shown) <= 80 else shown[:80] + '…'}"


def conversation(call: Call, thoughts: Iterable[str] = ()) -> tuple[Said, ...]:
    """What a request says in order, neighbouring texts of one role joined. `thoughts` are texts that the model only thought."""
    said: list[Said] = []
    hidden = tuple(squeezed(one) for one in thoughts)
    for one in _parts(call):
        heard = one
        for thought in hidden if one.kind == "assistant" else ():
            heard = replace(heard, text=heard.text.replace(thought, ""))
        if heard.kind != "call" and not heard.text:
            continue
        if said and heard.kind == said[-1].kind and heard.kind not in ("call", "tool"):
            said[-1] = replace(said[-1], text=said[-1].text + heard.text, shown=f"{said[-1].shown}\n{heard.shown}")
        else:
            said.append(heard)
    return tuple(said)


def squeezed(text: str) -> str:
    """A text without thoughts that are marked as such and without white space."""
    return "".join(_THOUGHT.sub("", text).split())


def same_text(one: str, other: str) -> bool:
    """Whether two texts say the same: equal but for white space, or equal JSON."""
    return squeezed(one) == squeezed(other) or (one[:1] in ("{", "[") and arguments(one) == arguments(other))


def _parts(call: Call) -> Iterator[Said]:
    pairs = call.paired
    orphans = {orphan.result.index for orphan in pairs.orphans}
    for index, message in enumerate(call.request.messages):
        if message.role not in _INSTRUCTIONS and (message.role != "tool" or index in orphans):
            yield Said(message.role, index, squeezed(message.content or ""), message.content or "")
        for one in pairs.calls:
            if one.index == index:
                given = arguments(one.call.arguments)
                yield Said("call", index, squeezed(one.content), one.content, one.call.name, given, one)
