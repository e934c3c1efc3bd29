"""
The fitter: recordings of one agent in, the smallest declaration that fits them out. Pure; the same recordings give the same.

What a recording shows depends on the dialect that it is read under. So the fitter begins at the recommended dialect, whatever
is declared, takes over what is seen, and reads again until nothing new is seen. Of what is declared it keeps only what no
recording decides, and says so.
"""

import builtins
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.dialect import BY_NAME, EMPTY_SHAPES, ON_LIMIT, Dialect, dialect
from conformance.judge import Judgement, judge
from conformance.observing.recovery import shapes
from conformance.observing.shown import causes
from conformance.observing.unseen import UNSEEN, UNSHOWN
from conformance.reading.joined import view
from conformance.reading.outcome import without_a_sign
from conformance.reading.view import View
from conformance.recording import Recording
from conformance.rule import Rule

#: The two parts of the shorthand on_limit.
PARTS = ("limit_text", "limit_terminal")
#: Keys whose value is put together from several recordings, so that one of them alone contradicts none.
JOINED = frozenset({"empty_is", "exceptions"})


@dataclass(frozen=True, slots=True)
class Shown:
    """A value that recordings show, the scenarios in which they do, and how the first one does."""

    value: Any
    scenarios: tuple[str, ...]
    saw: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """
    One key of the declaration that fits.

    `shown` is None where no recording shows the value: it was declared, and nothing speaks against it, or it is the recommended
    one. `instead_of` is the declared value where that one does not fit.
    """

    key: str
    value: Any
    shown: Shown | None = None
    instead_of: Any = None


@dataclass(frozen=True, slots=True)
class Torn:
    """A key, or a class under `exceptions`, of which recordings show several values: no declaration of it fits."""

    key: str
    values: tuple[Shown, ...]


@dataclass(frozen=True, slots=True)
class Fitted:
    """What to declare, in the order of the keys, and of what no declaration fits. `classes` are the exceptions, one by one."""

    lines: tuple[Line, ...]
    classes: tuple[Line, ...] = ()
    torn: tuple[Torn, ...] = ()

    @property
    def keys(self) -> dict[str, Any]:
        """The declaration as keys."""
        kinds = {line.key: line.value for line in self.classes}
        return {line.key: line.value for line in self.lines} | ({"exceptions": kinds} if kinds else {})


@dataclass(frozen=True, slots=True)
class _State:
    """
    How far the search has come: what was taken over, what each key was before, and the keys that are given up.

    `advised` came from a finding and still have to be seen; of `deaf` keys what was seen spoke against such advice.
    """

    taken: Mapping[str, Any] = field(default_factory=dict)
    tried: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    torn: Mapping[str, Torn] = field(default_factory=dict)
    advised: frozenset[str] = frozenset()
    deaf: frozenset[str] = frozenset()
    seen: Mapping[str, tuple[Shown, ...]] = field(default_factory=dict)
    classes: Mapping[str, tuple[Shown, ...]] = field(default_factory=dict)


def fitted(recordings: Sequence[Recording], rules: Iterable[Rule]) -> Fitted:
    """
    The declaration that fits these recordings of one agent under one declaration.

    What the observers see counts, and where they see nothing else, what a finding of `rules` says would fit.
    """
    declared = view(recordings[0]).declared if recordings else Dialect()
    asked = [rule for rule in rules if rule.keys]
    # What nothing decides has to be believed from the start: the rest is read under it.
    start = {key: value for key in BY_NAME if _undecided(key, value := getattr(declared, key)) and value != _plain(key)}
    state, settled = _State(), False
    while not settled:
        state, settled = _step(state, start, declared, recordings, asked)
    return _declaration(state, start, declared, _kept(state, start, declared, recordings, asked))


def _step(
    state: _State, start: Mapping[str, Any], declared: Dialect, recordings: Sequence[Recording], rules: Sequence[Rule]
) -> tuple[_State, bool]:
    """The recordings read under what was taken over so far. Each step takes over or gives up a key, or is the last."""
    under = _dialect({**start, **state.taken})
    judged = _judged(recordings, under, rules)
    seen, advised = _sightings(judged), _advice(judged)
    classes = _classes([one.view for one in judged])
    joined = {
        "empty_is": _empty_is([one.view for one in judged], declared),
        "exceptions": Shown(_kinds(classes), ()) if classes else None,
    }
    taken, tried, torn = dict(state.taken), dict(state.tried), dict(state.torn)
    hoped, deaf = set(state.advised), set(state.deaf)
    for key in BY_NAME:
        values = seen.get(key, ()) if key not in JOINED else (one,) if (one := joined[key]) is not None else ()
        now = getattr(under, key)
        others = [one for one in values if one.value != now]
        if others and key in hoped:
            # A finding said that this would fit, and read so, another value is seen: it stays a finding.
            hoped.discard(key)
            deaf.add(key)
            before, tried[key] = tried[key][-1], tried[key][:-1]
            taken[key] = before
            continue
        heard = () if others or key in deaf else advised.get(key, ())
        others += [one for one in heard if one.value != now]
        if key in torn or (key == "empty_response" and taken.get("empty_is") != state.taken.get("empty_is")):
            # What follows an empty reply can be told only once it is settled what one is.
            continue
        if not others:
            if key in taken and not values:
                # Read as it was taken over, nothing shows it any more: something else was behind it.
                tried[key] = (*tried[key], taken.pop(key))
            continue
        before = tried.get(key, ())
        if len(others) == 1 and others[0].value not in before:
            taken[key], tried[key] = others[0].value, (*before, now)
            hoped |= {key} if heard else set()
            continue
        earlier = [
            one for one in state.seen.get(key, ()) if one.value not in [other.value for other in (*values, *others)]
        ]
        torn[key] = Torn(key, tuple({repr(one.value): one for one in (*values, *others, *earlier)}.values()))
        taken.pop(key, None)
    going_on = taken != state.taken or torn.keys() != state.torn.keys()
    if joined["empty_is"] is not None:
        seen["empty_is"] = (joined["empty_is"],)
    return _State(taken, tried, torn, frozenset(hoped), frozenset(deaf), seen, classes), not going_on


def _undecided(key: str, value: Any) -> bool:
    """Whether no recording can show this value."""
    return key != "on_limit" and (key in UNSEEN or (key, str(value)) in UNSHOWN)


def _dialect(keys: Mapping[str, Any]) -> Dialect:
    return dialect({key: list(value) if isinstance(value, tuple) else value for key, value in keys.items()})


def _judged(recordings: Sequence[Recording], under: Dialect, rules: Sequence[Rule]) -> list[Judgement]:
    header = under.data()
    return [judge(replace(one, header=replace(one.header, dialect=header)), rules) for one in recordings]


def _sightings(judged: Sequence[Judgement]) -> dict[str, tuple[Shown, ...]]:
    """By key, every value that is seen."""
    found = ((key, value, one.view.scenario.id, "") for one in judged for key, value in one.shows.items())
    return _gathered(found)


def _advice(judged: Sequence[Judgement]) -> dict[str, tuple[Shown, ...]]:
    """By key, every value that a finding says would fit."""
    return _gathered(
        (*finding.fits, one.view.scenario.id, finding.message)
        for one in judged
        for result in one.results
        for finding in result.findings
        if finding.fits is not None
    )


def _gathered(found: Iterable[tuple[str, Any, str, str]]) -> dict[str, tuple[Shown, ...]]:
    by_key: dict[str, dict[str, Shown]] = {}
    for key, value, scenario, saw in found:
        values = by_key.setdefault(key, {})
        before = values.get(repr(value), Shown(value, (), saw))
        values[repr(value)] = replace(before, scenarios=tuple(dict.fromkeys((*before.scenarios, scenario))))
    return {key: tuple(values.values()) for key, values in by_key.items()}


def _classes(views: Sequence[View]) -> dict[str, tuple[Shown, ...]]:
    """
    By class of exception, every cause that is proven of one, and `error` where what it stands for elsewhere cannot have been the cause.

    A class of Python's own is raised for anything, and means nothing.
    """
    proven = [(name, seen.value, one.scenario.id, seen.saw) for one in views for name, seen in causes(one)]
    kinds = {name: kind for name, kind, *_ in proven}
    other = [
        (run.raised.exception, "error", one.scenario.id, f"run {run.id} raised it for no such reason")
        for one in views
        for run in one.runs
        if run.raised is not None and without_a_sign(run, kinds.get(run.raised.exception, ""))
    ]
    return _gathered(found for found in (*proven, *other) if found[0] not in vars(builtins))


def _kinds(classes: Mapping[str, Sequence[Shown]]) -> dict[str, str]:
    return {name: values[0].value for name, values in classes.items() if len(values) == 1}


def _empty_is(views: Sequence[View], declared: Dialect) -> Shown | None:
    """
    What counts as empty, where all recordings together tell: some shapes were asked again, on others a run ended as answered.

    A shape that no recording has stays as declared. Where every shape ends a run as answered, `empty_response: finish` says the
    same, and says it of all.
    """
    counted: dict[str, str] = {}
    taken: dict[str, tuple[str, str]] = {}
    for one in views:
        empty, answered = shapes(one)
        counted |= {shape: one.scenario.id for shape in empty if shape not in counted}
        taken |= {shape: (one.scenario.id, seen.saw) for shape, seen in answered.items() if shape not in taken}
    if not counted or counted.keys() & taken.keys():
        return None
    value = tuple(
        shape for shape in EMPTY_SHAPES if shape in counted or (shape in declared.empty_is and shape not in taken)
    )
    where = tuple(dict.fromkeys(scenario for scenario, _ in taken.values())) or tuple(dict.fromkeys(counted.values()))
    return Shown(value, where, next((saw for _, saw in taken.values()), ""))


def _kept(
    state: _State, start: Mapping[str, Any], declared: Dialect, recordings: Sequence[Recording], rules: Sequence[Rule]
) -> dict[str, Shown | None]:
    """
    Declared values other than the one taken over that the recordings, read under them, do not speak against.

    With what shows one that is seen only by an agent that declares it, such as a marker's name that speaks of no limit.
    """
    found: dict[str, Shown | None] = {}
    under = _dialect({**start, **state.taken})
    for key in BY_NAME:
        said = getattr(declared, key)
        if key in (*JOINED, "on_limit", *state.torn) or said == getattr(under, key):
            continue
        judged = _judged(recordings, under.with_value(key, said), rules)
        seen = _sightings(judged).get(key, ())
        if all(one.value == said for one in (*seen, *_advice(judged).get(key, ()))):
            found[key] = seen[0] if seen and key not in state.seen else None
    if not {"empty_is"} & {*state.torn, *state.seen} and declared.empty_is != EMPTY_SHAPES:
        found["empty_is"] = None
    return found


def _declaration(
    state: _State, start: Mapping[str, Any], declared: Dialect, kept: Mapping[str, Shown | None]
) -> Fitted:
    under = _dialect({**start, **state.taken})
    lines = []
    for key in BY_NAME:
        if key in ("on_limit", "exceptions", *state.torn):
            continue
        said, value = getattr(declared, key), getattr(under, key)
        if key in kept:
            lines.append(Line(key, said, kept[key]))
        elif value != _plain(key) or said != value:
            values = state.seen.get(key, ())
            shown = next((one for one in values if one.value == value), None)
            lines.append(Line(key, value, shown, None if said == value else said))
    classes, odd = _exceptions(state, declared)
    return Fitted(_short(lines, state.torn), classes, (*state.torn.values(), *odd))


def _exceptions(state: _State, declared: Dialect) -> tuple[tuple[Line, ...], tuple[Torn, ...]]:
    lines, odd = [], []
    for name in dict.fromkeys((*declared.exceptions, *state.classes)):
        values, said = state.classes.get(name, ()), declared.exceptions.get(name)
        if len(values) > 1:
            odd.append(Torn(f"exceptions.{name}", values))
        elif values:
            lines.append(Line(name, values[0].value, values[0], None if said == values[0].value else said))
        else:
            lines.append(Line(name, said))
    return tuple(lines), tuple(odd)


def _short(lines: Sequence[Line], torn: Mapping[str, Torn]) -> tuple[Line, ...]:
    """The shorthand in the place of both parts, where there is one for the pair and both were come by in the same way."""
    parts = {line.key: line for line in lines if line.key in PARTS}
    text, end = (parts.get(name) or Line(name, _plain(name), Shown(None, ())) for name in PARTS)
    word = next((word for word, pair in ON_LIMIT.items() if pair == (text.value, end.value)), None)
    if not parts or word is None or set(PARTS) & set(torn) or (text.shown is None) != (end.shown is None):
        return tuple(lines)
    told = parts.get("limit_terminal") or parts["limit_text"]
    was = None if text.instead_of is None and end.instead_of is None else _word(text, end)
    rest = [line for line in lines if line.key not in PARTS]
    return (Line("on_limit", word, told.shown, was), *rest)


def _word(text: Line, end: Line) -> str:
    """What was declared of the two parts, in the shortest words."""
    pair = (text.instead_of or text.value, end.instead_of or end.value)
    named = next((word for word, both in ON_LIMIT.items() if both == pair), None)
    return named or f"limit_text {pair[0]}, limit_terminal {pair[1]}"


def _plain(key: str) -> Any:
    return BY_NAME[key].default
