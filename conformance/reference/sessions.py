"""What a session holds to: one run at a time, and no history that a model would refuse, whoever stored it."""

from collections.abc import Callable, Iterator, Sequence

from conformance.reference.acting import not_run
from conformance.reference.history import Message
from conformance.reference.run import Session

#: What the model reads of a stored call without its result: whoever stored it may have been stopped before or behind the deed.
UNKNOWN = not_run("no result of this call was kept, so it is not known whether it was run").text


def one_each() -> Callable[[], Session]:
    """What opens the sessions of one agent: each is its own."""
    return Session


def entered(session: Session, run: str) -> bool:
    """Whether a run may begin: only where none goes on. Of runs that come at once one enters, without a lock."""
    session.open.append(run)
    if session.open[0] == run:
        return True
    left(session, run)
    return False


def left(session: Session, run: str) -> None:
    """A run is over."""
    if run in session.open:
        session.open.remove(run)


def repaired(messages: Sequence[Message]) -> list[Message]:
    """Messages as a caller sent them, with one result right behind each call and none without its call; sound ones stay as they are."""
    return list(_repaired(messages))


def _repaired(messages: Sequence[Message]) -> Iterator[Message]:
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            continue
        yield message
        for call in message.get("tool_calls", ()):
            yield _result(call["id"], messages[at + 1 :])


def _result(call_id: str, behind: Sequence[Message]) -> Message:
    """The first result of the call behind it, before its id is used again."""
    for message in behind:
        if any(call["id"] == call_id for call in message.get("tool_calls", ())):
            break
        if message.get("tool_call_id") == call_id:
            return message
    return {"role": "tool", "tool_call_id": call_id, "content": UNKNOWN}
