"""The reference names every command, option and setting there is, and none that there isn't."""

import re
from collections.abc import Mapping
from pathlib import Path

import click

from holdfast import settings
from holdfast.cli.commands import holdfast

DOCS = Path(__file__).resolve().parents[3] / "docs" / "reference"


class Asked(Mapping[str, str]):
    """An environment without anything, that remembers what it was asked for."""

    def __init__(self):
        self.names = set()

    def __getitem__(self, name):
        self.names.add(name)
        raise KeyError(name)

    def __iter__(self):
        return iter(())

    def __len__(self):
        return 0


def test_every_command_and_option_is_in_the_reference():
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    context = click.Context(holdfast)
    known = set()
    for name in holdfast.list_commands(context):
        command = holdfast.get_command(context, name)
        assert f"    holdfast {name}" in text
        known |= {
            option
            for parameter in command.params
            for option in (*parameter.opts, *parameter.secondary_opts)
            if option.startswith("-")
        }
    missing = {option for option in known if not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text)}
    assert not missing
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))
    assert named - known == {"--version", "--help"}


def test_every_setting_is_in_the_reference_with_its_default():
    rows = re.findall(r"\| `HOLDFAST_(\w+)` \| (\S+) \|", (DOCS / "settings.md").read_text(encoding="utf-8"))
    said = {f"HOLDFAST_{name}": default.strip("`") for name, default in rows}

    asked = Asked()
    settings.load(asked)
    assert set(said) == asked.names
    # Each default, given, changes nothing.
    assert settings.load(said) == settings.load({})
