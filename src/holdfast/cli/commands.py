"""The command with its subcommands, each in a module of its own that is loaded when it is asked for."""

from importlib import import_module
from typing import Any

import click

from holdfast import __version__
from holdfast.cli.params import common

_WHERE = {
    "crawl": "crawl",
    "run": "run",
    "ls": "ls",
    "show": "show",
    "why": "why",
    "watch": "watch",
    "pause": "steer",
    "cancel": "steer",
    "resume": "again",
    "retry": "again",
    "restart": "again",
    "rescan": "runs",
    "diff": "diff",
    "checkpoints": "runs",
    "rollback": "runs",
    "fork": "runs",
    "rm": "steer",
    "export": "export",
    "report": "report",
    "verify": "verify",
    "chaos": "chaos",
    "doctor": "doctor",
}
_SAYS = {
    "crawl": "Crawl a site; the same command again resumes.",
    "run": "Run a pipeline of one's own.",
    "ls": "List the jobs.",
    "show": "Show one job: counters, hosts, errors, checkpoints.",
    "why": "Tell what became of a URL, and why.",
    "watch": "Watch a job that another process runs.",
    "pause": "Pause a running job at its next checkpoint.",
    "cancel": "Stop a job for good; what it has stays readable.",
    "resume": "Go on with a stopped job, here.",
    "retry": "Try a job's failed pages again, here.",
    "restart": "Forget a job's results and start it from nothing.",
    "rescan": "Crawl a completed job again, and fetch only what has changed.",
    "diff": "Show what changed from one run of a job to another.",
    "checkpoints": "List a job's checkpoints.",
    "rollback": "Take a job back to one of its checkpoints.",
    "fork": "Make a new job that is what another one was at a checkpoint.",
    "rm": "Remove a job with everything it has.",
    "export": "Write a job's pages to a file.",
    "report": "Write a job's figures and charts as one page.",
    "verify": "Check that the promise holds for a job.",
    "chaos": "Crawl, kill the crawl again and again, and prove that nothing is lost.",
    "doctor": "Check machine, home and libraries.",
}


class Lazy(click.Group):
    """Loads a subcommand's module when that subcommand is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """In the order in which people need them."""
        return list(_WHERE)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - likewise
        """The subcommand, or None."""
        if cmd_name not in _WHERE:
            return None
        command: Any = getattr(import_module(f"holdfast.cli.{_WHERE[cmd_name]}"), cmd_name)
        assert isinstance(command, click.Command)  # noqa: S101 - each of our modules holds to this
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """From the table above: help must not load every module."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_SAYS.items()))


@click.group(
    cls=Lazy,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="JOB is an id, the beginning or the end of one, or a name; without it the latest job is meant.",
)
@click.version_option(__version__, prog_name="holdfast", message="%(prog)s %(version)s")
@common
def holdfast() -> None:
    """Long crawls that can't be lost: stop them anyhow, run the same command again, and they carry on."""
