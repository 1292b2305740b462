"""`holdfast run`."""

from typing import Any

import click

from holdfast.cli.asking import run_asked_for
from holdfast.cli.crawl import carried_out
from holdfast.cli.options import Headed, option, run_options
from holdfast.cli.params import common
from holdfast.domain.errors import UsageError


@click.command(cls=Headed)
@click.argument("pipeline", metavar="KIND|MODULE:CLASS")
@option(
    "--set",
    "sets",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the pipeline's own; may be given again.",
)("The pipeline")
@run_options
@common
def run(pipeline: str, sets: tuple[str, ...], **options: Any) -> int:  # noqa: ANN401 - as click names them
    """Run a pipeline of one's own, here, until it is done: one that a package has installed, by its kind, or a class.

    The same command again resumes: a job is known by its --name, else by its kind and what was --set. -o writes the
    records. The exit codes are those of crawl.
    """
    return carried_out(run_asked_for(pipeline, [_pair(one) for one in sets], options), options)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"--set takes NAME=VALUE, not {text[:100]!r}")
    return name.strip(), value
