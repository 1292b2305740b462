"""`holdfast`: runs the subcommand, and turns whatever goes wrong into one sentence and an exit code."""

import sys
from collections.abc import Sequence

EXIT_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point; ends the process with the command's exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given == ["--version"]:
        # Not worth the time that click takes to load.
        from holdfast import __version__

        print(f"holdfast {__version__}")  # noqa: T201 - what was asked for
        sys.exit(0)
    try:
        code = run(given)
    except KeyboardInterrupt:
        # So early that nothing of ours was loaded, let alone begun.
        code = EXIT_INTERRUPTED
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run the command; gives its exit code. Raises nothing that a person would see as a traceback."""
    import click

    from holdfast.cli import complaints
    from holdfast.cli.commands import holdfast

    context: dict[str, object] = {}
    try:
        complaints.refuse_garbled(arguments)
        code = holdfast.main(arguments, prog_name="holdfast", standalone_mode=False, obj=context)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.ClickException as error:
        return complaints.usage(error)
    except (click.Abort, KeyboardInterrupt):
        return complaints.interrupted(context)
    except BrokenPipeError:
        return complaints.deaf()
    except Exception as error:  # noqa: BLE001 - the last resort: a sentence, and the traceback in a file
        return complaints.tell(error, context)
    return code if isinstance(code, int) else 0
