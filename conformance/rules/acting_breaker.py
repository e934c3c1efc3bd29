"""ACT-10: a tool that keeps failing is left alone for a while. Judged on breakers that count failures in a row."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from conformance.reading.tool_calls import FAILED, NOT_RUN, Calls, Made, as_text, next_main, tool_calls
from conformance.reading.view import View
from conformance.rule import OK, SHOULD, Finding, Judged, Rule
from conformance.rules.acting_once import BESIDE_BREAKERS, kept_back


@dataclass(frozen=True, slots=True)
class Figures:
    """What is declared: so many failures in a row within `window_s` keep a tool from running for `recovery_s`."""

    threshold: int
    window_s: float | None
    recovery_s: float | None


@dataclass(frozen=True, slots=True)
class _Tool:
    """
    What is known of a tool in a session: its failures since it last did not fail, each with its run and its moment.

    `tried`: it was let run once after a pause and failed, so that each breaker goes on in its own way.
    """

    failures: tuple[tuple[str, float], ...] = ()
    tried: bool = False


@dataclass(frozen=True, slots=True)
class _Asked:
    """A call with its moment, and how often in a row its tool had failed by then, counted so as to be the most."""

    made: Made
    at_s: float
    failures: int


def figures(view: View) -> Figures | None:
    """The declared figures; None where they are none, or of another kind of breaker."""
    declared = view.capabilities.get("circuit_breaker")
    if not isinstance(declared, Mapping) or declared.get("kind", "consecutive") != "consecutive":
        return None
    threshold = declared.get("threshold")
    if not isinstance(threshold, int) or isinstance(threshold, bool) or threshold < 1:
        return None
    return Figures(threshold, _seconds(declared.get("window_s")), _seconds(declared.get("recovery_s")))


def _seconds(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _act_10(view: View) -> Judged:
    known = figures(view)
    if known is None:
        return
    calls = tool_calls(view)
    moments = {record.seq: record.at_s for record in view.recording.records}
    tools: dict[tuple[str, str], _Tool] = {}
    # A breaker may be the agent's and outlive a session.
    in_a_row: dict[str, int] = {}
    for made in calls.made:
        if not made.whole or not made.sound or made.flaw is not None or made.by.role == "summary":
            continue
        key = made.run.session, made.call.name
        state = tools.get(key, _Tool())
        most = max(in_a_row.get(made.call.name, 0), len(state.failures))
        yield from _judged(_Asked(made, moments[made.by.end_seq], most), state, known, view)
        for one in made.ran:
            ended_s = moments[one.end_seq if one.end_seq is not None else one.seq]
            failed = one.error is not None or one.end_seq is None
            pause_over = _recovered(state, ended_s, known)
            in_a_row[made.call.name] = in_a_row.get(made.call.name, 0) + 1 if failed else 0
            state = (
                replace(state, failures=(*state.failures, (made.run.id, ended_s)), tried=state.tried or pause_over)
                if failed
                else _Tool()
            )
        tools[key] = state


def _judged(asked: _Asked, state: _Tool, known: Figures, view: View) -> Judged:
    made, calls = asked.made, tool_calls(view)
    beside = any(one.call.name == made.call.name for one in calls.batch(made) if one.place < made.place)
    if state.tried or beside:
        return  # what a half open breaker does, and what it could know within one reply, is its own
    if _is_open(made, state, asked.at_s, known):
        yield from _left_alone(made, state, calls, view)
    elif _recovered(state, asked.at_s, known):
        yield from _works_again(asked, state, known, view)
    elif 0 < asked.failures < known.threshold:
        if made.ran:
            yield OK
        elif not kept_back(made, calls, view, BESIDE_BREAKERS):
            yield Finding(
                f"{made} never ran after {asked.failures} failures of {made.call.name} in a row; the breaker is declared to open at "
                f"{known.threshold}",
                made.seq,
            )


def _is_open(made: Made, state: _Tool, asked_s: float, known: Figures) -> bool:
    """Whether it must be open: all failures that it takes came in this run, within the window, and the pause goes on."""
    last = state.failures[-known.threshold :]
    if len(last) < known.threshold or any(run != made.run.id for run, _ in last):
        return False
    within = known.window_s is None or last[-1][1] - last[0][1] < known.window_s
    return within and (known.recovery_s is None or asked_s - last[-1][1] < known.recovery_s)


def _recovered(state: _Tool, at_s: float, known: Figures) -> bool:
    """Whether it had opened and its pause is over."""
    enough = len(state.failures) >= known.threshold
    return enough and known.recovery_s is not None and at_s - state.failures[-1][1] >= known.recovery_s


def _left_alone(made: Made, state: _Tool, calls: Calls, view: View) -> Judged:
    if made.ran:
        yield Finding(
            f"{made.ran[0].id}: {made} ran, though {made.call.name} had failed {len(state.failures)} times in a row; expected the "
            "breaker to be open",
            made.ran[0].seq,
            related=(made.seq,),
        )
        return
    follows = next_main(made.run, made.by.end_seq)
    there = calls.carried(follows, made.run.session).get(made.key) if follows is not None else None
    if follows is None or there is None or kept_back(made, calls, view, BESIDE_BREAKERS):
        return
    if FAILED.search(there.content) or NOT_RUN.search(there.content):
        yield OK
    elif view.dialect.tool_history == "messages":
        yield Finding(
            f"{follows.id} carries {as_text(there.content)} for {made}, which the breaker kept from running; expected a result that "
            "says so",
            follows.seq,
            related=(made.seq,),
        )


def _works_again(asked: _Asked, state: _Tool, known: Figures, view: View) -> Judged:
    made = asked.made
    if made.ran:
        yield OK
    elif not kept_back(made, tool_calls(view), view, BESIDE_BREAKERS):
        yield Finding(
            f"{made} never ran, {asked.at_s - state.failures[-1][1]:g} s after the last failure of {made.call.name}; the breaker is "
            f"declared to let it be tried again after {known.recovery_s:g} s",
            made.seq,
        )


_ISSUES = "https://github.com"

ACT_10 = Rule(
    id="ACT-10",
    level=SHOULD,
    clause="After the declared number of failures in a row a tool is refused at once, and the model is told; before that, and after "
    "the pause, it runs.",
    rationale="A tool that is down gains nothing from being asked again, and one that is up again must not stay locked out.",
    evidence=(
        f"{_ISSUES}/google-gemini/gemini-cli/pull/16954",
        f"{_ISSUES}/OpenHands/OpenHands/issues/5480",
    ),
    channels="T,M",
    applies=lambda view: None if view.has("circuit_breaker") else "capability",
    check=_act_10,
)
