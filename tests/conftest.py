"""Settings for the whole suite."""

import functools
import gc
import ssl

from hypothesis import HealthCheck, settings

# No test may depend on how fast or busy a machine is, or on which examples chance brings today.
settings.register_profile(
    "kit", deadline=None, derandomize=True, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("kit")

# Every HTTP client of every SDK reads all certificates of the machine when it is made, 30 ms each time. None is checked here:
# the tests speak to this machine alone, without TLS.
ssl.create_default_context = functools.cache(ssl.create_default_context)

# The plugin is tested in sessions of pytest inside this one.
pytest_plugins = ["pytester"]


def pytest_collection_finish():
    """
    What stands when the tests begin, the SDKs' modules and thousands of tests, stays to the end. It is looked through for garbage
    once and not again each time that garbage is collected, which is some 0.2 s.
    """
    gc.collect()
    gc.freeze()
