"""Settings for the whole suite."""

from hypothesis import HealthCheck, settings

# No test may depend on how fast or busy a machine is, or on which examples chance brings today.
settings.register_profile("kit", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kit")

# The plugin is tested in sessions of pytest inside this one.
pytest_plugins = ["pytester"]
