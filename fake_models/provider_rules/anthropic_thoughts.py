"""How a request to Anthropic Messages gives back the model's thoughts, and what is wrong with it. Pure; sends nothing."""

from collections.abc import Iterator, Mapping

from fake_models.provider_rules.anthropic_body import Body, blocks, placed
from fake_models.provider_rules.rule import Fields, Known

#: Proves a thought to the provider when it comes back. Opaque to agents, who must return it as it is.
SIGNATURE = "c2lnbmF0dXJl"


def signature_missing(body: Body) -> Iterator[Fields]:
    """Thoughts without one."""
    for i, j, block in blocks(body.messages, "thinking"):
        if block.get("signature") is None:
            yield {"i": i, "j": j}


def signature_changed(body: Body) -> Iterator[Fields]:
    """Thoughts with another one than the wire gives, with the calls beside them."""
    for message in body.messages:
        call_ids = [block.get("id") for _, _, block in blocks([message], "tool_use")]
        for i, j, block in blocks([message], "thinking"):
            signature = block.get("signature")
            if isinstance(signature, str) and signature != SIGNATURE:
                yield {"i": i, "j": j, "signature": signature, "call_ids": call_ids}


def signed_here(fields: Fields, known: Known) -> bool:
    """Whether a changed signature was given here; in a conversation that began with another server it is that one's own."""
    return not fields["signature"] or thought_here(fields, known)


def left_out(body: Body) -> Iterator[Fields]:
    """Turns of the running loop that call tools and do not begin with a thought, where the request wants thoughts."""
    thinking = body.data.get("thinking")
    if not isinstance(thinking, Mapping) or thinking.get("type") != "enabled":
        return
    for turn in body.loop:
        call_ids = [block.get("id") for _, _, block in blocks(turn, "tool_use")]
        first = next(placed(turn), None)
        if first is not None and call_ids and first[2].get("type") not in ("thinking", "redacted_thinking"):
            yield {"i": first[0], "type": first[2].get("type"), "call_ids": call_ids}


def thought_here(fields: Fields, known: Known) -> bool:
    """Whether one of the calls came with a thought; a script's reply may call without one, whatever the request wants."""
    return any(isinstance(id_, str) and id_ in known.thoughts for id_ in fields["call_ids"])
