"""How long the commands take that do nearly nothing.

python -m benchmarks.startup
"""

from __future__ import annotations

from benchmarks import measure, report
from benchmarks.arena import arena
from benchmarks.crawlers import Holdfast, crawlers
from benchmarks.options import Options, from_command_line

NAME = "startup"
REPEATS = 20
LIMITS_S = {"--version": 0.15, "ls": 0.3}


def run(options: Options) -> report.Result:
    """Time `holdfast --version` and, in a home with a finished crawl, `holdfast ls`."""
    crawlers(options, ["holdfast"])  # says what to do if it is missing
    holdfast = Holdfast(options.holdfast, options.concurrency)
    result = report.Result(NAME, versions={"holdfast": holdfast.version()})
    with arena(options, 200) as served, served.work() as work:
        crawl = holdfast.command(served.site.start_url, work.folder)
        usage = measure.run(crawl, work.log, options.timeout_s)
        result.expect(usage.exit_code == 0, f"a crawl to list: exit code {usage.exit_code}")
        for argument, limit_s in LIMITS_S.items():
            command = [str(options.holdfast), "--home", str(work.folder / "home"), argument]
            measure.run(command, work.log)  # fills the caches
            runs = [measure.run(command, work.log) for _ in range(REPEATS)]
            wall = measure.spread(one.wall_s for one in runs)
            result.commands[argument] = report.relative(command, work.folder)
            result.runs += [{"command": argument, "wall_s": one.wall_s} for one in runs]
            result.table.append(
                {
                    "command": f"holdfast {argument}",
                    "wall s": wall,
                    "CPU s": measure.spread(one.cpu_s for one in runs),
                    "at most": limit_s,
                }
            )
            failed = sum(one.exit_code != 0 for one in runs)
            result.expect(failed == 0, f"holdfast {argument}: {failed} runs failed")
            result.expect(wall.median <= limit_s, f"holdfast {argument} in {limit_s} s: {wall}")
    return result


def main() -> None:
    """Run this benchmark alone."""
    report.show(run(from_command_line(__doc__)))


if __name__ == "__main__":
    main()
