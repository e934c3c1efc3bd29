"""Answers that are calls: the tool that is offered for them, and when such a call is the run's answer. Pure; ends no run."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from conformance.dialect import Dialect
from conformance.reference.acting import Refused, not_run
from conformance.reference.hearing import Said
from conformance.reference.steps import Execution

#: What the model reads of the call that was its answer.
TAKEN = "The answer was given to the user."


def tools(dialect: Dialect) -> list[dict[str, Any]]:
    """The tool that the model answers by, as AG-UI spells tools; none where a text is the answer."""
    name, argument = _spelled(dialect)
    if not name:
        return []
    parameters = {
        "type": "object",
        "properties": {argument: {"type": "string", "description": "What the user gets to read."}},
        "required": [argument],
    }
    return [
        {"name": name, "description": "Gives the user the final answer and ends the run.", "parameters": parameters}
    ]


def kept_back(one: Execution | Refused, dialect: Dialect) -> Execution | Refused:
    """A call of that tool as an answer that was not taken yet, which is nothing to run; any other call as it is."""
    name, argument = _spelled(dialect)
    if not isinstance(one, Execution) or not name or one.tool != name:
        return one
    return Refused("answer", str(one.arguments[argument]))


def settled(said: Said, came: Sequence[Any]) -> tuple[list[Any], str | None]:
    """
    What came of the calls of a reply, with its answers settled, and the answer that stands.

    The last one stands, wherever it is, once all its siblings came to a good end: what failed or never ran is for the model to
    read first. It answered without knowing.
    """
    answers = [at for at, one in enumerate(came) if _is_answer(one)]
    if not answers:
        return list(came), None
    open_calls = [
        call.tool
        for call, one in zip(said.calls, came, strict=True)
        if isinstance(one, Refused) and not _is_answer(one)
    ]
    stands = answers[-1] if not open_calls else None
    why = f"read first what came of {', '.join(open_calls)}" if open_calls else "a later one took its place"
    told = not_run(f"the answer was not taken: {why}")
    return (
        [
            one if at not in answers else replace(one, text=TAKEN) if at == stands else told
            for at, one in enumerate(came)
        ],
        None if stands is None else came[stands].text,
    )


def _is_answer(one: Any) -> bool:
    return isinstance(one, Refused) and one.cause == "answer"


def _spelled(dialect: Dialect) -> tuple[str, str]:
    name, _, argument = dialect.answer_by.removeprefix("tool:").rpartition(".")
    return name, argument
