"""`holdfast doctor`."""

import click

from holdfast.cli.checkup import Grade, examine
from holdfast.cli.complaints import EXIT_FAILED
from holdfast.cli.opened import settings_for
from holdfast.cli.params import common


@click.command()
@common
def doctor() -> int:
    """Check machine, home, disk, SQLite and libraries; exit 1 if something is bad."""
    wanted = settings_for(click.get_current_context().ensure_object(dict))
    worst = 0
    for finding in examine(wanted):
        click.echo(f"{finding.grade.value:<5} {finding.what:<11} {finding.found}")
        if finding.advice:
            click.echo(f"{'':<17} -> {finding.advice}")
        if finding.grade is Grade.BAD:
            worst = EXIT_FAILED
    return worst
