"""A scenario as values: what the user says, what the model and the tools will do, what is predicted. Reads no file, checks nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Literal

from fake_models.matching import when
from fake_models.messages import Cut, ErrorEvent, ErrorReply, NoConnection, Stall, Usage
from fake_models.personas import Persona
from fake_models.script import FOREVER, CallTurn, ErrorTurn, Script, Turn
from fake_models.tools import Hangs, Large, Outcome, Raises, Returns, Tool

#: Where in a run the kit can step in.
Point = Literal["stream", "before_tools", "in_tools", "after_tools"]
#: The scenario's clock where none is given.
DEFAULT_CLOCK = "2026-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Limits:
    """What the caller allows a run; None leaves it to the agent. `max_iters` counts rounds, `retries` further HTTP requests."""

    max_iters: int | None = None
    max_tool_calls: int | None = None
    max_same_call: int | None = None
    token_budget: int | None = None
    tool_timeout_s: float | None = None
    retries: int | None = None


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """The model's own traits. `context_window` is in tokens, counted by `estimator`; `persona` answers runs without turns."""

    context_window: int | None = None
    estimator: str = "bytes/4"
    persona: Persona | None = None


@dataclass(frozen=True, slots=True)
class Expect:
    """One block of predictions, used where all of `when` holds for the agent. `{}` holds for everyone."""

    when: Mapping[str, Any]
    predictions: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunSpec:
    """
    One run: either a `user` text or, where that is None, a `resume` payload for the run before it.

    `limits` and `tool_choice` are the scenario's with this run's put over them. `stream` None leaves it to the cell.
    `start` is `after` the run before has ended, or `with` it. `cancel` is the point at which the kit cancels, `kill` the one
    at which it kills the agent. `knobs` are the scenario's with this run's put over them.
    """

    user: str | None
    script: Script
    resume: Any = None
    session: str = "s1"
    limits: Limits = Limits()
    tool_choice: str | None = None
    stream: bool | None = None
    start: Literal["after", "with"] = "after"
    cancel: Point | None = None
    kill: Point | None = None
    knobs: Mapping[str, Any] = field(default_factory=dict)
    expect: tuple[Expect, ...] = ()


@dataclass(frozen=True)
class Scenario:
    """
    A whole scenario.

    `history` are AG-UI messages, each with an id. `deadline_s` is the longest silence, `cap` the most requests of one run.
    `data` is the scenario as plain JSON, as it was written: a recording carries it, and `scenario(data)` gives this value back.
    """

    id: str
    title: str
    why: str
    runs: tuple[RunSpec, ...]
    data: Mapping[str, Any]
    clock: datetime
    tags: tuple[str, ...] = ()
    exercises: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    limits: Limits = Limits()
    deadline_s: float = 5.0
    cap: int = 60
    system: str | None = None
    tool_choice: str | None = None
    model: ModelSpec = ModelSpec()
    history: tuple[Mapping[str, Any], ...] = ()
    tools: Mapping[str, Tool] = field(default_factory=dict)
    expect: tuple[Expect, ...] = ()

    @cached_property
    def looks_at_classes(self) -> bool:
        """Whether some turn asks for the class or the round of a call, which its host then has to work out."""
        whens = [turn.when for run in self.runs for turn in run.script.turns if turn.when is not None]
        return any(when.round is not None or when.call not in (None, "auxiliary", "compaction") for when in whens)


def scenario(data: Mapping[str, Any]) -> Scenario:
    """The scenario that this data spells. The data must hold to `schemas/scenario.schema.json`: the loader sees to that."""
    limits = Limits(**data.get("limits", {}))
    model = _model(data.get("model", {}))
    tools = {name: _tool(name, tool) for name, tool in data.get("tools", {}).items()}
    return Scenario(
        id=data["id"],
        title=data["title"],
        why=data["why"],
        runs=tuple(_run(run, data, limits, model.persona) for run in data["runs"]),
        data=data,
        clock=datetime.fromisoformat(data.get("clock", DEFAULT_CLOCK)),
        tags=tuple(data.get("tags", ())),
        exercises=tuple(data.get("exercises", ())),
        links=tuple(data.get("links", ())),
        limits=limits,
        model=model,
        history=tuple({"id": f"h{n}"} | dict(message) for n, message in enumerate(data.get("history", ()), start=1)),
        tools=tools,
        expect=_expect(data),
        **{key: data[key] for key in ("deadline_s", "cap", "system", "tool_choice") if key in data},
    )


def _model(data: Mapping[str, Any]) -> ModelSpec:
    traits = {key: data[key] for key in ("seed", "rate") if key in data}
    persona = Persona(data["persona"], **traits) if "persona" in data else None
    return ModelSpec(**{key: data[key] for key in ("context_window", "estimator") if key in data}, persona=persona)


def _run(data: Mapping[str, Any], whole: Mapping[str, Any], limits: Limits, persona: Persona | None) -> RunSpec:
    return RunSpec(
        user=data.get("user"),
        script=Script(tuple(map(turn, data["model"]))) if "model" in data else Script((), persona),
        limits=Limits(**asdict(limits) | data.get("limits", {})),
        tool_choice=data.get("tool_choice", whole.get("tool_choice")),
        knobs={**whole.get("knobs", {}), **data.get("knobs", {})},
        expect=_expect(data),
        **{key: data[key] for key in ("resume", "session", "stream", "start", "cancel", "kill") if key in data},
    )


def _expect(data: Mapping[str, Any]) -> tuple[Expect, ...]:
    return tuple(
        Expect(block.get("when", {}), {key: value for key, value in block.items() if key != "when"})
        for block in data.get("expect", ())
    )


def turn(data: Mapping[str, Any]) -> Turn:
    """The turn that this data spells, which must hold to the schema as well."""
    return Turn(**{FIELDS.get(key, key): TURN[key](value) if key in TURN else value for key, value in data.items()})


def _calls(data: Any) -> tuple[CallTurn, ...]:
    return tuple(_call(call) for call in (data if isinstance(data, Sequence) and not isinstance(data, str) else [data]))


def _call(data: Any) -> CallTurn:
    if isinstance(data, str):
        return CallTurn(data)
    given = data.get("id")
    shape: Literal["given", "fresh", "missing", "empty"] = (
        "fresh" if given is None else given if given in ("missing", "empty") else "given"
    )
    return CallTurn(
        data["name"], data.get("args"), data.get("raw"), id=given if shape == "given" else None, id_shape=shape
    )


def _error(data: Mapping[str, Any]) -> ErrorTurn:
    return ErrorTurn(**{"retry_after_s" if key == "retry_after" else key: value for key, value in data.items()})


def _error_event(data: Mapping[str, Any]) -> ErrorEvent:
    # What is left open here, the wire's codec fills in.
    error = ErrorReply(data["status"], data.get("message", ""), type=data.get("type"), code=data.get("code"))
    return ErrorEvent(error, data.get("after_chunks", 0))


#: Keys of a turn that a Turn calls otherwise.
FIELDS = {"call": "calls", "cut": "broken", "stall": "broken", "error_event": "broken", "refuse": "broken"}
#: Keys of a turn whose value is more than what is written.
TURN: Mapping[str, Callable[[Any], Any]] = {
    "call": _calls,
    "usage": lambda data: None if data == "none" else Usage(**data),
    "error": _error,
    "cut": lambda data: Cut(**data),
    "stall": lambda data: Stall(**data),
    "error_event": _error_event,
    "refuse": lambda _: NoConnection(),
    "quirks": tuple,
    "when": when,
    "repeat": lambda data: FOREVER if data == "forever" else data,
}

#: What a tool can do, by the key it is written under.
OUTCOMES: Mapping[str, Callable[[Any], Outcome]] = {
    "returns": Returns,
    "raises": lambda data: Raises(**data),
    "hangs": lambda _: Hangs(),
    "large": lambda data: Large(**data),
}


def _tool(name: str, data: Mapping[str, Any]) -> Tool:
    return Tool(
        name=name,
        description=data["description"],
        parameters=data["parameters"],
        sequence=tuple(_outcome(one) for one in data.get("sequence", (data,))),
        counts=data.get("counts", False),
        approval=data.get("approval", False),
    )


def _outcome(data: Mapping[str, Any]) -> Outcome:
    key = next(key for key in OUTCOMES if key in data)
    return OUTCOMES[key](data[key])
