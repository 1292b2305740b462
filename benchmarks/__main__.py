"""`python -m benchmarks` runs them all, or the named ones."""

import sys

from benchmarks.run import main

sys.exit(main())
