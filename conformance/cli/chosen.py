"""From selectors on a command line to scenarios: read, checked and narrowed by tag and rule."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from conformance.cli.order import place
from conformance.errors import LoadError, Problem, guess
from conformance.loading.loader import bundled, find, library, load_all
from conformance.rules import BY_ID
from conformance.scenario import Scenario

#: The tag of the scenarios that make up the core.
CORE = "core"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A scenario, and the word that selects it again: its id where it comes with the kit, else its path."""

    scenario: Scenario
    name: str


def chosen(selectors: Sequence[str], *, tags: Collection[str] = (), rules: Collection[str] = ()) -> tuple[Chosen, ...]:
    """
    The scenarios that these select, by id, file or folder, all of the kit's where none is given, in the order of `place`.

    Of them those with any of the tags and, of those, the ones that exercise any of the rules.

    Raises:
        LoadError: a selector, tag or rule names nothing, or a scenario has a problem.
    """
    rules = [_rule(word) for word in rules]
    home = library().resolve()
    paths = find(selectors, [home])
    every = tuple(
        Chosen(plan, plan.id if home in path.resolve().parents else str(path))
        for plan, path in zip(load_all(paths, rule_ids=BY_ID), paths, strict=True)
    )
    kept = tuple(one for one in every if _meets(tags, one.scenario.tags) and _meets(rules, one.scenario.exercises))
    if not kept:
        raise LoadError([Problem((), _nothing(every, tags, rules))])
    return tuple(sorted(kept, key=lambda one: place(one.scenario.id)))


def core() -> frozenset[str]:
    """The ids of the scenarios that make up the core."""
    return frozenset(plan.id for plan in load_all(bundled()) if CORE in plan.tags)


def _rule(word: str) -> str:
    found = next((rule for rule in BY_ID if rule.casefold() == word.casefold()), None)
    if found is None:
        raise LoadError([Problem((), f"--rule {word!r}: there is no such rule{guess(word.upper(), BY_ID)}")])
    return found


def _meets(wanted: Collection[str], has: Iterable[str]) -> bool:
    return not wanted or bool(set(wanted) & set(has))


def _nothing(every: Sequence[Chosen], tags: Collection[str], rules: Collection[str]) -> str:
    known = {tag for one in every for tag in one.scenario.tags}
    odd = [tag for tag in tags if tag not in known]
    if odd:
        return f"--tag {odd[0]!r}: none of these {len(every)} scenarios has it{guess(odd[0], known)}"
    asked = " and ".join(filter(None, (_said("tag", tags), _said("exercise", rules))))
    return f"none of these {len(every)} scenarios has {asked}" if asked else "there is no scenario here"


def _said(what: str, words: Collection[str]) -> str:
    return f"{what} {' or '.join(words)}" if words else ""
