"""Runs all benchmarks, or the named ones, and keeps what they found in benchmarks/results.

    python -m benchmarks [NAME...] [--quick]

Exits with 1 if a target was missed or a promise did not hold.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from benchmarks import broad, kill, memory, randomkills, report, scale, startup, throughput, upkeep
from benchmarks.arena import note
from benchmarks.options import Options, options, parser

if TYPE_CHECKING:
    from collections.abc import Callable

BENCHMARKS: dict[str, Callable[[Options], report.Result]] = {
    startup.NAME: startup.run,
    throughput.NAME: throughput.run,
    kill.NAME: kill.run,
    randomkills.NAME: randomkills.run,
    scale.NAME: scale.run,
    memory.NAME: memory.run,
    upkeep.NAME: upkeep.run,
    broad.NAME: broad.run,
}


def main() -> int:
    """Run them one after the other."""
    arguments = parser(__doc__)
    arguments.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parsed = arguments.parse_args()
    if strangers := set(parsed.names) - set(BENCHMARKS):
        arguments.error(f"no benchmark {', '.join(strangers)}: there are {', '.join(BENCHMARKS)}")
    asked = options(parsed)
    missed = 0
    for name in parsed.names or BENCHMARKS:
        note(f"running {name}")
        result = BENCHMARKS[name](asked)
        report.show(result)
        report.save(result, asked)
        missed += len(result.missed)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
