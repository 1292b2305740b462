"""What holds for every test. Fixtures live beside the tests that use them, or in tests/kit."""

import signal

from hypothesis import HealthCheck, settings

# Examples may take as long as they need on a busy machine: pytest's own timeout ends what hangs.
settings.register_profile("holdfast", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("holdfast")

# Behind a script's `&` Ctrl-C is ignored, by us and by all that we start; the tests' processes are to hear it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
