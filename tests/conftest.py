"""What holds for every test. Fixtures live beside the tests that use them, or in tests/kit."""

from hypothesis import HealthCheck, settings

# Examples may take as long as they need on a busy machine: pytest's own timeout ends what hangs.
settings.register_profile("holdfast", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("holdfast")
