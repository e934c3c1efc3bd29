"""Saved recordings judged again: the same report as when they were made, or the one of today's rules. Plays nothing."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from conformance.cell import cell_of
from conformance.certify import Judged
from conformance.dialect import DialectError, dialect
from conformance.errors import RecordingError
from conformance.judge import judge
from conformance.loading.schema_check import problems
from conformance.reading.joined import view
from conformance.recording import Header, Recording
from conformance.report import Played, Report, facts, report
from conformance.rule import Rule
from conformance.snapshot import stable_text
from fake_models.wire import CODECS


def judged_again(recordings: Mapping[str, Recording], rules: Sequence[Rule]) -> Report:
    """
    The report of recordings of one agent; their keys are what errors call them.

    Raises:
        RecordingError: one of them cannot be judged, or they are of several agents or declarations.
    """
    for name, recording in recordings.items():
        check(recording, name)
    same = groupby(recordings.items(), key=lambda one: (one[1].header.agent, one[1].header.dialect))
    firsts = [(key, next(iter(group))[0]) for key, group in same]
    if len(firsts) > 1:
        (agent, _), name = firsts[1]
        raise RecordingError(
            f"{name}: this is a recording of agent {agent.get('name')!r} {agent.get('version')!r}, and {firsts[0][1]} one of "
            f"{firsts[0][0][0].get('name')!r} {firsts[0][0][0].get('version')!r} or of another declaration; judge one agent at a time"
        )
    plays = [
        Played(str(one.header.scenario["id"]), cell_of(one.header).name, judge(one, rules))
        for one in recordings.values()
    ]
    return _report(next(iter(recordings.values())).header, plays, rules)


def so_far(made: Sequence[Judged], rules: Sequence[Rule]) -> Report:
    """The report of plays that were interrupted, at least one of which was recorded."""
    heads = [one.play.recording.header for one in made if one.play.recording is not None]
    plays = [
        Played(
            one.play.scenario.id,
            one.play.cell.name,
            one.judgement,
            one.play.error,
            one.play.excused,
            one.play.scenario.exercises,
        )
        for one in made
    ]
    return _report(heads[0], plays, rules)


def _report(head: Header, plays: Sequence[Played], rules: Sequence[Rule]) -> Report:
    return report(dict(head.agent) | {"channels": list(head.channels)}, head.dialect, plays, rules)


def check(recording: Recording, name: str) -> None:
    """
    Refuse what the kit cannot have written.

    Raises:
        RecordingError: the recording was cut short, its header says what no scenario or dialect may, or its records do not
            fit together.
    """
    if not recording.complete:
        raise RecordingError(f"{name}: the file was cut short, its last line is no footer; record it again")
    head = recording.header
    if wrong := problems(head.scenario):
        raise RecordingError(f"{name}:1: the header's scenario does not hold to the format: {wrong[0]}")
    try:
        dialect(head.dialect)
        cell_of(head)
        CODECS[head.wire]
    except (DialectError, TypeError, KeyError) as error:
        raise RecordingError(f"{name}:1: the header's dialect, wire or cell cannot be read: {error}") from error
    try:
        seen = view(recording)
        facts(seen)
        stable_text(seen)
    except Exception as error:
        raise RecordingError(
            f"{name}: the records do not fit together ({error!r}), see docs/recording.md; was the file edited?"
        ) from error
