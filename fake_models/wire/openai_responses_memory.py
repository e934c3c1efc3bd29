"""How a Responses request goes on from a stored response, or names an item of one. Pure; stores nothing itself."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fake_models.wire.memory import Earlier, Fields, Items, Kept, Memory

#: The key that names the response which a request goes on from.
CONTINUES = "previous_response_id"


def is_reference(item: Mapping[str, Any]) -> bool:
    """Whether an item only names one that the provider has stored; such items may leave their type out."""
    kind = item.get("type")
    return kind == "item_reference" or (kind is None and "id" in item and "role" not in item)


def kept(body: Fields, reply: Callable[[], Fields]) -> Kept:
    """
    The response, as all input and output up to it, and each item that it says; nothing if it is not to be stored.

    Instructions and tools are a request's own and are not kept.
    """
    if body.get("store") is False:
        return {}
    response = reply()
    said = response["output"]
    conversation = (*(item for item in _given(body) if isinstance(item, dict)), *said)
    return {**{item["id"]: (item,) for item in said}, response["id"]: tuple(map(_earlier, conversation))}


def resumed(body: Fields, known: Kept) -> Fields:
    """The request with its conversation from the start and every item in place of its name; itself if it names nothing known."""
    earlier = _found(body.get(CONTINUES), known)
    given = _given(body)
    items = [found for item in given for found in _items(item, known)]
    if earlier is None:
        return body if items == given or "input" not in body else {**body, "input": items}
    rest = {key: value for key, value in body.items() if key != CONTINUES}
    # Without any input it is refused for that.
    return {**rest, "input": [*earlier, *items]} if "input" in body else rest


def _earlier(item: Fields) -> Earlier:
    # Conversations share what they have in common.
    return item if isinstance(item, Earlier) else Earlier(item)


def _given(body: Fields) -> list[Any]:
    """The input as a list, as which it may be sent; what is no input is none."""
    given = body.get("input")
    if isinstance(given, str) and given:
        return [{"role": "user", "content": given}]
    return list(given) if isinstance(given, list | tuple) else []


def _items(item: Any, known: Kept) -> Iterator[Any]:
    found = _found(item.get("id"), known) if isinstance(item, dict) and is_reference(item) else None
    yield from (item,) if found is None else found


def _found(name: Any, known: Kept) -> Items | None:
    return known.get(name) if isinstance(name, str) else None


MEMORY = Memory(kept, resumed)
