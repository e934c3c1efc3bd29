"""The circuit breaker: a tool that keeps failing is not run for a while. Pure but for the session's memory of it."""

import math
from dataclasses import replace

from conformance.reference.run import Broken, Done, Run
from conformance.reference.steps import Execution

#: Failures in a row, within so many seconds, after which the tool is refused for so long.
THRESHOLD = 5
WINDOW_S = 60
RECOVERY_S = 30


def broken(run: Run, one: Execution) -> str | None:
    """Why the tool is not run now, None where it may be. After the pause it is tried again."""
    state = run.session.broken.get(one.tool)
    if state is None or len(state.failures) < THRESHOLD:
        return None
    left_s = RECOVERY_S - (run.bench.now() - state.failures[-1]).total_seconds()
    if left_s <= 0:
        return None
    # Whole seconds: where the clock is a real one, a play would otherwise never say the same as the one before.
    left = f"{math.ceil(left_s)} more seconds"
    return f"{one.tool!r} failed {len(state.failures)} times in a row and is not run for {left}"


def noted(run: Run, done: Done) -> None:
    """Count a failure, or forget them all at a success."""
    if not done.failed:
        run.session.broken.pop(done.tool, None)
        return
    now = run.bench.now()
    state = run.session.broken.get(done.tool, Broken())
    recent = [at for at in state.failures if (now - at).total_seconds() < WINDOW_S]
    run.session.broken[done.tool] = replace(state, failures=(*recent, now))
