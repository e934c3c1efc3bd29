"""Faults of what the user is shown: each takes what an honest run shows and spoils it. Says nothing about why."""

from collections.abc import Callable, Iterable
from typing import Any

from conformance.reference.events import MARKER
from conformance.reference.run import Run, Shown

Item = Any


def spoiled(change: Callable[[dict[str, Any]], Iterable[Item]]) -> Callable[[Run], Shown]:
    """A fault that looks at one event at a time; the outcome goes by untouched."""

    def shown(_run: Run) -> Shown:
        return lambda item: change(item) if isinstance(item, dict) else (item,)

    return shown


def without(*types: str) -> Callable[[Run], Shown]:
    """Events of these types are never sent."""
    return spoiled(lambda event: () if event["type"] in types else (event,))


def with_field(kind: str, **fields: Any) -> Callable[[Run], Shown]:
    """Events of this type carry these fields too, or instead."""
    return spoiled(lambda event: ({**event, **fields},) if event["type"] == kind else (event,))


def without_field(kind: str, field: str) -> Callable[[Run], Shown]:
    """Events of this type lack a field."""
    return spoiled(lambda event: ({k: v for k, v in event.items() if k != field or event["type"] != kind},))


def twice(kind: str) -> Callable[[Run], Shown]:
    """Events of this type are sent twice."""
    return spoiled(lambda event: (event, event) if event["type"] == kind else (event,))


def _reopened(event: dict[str, Any]) -> Iterable[Item]:
    yield event
    if event["type"] == "TEXT_MESSAGE_END":
        yield {"type": "TEXT_MESSAGE_START", "messageId": event["messageId"], "role": "assistant"}
        yield event


def _renamed_result(event: dict[str, Any]) -> Iterable[Item]:
    changed = {"toolCallId": f"{event['toolCallId']}-result"} if event["type"] == "TOOL_CALL_RESULT" else {}
    return ({**event, **changed},)


def _failure_as_success(event: dict[str, Any]) -> Iterable[Item]:
    is_failure = event["type"] == "TOOL_CALL_RESULT" and event["content"].startswith("Error: ")
    return ({**event, "content": "done"} if is_failure else event,)


def _thinking_as_text(event: dict[str, Any]) -> Iterable[Item]:
    if not event["type"].startswith("REASONING_MESSAGE_"):
        return (event,)
    role = {"role": "assistant"} if "role" in event else {}
    return ({**event, "type": event["type"].replace("REASONING_MESSAGE_", "TEXT_MESSAGE_"), **role},)


def _spanned(event: dict[str, Any]) -> Iterable[Item]:
    if event["type"] == "REASONING_MESSAGE_START":
        yield {"type": "REASONING_START", "messageId": f"{event['messageId']}-span"}
    yield event
    if event["type"] == "REASONING_MESSAGE_END":
        yield {"type": "REASONING_END", "messageId": f"{event['messageId']}-span"}


def _bare_marker(event: dict[str, Any]) -> Iterable[Item]:
    return ({**event, "event": {"type": MARKER}} if event["type"] == "RAW" else event,)


def _marker_as_a_sentence(event: dict[str, Any]) -> Iterable[Item]:
    return ({**event, "value": "the limit was reached"} if event.get("name") == MARKER else event,)


def _marker_counts_nothing(event: dict[str, Any]) -> Iterable[Item]:
    return ({**event, "event": {**event["event"], "currentIter": 0}} if event["type"] == "RAW" else event,)


def marker_counts_the_session(run: Run) -> Shown:
    """The marker says how many rounds all runs of the session made."""
    return spoiled(lambda event: _counting(event, sum("tool_calls" in one for one in run.session.messages)))(run)


def _counting(event: dict[str, Any], rounds: int) -> Iterable[Item]:
    return ({**event, "event": {**event["event"], "currentIter": rounds}} if event["type"] == "RAW" else event,)


reopened = spoiled(_reopened)
renamed_result = spoiled(_renamed_result)
failure_as_success = spoiled(_failure_as_success)
thinking_as_text = spoiled(_thinking_as_text)
spanned = spoiled(_spanned)
bare_marker = spoiled(_bare_marker)
marker_as_a_sentence = spoiled(_marker_as_a_sentence)
marker_counts_nothing = spoiled(_marker_counts_nothing)
no_marker = without("RAW")


def whole_text_again(_run: Run) -> Shown:
    """The deltas of a message, and then all of it once more."""
    said: list[str] = []

    def show(item: Item) -> Iterable[Item]:
        kind = item["type"] if isinstance(item, dict) else ""
        if kind == "TEXT_MESSAGE_CONTENT":
            said.append(item["delta"])
        if kind == "TEXT_MESSAGE_END":
            yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": item["messageId"], "delta": "".join(said)}
            said.clear()
        yield item

    return show


def _held(
    first: str, until: Callable[[Item], bool], *, lost: Callable[[Item], bool], after: bool
) -> Callable[[Run], Shown]:
    """Events of the type `first` wait for one that `until` accepts: they go out before or after it, or are lost at it."""

    def shown(_run: Run) -> Shown:
        waiting: list[Item] = []

        def show(item: Item) -> Iterable[Item]:
            if isinstance(item, dict) and item["type"] == first:
                waiting.append(item)
                return
            let_go = tuple(waiting) if until(item) else ()
            if let_go:
                waiting.clear()
            if lost(item):
                let_go = ()
            yield from () if after else let_go
            yield item
            yield from let_go if after else ()

        return show

    return shown


def _never(_item: Item) -> bool:
    return False


def _is(*types: str) -> Callable[[Item], bool]:
    return lambda item: isinstance(item, dict) and item["type"] in types


result_before_end = _held("TOOL_CALL_END", _is("TOOL_CALL_RESULT"), lost=_never, after=True)
marker_late = _held("RAW", lambda _item: True, lost=_never, after=False)
open_at_the_error = _held("TEXT_MESSAGE_END", lambda item: not _is("CUSTOM")(item), lost=_is("RUN_ERROR"), after=False)


def no_usage_after_the_marker(_run: Run) -> Shown:
    """What the summary cost is not told."""
    marked: list[Item] = []

    def show(item: Item) -> Iterable[Item]:
        if _is("RAW")(item):
            marked.append(item)
        return () if marked and _is("CUSTOM")(item) else (item,)

    return show


def of_the_first_run(run: Run) -> Shown:
    """Every event that names a run names the session instead."""
    return spoiled(lambda event: ({**event, "runId": run.thread} if "runId" in event else event,))(run)


def last_step_again(_run: Run) -> Shown:
    """At the limit the result of the last call is shown once more."""
    told: list[Item] = []

    def show(item: Item) -> Iterable[Item]:
        if _is("TOOL_CALL_RESULT")(item):
            told[:] = [item]
        if _is("RAW")(item):
            yield from told
        yield item

    return show


def call_under_two_ids(_run: Run) -> Shown:
    """Each call is shown as it is spelled, and once more under another id when it is whole."""
    told: list[Item] = []

    def show(item: Item) -> Iterable[Item]:
        yield item
        if _is("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END")(item):
            told.append({**item, "toolCallId": f"{item['toolCallId']}-whole"})
        if _is("TOOL_CALL_END")(item):
            yield from told
            told.clear()

    return show


def _again_without_arguments(event: dict[str, Any]) -> Iterable[Item]:
    yield event
    if event["type"] == "TOOL_CALL_RESULT":
        yield {"type": "TOOL_CALL_START", "toolCallId": event["toolCallId"], "toolCallName": "the same"}
        yield {"type": "TOOL_CALL_END", "toolCallId": event["toolCallId"]}


def one_message_for_all_texts(_run: Run) -> Shown:
    """Every text of the run is shown as one message, and the calls between them are not."""
    opened: list[str] = []

    def show(item: Item) -> Iterable[Item]:
        kind = item["type"] if isinstance(item, dict) else ""
        if kind.startswith("TOOL_CALL_") or (kind == "TEXT_MESSAGE_START" and opened) or kind == "TEXT_MESSAGE_END":
            return
        if kind == "TEXT_MESSAGE_START":
            opened.append(item["messageId"])
        if kind == "RUN_FINISHED":
            yield from ({"type": "TEXT_MESSAGE_END", "messageId": one} for one in opened)
        yield {**item, "messageId": opened[0]} if kind == "TEXT_MESSAGE_CONTENT" else item

    return show


again_without_arguments = spoiled(_again_without_arguments)
closed_behind_the_end = _held("TEXT_MESSAGE_END", _is("RUN_ERROR", "RUN_FINISHED"), lost=_never, after=True)
unknown_left_open = _held(
    "TOOL_CALL_END",
    _is("TOOL_CALL_RESULT", "RUN_FINISHED"),
    lost=lambda item: _is("TOOL_CALL_RESULT")(item) and item["content"].startswith("Error: UnknownTool"),
    after=False,
)


def only_the_last_usage(_run: Run) -> Shown:
    """Reports of usage wait for the run's end, and the last of them goes out alone."""
    told: list[Item] = []

    def show(item: Item) -> Iterable[Item]:
        if _is("CUSTOM")(item) and item["name"] == "token_usage":
            told[:] = [item]
            return
        if _is("RUN_FINISHED", "RUN_ERROR")(item):
            yield from told
        yield item

    return show
