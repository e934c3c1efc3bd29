"""Runs as snapshots of syrupy: one readable text file per test, agent, scenario and cell."""

from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from conformance.pytest_plugin.playing import ConformanceRun


class StableText(SingleFileSnapshotExtension):
    """Where such a snapshot is kept: a text file beside the test module, in syrupy's own layout."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


class RunSnapshot(SnapshotAssertion):
    """Equal to a run whose stable text is the one that was kept under the run's own name."""

    def __eq__(self, other: object) -> bool:
        """Compare as syrupy does, and write where it was asked to."""
        if not isinstance(other, ConformanceRun):
            raise TypeError(
                f"conformance_snapshot was compared with {other!r:.80}, expected what conformance_run gives"
            )
        return bool(SnapshotAssertion.__eq__(self(name=other.name), other.text))

    __hash__ = None  # type: ignore[assignment] # as the class above


def run_snapshot(snapshot: SnapshotAssertion) -> RunSnapshot:
    """A snapshot for runs, with everything else as in the one that syrupy gives to this test."""
    return RunSnapshot(
        session=snapshot.session,
        extension_class=StableText,
        test_location=snapshot.test_location,
        update_snapshots=snapshot.update_snapshots,
        update_new_snapshots_only=snapshot.update_new_snapshots_only,
    )
