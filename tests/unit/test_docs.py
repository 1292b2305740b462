"""What the documentation says is so: links lead somewhere; commands, settings, SQL and diagram are the code's."""

import re
from collections.abc import Iterator
from pathlib import Path

import apsw
import click
import pytest

from holdfast import settings
from holdfast.cli.commands import holdfast
from holdfast.domain.states import diagram
from holdfast.stores.sqlite.connection import FILE_NAME, open_connection

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(ROOT.glob("docs/**/*.md"))]
page = pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_BLOCK = re.compile(r"^(?:```(\w*)\n(.*?)^```|((?:(?: {4}|\t)[^\n]*\n)+))", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"`([^`\n]+)`")
_HOLDFAST = re.compile(r"\bholdfast((?: +-[-\w]+(?:[ =][^\s-]\S*)?)*) +([a-z]+)\b(?! \w+ing)(.*)")
_MAKE = re.compile(r"\bmake (crawl|[a-z-]+)(.*)")
_OPTION = re.compile(r"(?<![\w/-])(--[a-z][a-z-]+|-[a-z])\b")


def code(text: str) -> Iterator[str]:
    """The code of a page, line by line: blocks, and spans within sentences."""
    for block in _BLOCK.finditer(text):
        yield from (block[2] or block[3] or "").splitlines()
    yield from _SPAN.findall(_BLOCK.sub("", text))


def prose(text: str) -> str:
    """A page without its code."""
    return _SPAN.sub("", _BLOCK.sub("", text))


def anchors(path: Path) -> set[str]:
    """The headings of a page as GitHub links to them."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = (re.sub(r"[`*]|\]\([^)]*\)|\[", "", heading).lower() for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


def options_of(name: str) -> set[str]:
    """What a subcommand takes, `--help` and what may stand before it included."""
    command = holdfast.get_command(click.Context(holdfast), name)
    assert command is not None, f"there is no `holdfast {name}`"
    parameters = [*command.params, *holdfast.params]
    return {"--help", "-h"} | {option for one in parameters for option in (*one.opts, *one.secondary_opts)}


def code_without_comment(line: str) -> str:
    return line.partition(" #")[0]


def test_the_diagram_is_the_tables():
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    drawn = re.search(r"<!-- states -->\n```mermaid\n(.*?)```\n<!-- /states -->", text, re.DOTALL)
    assert drawn is not None
    assert drawn[1] == diagram()


@page
def test_links_within_the_project_lead_somewhere(path):
    for target in _LINK.findall(prose(path.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        place = (path.parent / name).resolve() if name else path
        assert place.exists(), f"{target} leads nowhere"
        assert not anchor or anchor in anchors(place), f"{target}: no such heading"


@page
def test_commands_and_options_exist(path):
    for line in map(code_without_comment, code(path.read_text(encoding="utf-8"))):
        if line.startswith("holdfast: "):
            continue  # what it prints
        used = _HOLDFAST.search(line)
        if used:
            unknown = set(_OPTION.findall(used[1] + used[3].split(" | ")[0])) - options_of(used[2])
            assert not unknown, f"`{line}`: no such option: {unknown}"


@page
def test_targets_of_make_exist(path):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for line in map(code_without_comment, code(path.read_text(encoding="utf-8"))):
        used = _MAKE.search(line)
        if used:
            assert re.search(rf"^{re.escape(used[1])}:", makefile, re.MULTILINE), f"`{line}`: no such target"
            if used[1] == "crawl":
                unknown = set(_OPTION.findall(used[2])) - options_of("crawl")
                assert not unknown, f"`{line}`: no such option: {unknown}"


def test_the_readme_lists_each_command_once():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([a-z]+)(?: [^`]*)?` \|", text.partition("## Commands")[2], re.MULTILINE)
    assert listed == holdfast.list_commands(click.Context(holdfast))


class Asked(dict[str, str]):
    """An environment that remembers what was looked for in it."""

    def get(self, key, default=None):
        self[key] = ""
        return default


@page
def test_settings_exist(path):
    known = Asked()
    settings.load(known)
    used = set(re.findall(r"\bHOLDFAST_[A-Z_]*[A-Z]\b", path.read_text(encoding="utf-8")))
    assert used <= set(known), f"no such setting: {used - set(known)}"


@page
def test_queries_run(path, tmp_path):
    queries = re.findall(r"^```sql\n(.*?)^```", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    if queries:
        open_connection(tmp_path / FILE_NAME).close()
        ledger = apsw.Connection(str(tmp_path / FILE_NAME), flags=apsw.SQLITE_OPEN_READONLY)
        for query in queries:
            ledger.execute(query).fetchall()
