"""What a scenario gets wrong beyond its form: turns that cannot be reached, names nobody has, predictions with holes. Pure."""

from collections.abc import Callable, Collection, Iterator

from conformance.errors import Path, Problem, guess
from conformance.loading.lint_driving import knobs, resumes, steps
from conformance.loading.lint_expect import default_limits, limit_predictions, predictions
from conformance.loading.lint_templates import templates
from conformance.loading.lint_turns import contradictions
from conformance.scenario import RunSpec, Scenario
from fake_models.matching import When
from fake_models.personas import PERSONAS
from fake_models.script import FOREVER, Turn
from fake_models.wire import CODECS

#: Longest real wait of a scenario tagged `slow`, in seconds: foreign agents sleep for real.
MAX_RETRY_AFTER_S = 1


def problems(scenario: Scenario, rule_ids: Collection[str]) -> list[Problem]:
    """Everything the lint finds. `rule_ids` are those of the kit's rules; each problem has its path and no place."""
    unknown = [
        Problem(("exercises", n), f"no rule has the id {rule!r}{guess(rule, rule_ids)}")
        for n, rule in enumerate(scenario.exercises)
        if rule not in rule_ids
    ]
    return unknown + [problem for check in CHECKS for problem in check(scenario)]


def _turns(scenario: Scenario) -> Iterator[tuple[Path, RunSpec, Turn]]:
    for n, run in enumerate(scenario.runs):
        for m, turn in enumerate(run.script.turns):
            yield ("runs", n, "model", m), run, turn


def unreachable_turns(scenario: Scenario) -> Iterator[Problem]:
    """A turn behind one that is played for ever and never passed over."""
    for n, run in enumerate(scenario.runs):
        turns = run.script.turns
        walls = (m for m, turn in enumerate(turns) if turn.repeat == FOREVER and not (turn.optional and turn.when))
        for m in range(next(walls, len(turns)) + 1, len(turns)):
            message = "this turn is never reached: one before it repeats forever; give that one a count, or `optional: true` and a `when`"
            yield Problem(("runs", n, "model", m), message)


def scripts(scenario: Scenario) -> Iterator[Problem]:
    """A run whose model has nothing to go by."""
    for n, run in enumerate(scenario.data["runs"]):
        if "model" not in run and scenario.model.persona is None:
            message = "nothing says what the model does: write `model:` with its turns here, or a persona under the scenario's `model`"
            yield Problem(("runs", n), message)


def personas(scenario: Scenario) -> Iterator[Problem]:
    """A share of requests to spoil, for a persona that spoils none."""
    persona = scenario.model.persona
    if persona is not None and not PERSONAS[persona.name].spoils and "rate" in scenario.data["model"]:
        spoilers = " and ".join(name for name, habit in PERSONAS.items() if habit.spoils)
        message = f"persona {persona.name!r} spoils no request; leave this out, which only {spoilers} go by"
        yield Problem(("model", "rate"), message)


def turns_by_themselves(scenario: Scenario) -> Iterator[Problem]:
    """A turn that contradicts itself."""
    for path, _, turn in _turns(scenario):
        yield from (Problem((*path, *at), message) for at, message in contradictions(turn))


def faults_that_end_a_script(scenario: Scenario) -> Iterator[Problem]:
    """Agents try again after a fault, some more often than others: a script has to have an answer for all of them."""
    for n, run in enumerate(scenario.runs):
        for turn in run.script.turns[-1:]:
            if turn.repeat != FOREVER and (
                turn.error or turn.overflow or turn.broken or turn.empty or _unfinished(turn)
            ):
                message = (
                    "nothing follows this fault and agents may ask again; add `repeat: forever` or a turn behind it"
                )
                yield Problem(("runs", n, "model", len(run.script.turns) - 1), message)


def _unfinished(turn: Turn) -> bool:
    """Whether the reply looks broken off on some wire, so that agents ask again."""
    return any(
        name in turn.quirks and quirk.unfinished for codec in CODECS.values() for name, quirk in codec.quirks.items()
    )


def conditions(scenario: Scenario) -> Iterator[Problem]:
    """A `when` that can never hold, or that takes the rules' work."""
    for path, run, turn in _turns(scenario):
        if turn.when is not None:
            at = (*path, "when")
            yield from (Problem((*at, *where), message) for where, message in _condition(scenario, run, turn.when))


def _condition(scenario: Scenario, run: RunSpec, when: When) -> Iterator[tuple[Path, str]]:
    if isinstance(when.tools, tuple):
        for n, name in enumerate(when.tools):
            if name not in scenario.tools:
                yield ("tools", n), f"the scenario has no tool {name!r}{guess(name, scenario.tools)}"
    if when.tools == "offered" and not scenario.tools:
        yield ("tools",), "came 'offered', but the scenario has no tools: this can never hold"
    if when.round == 1 and when.last == "tool" and run.user is not None:
        yield ("last",), "came 'tool' with round 1, which starts with the user's text: this can never hold"
    if "core" in scenario.tags and (when.tools == "none" or when.call == "summary"):
        message = "core scenarios put no `when` on the summary turn: rules judge what it looks like; leave this out"
        yield (("tools",) if when.tools == "none" else ("call",)), message


def user_texts(scenario: Scenario) -> Iterator[Problem]:
    """Rules and sessions find a run by its user's text, so no other message may hold that text."""
    users: list[tuple[Path, str]] = [
        (("runs", n, "user"), run.user) for n, run in enumerate(scenario.runs) if run.user is not None
    ]
    sessions = [run.session for run in scenario.runs if run.user is not None]
    others: list[tuple[Path, str]] = [
        (("history", n, "content"), message["content"])
        for n, message in enumerate(scenario.history)
        if message.get("content")
    ]
    others += [(("system",), scenario.system)] if scenario.system else []
    for n, (path, text) in enumerate(users):
        if not text.strip():
            yield Problem(path, f"came {text!r}, expected a text that is not blank, by which the run is known")
            continue
        for m, (other, longer) in enumerate([*users, *others]):
            # What another session is asked never stands in a request of this one.
            if m < len(users) and sessions[m] != sessions[n]:
                continue
            # Of two equal texts only the later one is named.
            if m != n and text in longer and not (text == longer and n < m < len(users)):
                message = f"the user text {text!r} also stands in {Problem(other, '').where}; word it so that no other message contains it"
                yield Problem(path, message)


def tool_choices(scenario: Scenario) -> Iterator[Problem]:
    """A tool choice that names a tool the scenario does not have."""
    for path, data in (((), scenario.data), *((("runs", n), run) for n, run in enumerate(scenario.data["runs"]))):
        choice = data.get("tool_choice", "auto")
        if choice not in ("auto", "none", "required", *scenario.tools):
            words = ("auto", "none", "required", *scenario.tools)
            yield Problem((*path, "tool_choice"), f"{choice!r} is no tool of the scenario{guess(choice, words)}")


def runs(scenario: Scenario) -> Iterator[Problem]:
    """A run that needs one before it."""
    sessions: set[str] = set()
    for n, run in enumerate(scenario.runs):
        if run.start == "with" and n == 0:
            yield Problem(("runs", n, "start"), "came 'with', but no run stands before this one to start with")
        if run.user is None and run.session not in sessions:
            yield Problem(("runs", n, "resume"), f"session {run.session!r} has no run before this one to resume")
        sessions.add(run.session)


def waits(scenario: Scenario) -> Iterator[Problem]:
    """Waits that end the run, or that core scenarios do not ask for: foreign agents sleep for real."""
    allowed = MAX_RETRY_AFTER_S if "slow" in scenario.tags and "core" not in scenario.tags else 0
    for path, _, turn in _turns(scenario):
        # Time of a script is real time for agents in a process of their own, and silence to whoever watches them.
        for name, time_s in (("wait_s", turn.wait_s), ("pace_s", turn.pace_s)):
            if time_s >= scenario.deadline_s:
                message = f"came {time_s:g}, and {scenario.deadline_s:g} s of silence end a run: set `deadline_s` of the scenario to more, or wait less"
                yield Problem((*path, name), message)
        if turn.error is not None and (turn.error.retry_after_s or 0) > allowed:
            message = f"came {turn.error.retry_after_s}, expected at most {allowed}: agents really wait so long; 1 is the most, under the tag slow and not core"
            yield Problem((*path, "error", "retry_after"), message)


CHECKS: tuple[Callable[[Scenario], Iterator[Problem]], ...] = (
    unreachable_turns,
    scripts,
    personas,
    turns_by_themselves,
    faults_that_end_a_script,
    conditions,
    templates,
    user_texts,
    tool_choices,
    runs,
    steps,
    resumes,
    knobs,
    waits,
    predictions,
    default_limits,
    limit_predictions,
)
