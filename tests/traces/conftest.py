"""Shared by the tests of logs."""

from hypothesis import HealthCheck, settings

# A busy machine is no failure: no deadlines.
settings.register_profile(
    "logs", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("logs")
