"""What a provider keeps of conversations, so that a request may send only what is new. Pure; holds nothing itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any

Fields = Mapping[str, Any]
Items = tuple[Fields, ...]
#: What can be gone on from, by the id that a reply gave it: all of a conversation so far, or one item of a reply.
Kept = Mapping[str, Items]

NOTHING = MappingProxyType[str, Items]({})
#: How many of them a session keeps, the last ones: each holds a conversation, and a server's session may last for days. A provider
#: keeps them for weeks, but an agent goes on from what it heard last.
MOST = 512


class Earlier(dict[str, Any]):
    """An item that is there because the provider kept it: it stood in no place of the request that goes on from it."""


@dataclass(frozen=True, slots=True)
class Memory:
    """
    How a wire lets a request go on from an earlier reply.

    `kept` takes a request body as `resumed` gave it and what gives the whole body of its reply, and gives what is kept of them:
    nothing where the request says so. `resumed` takes a body as it was sent, and gives it as though it had been sent whole, with what
    was kept in it as `Earlier` items; what it names and nobody kept stays named. Neither ever raises, whatever a request holds.
    """

    kept: Callable[[Fields, Callable[[], Fields]], Kept]
    resumed: Callable[[Fields, Kept], Fields]


def remembered(before: Kept, new: Kept) -> Kept:
    """What is kept after one more reply: the new and, up to MOST of them all, the latest of those before."""
    after = {**before, **new}
    for name in list(islice(after, max(0, len(after) - MOST))):
        del after[name]
    return after
