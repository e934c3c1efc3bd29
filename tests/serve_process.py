"""`conformance serve` as a process of its own."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENTRY = "import sys; sys.argv[0] = 'conformance'; from conformance.cli import main; main()"
#: Longest that another process may take for its next step, in seconds, on a machine that is busy.
PATIENCE_S = 60


@contextlib.contextmanager
def serving(*words, entry=ENTRY):
    """The process and its readiness line."""
    process = subprocess.Popen(
        [sys.executable, "-c", entry, "serve", *words],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - one call of the C library
    )
    with process:
        try:
            assert select.select([process.stdout], [], [], PATIENCE_S)[0], "it never said that it is ready"
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


def ended(process, number):
    """Exit code, stdout and stderr of the process, once this signal has ended it."""
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out, err
