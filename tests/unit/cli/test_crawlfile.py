"""What a holdfast.toml may say, how it is found, and what wins over it."""

import os
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.cli import crawl as command
from holdfast.cli.crawlfile import FILE_NAME, CrawlFile, choose, is_name, nearest, read
from holdfast.cli.fromfile import FromFile, chosen, urls_of
from holdfast.domain.errors import UsageError

DOCS = """
[crawl]
delay = 3
max-bytes = "10MB"
include = ["every"]

[crawls.docs]
urls = ["http://a.example/", "http://b.example/"]
max_pages = 7
include = ["docs"]
ignore_robots = true
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def parsed(*words, of=command.crawl):
    return dict(of.make_context("crawl", list(words), obj={}).params)


def complaint(text, *words):
    Path(FILE_NAME).write_text(text)
    with pytest.raises(UsageError) as caught:
        parsed(*words)
    assert "\n" not in str(caught.value)
    return str(caught.value)


class TestWhatWins:
    def test_a_named_crawl_brings_its_urls_options_and_name(self, folder):
        (folder / FILE_NAME).write_text(DOCS)
        found = parsed("docs")
        assert found["urls"] == ("http://a.example/", "http://b.example/")
        assert (found["name"], found["max_pages"], found["ignore_robots"]) == ("docs", 7, True)

    def test_the_command_line_over_the_named_crawl_over_every_crawl_over_what_is_built_in(self, folder):
        (folder / FILE_NAME).write_text(DOCS)
        found = parsed("docs", "--delay", "1", "--name", "mine")
        assert (found["delay"], found["name"]) == (1.0, "mine")
        assert (found["include"], found["max_bytes"]) == (("docs",), 10_000_000)
        assert (found["scope"], found["checkpoint_items"]) == ("host", 10)

    def test_what_may_be_given_again_is_replaced_as_a_whole(self, folder):
        (folder / FILE_NAME).write_text(DOCS)
        assert parsed("docs", "--include", "typed")["include"] == ("typed",)

    def test_urls_on_the_command_line_take_only_what_is_for_every_crawl(self, folder):
        (folder / FILE_NAME).write_text(DOCS)
        found = parsed("http://c.example/")
        assert (found["urls"], found["include"]) == (("http://c.example/",), ("every",))
        assert (found["name"], found["max_pages"]) == (None, None)

    def test_a_named_crawl_turns_off_what_is_on_for_every_crawl(self, folder):
        (folder / FILE_NAME).write_text(
            "[crawl]\nignore_robots = true\n[crawls.docs]\nurls = 'a.example'\nignore_robots = false"
        )
        assert parsed("docs")["ignore_robots"] is False
        assert parsed("a.example")["ignore_robots"] is True

    def test_without_anything_the_only_crawl_is_meant(self, folder):
        (folder / FILE_NAME).write_text(DOCS)
        assert parsed()["name"] == "docs"

    def test_without_a_file_nothing_changes(self, folder):
        assert parsed("http://c.example/")["delay"] is None
        with pytest.raises(click.MissingParameter):
            parsed()


class TestWhereItIs:
    def test_in_a_directory_above(self, folder, monkeypatch):
        (folder / FILE_NAME).write_text(DOCS)
        below = folder / "a" / "b"
        below.mkdir(parents=True)
        monkeypatch.chdir(below)
        assert parsed("docs")["max_pages"] == 7
        assert nearest(below) == folder / FILE_NAME

    def test_the_closest_one(self, folder, monkeypatch):
        (folder / FILE_NAME).write_text("[crawl]\ndelay = 1")
        below = folder / "a"
        below.mkdir()
        (below / FILE_NAME).write_text("[crawl]\ndelay = 2")
        monkeypatch.chdir(below)
        assert parsed("c.example")["delay"] == 2.0

    def test_where_config_says(self, folder):
        (folder / FILE_NAME).write_text("not even TOML")
        (folder / "other.toml").write_text(DOCS)
        assert parsed("docs", "--config", "other.toml")["max_pages"] == 7
        assert parsed("c.example", "--config", os.devnull)["delay"] is None

    @pytest.mark.skipif(os.geteuid() != 0, reason="giving a file away takes root")
    def test_one_of_another_user_above_us_takes_naming(self, folder, monkeypatch):
        path = folder / FILE_NAME
        path.write_text(DOCS)
        os.chown(path, 12345, 12345)
        monkeypatch.setattr(os, "geteuid", lambda: 1)
        assert parsed("docs")["max_pages"] == 7
        below = folder / "a"
        below.mkdir()
        monkeypatch.chdir(below)
        with pytest.raises(UsageError, match="another user"):
            parsed("docs")
        assert parsed("docs", "--config", str(path))["max_pages"] == 7

    def test_files_that_it_names_lie_beside_it(self, folder, monkeypatch):
        (folder / FILE_NAME).write_text("[crawl]\noutput = 'pages.csv'")
        below = folder / "a"
        below.mkdir()
        monkeypatch.chdir(below)
        assert parsed("c.example")["output"].path == folder / "pages.csv"
        assert parsed("c.example", "-o", "pages.csv")["output"].path == Path("pages.csv")

    def test_a_broken_file_does_not_keep_anybody_from_the_help(self, folder):
        (folder / FILE_NAME).write_text("[")
        with pytest.raises(click.exceptions.Exit):
            parsed("--help")


class TestComplaints:
    @pytest.mark.parametrize(
        ("table", "told"),
        [
            ("delai = 1", "[crawl] has an unknown 'delai'; did you mean delay?"),
            ("zzz = 1", ", checkpoint_items, "),
            ("delay = 'soon'", "[crawl], delay: 'soon' is no number of seconds"),
            ("max_pages = 'many'", "[crawl], max_pages: 'many' is not a valid integer"),
            ("max_pages = 0", "[crawl], max_pages: 0 is not in the range"),
            ("max_pages = 1.5", "[crawl], max_pages: '1.5' is not a valid integer"),
            ("max_pages = true", "max_pages takes text or a number (see --max-pages), not true or false"),
            ("time_limit = -5.0", "[crawl], time_limit: '-5.0' is no duration"),
            ("time_limit = inf", "[crawl], time_limit: 'inf' is no duration"),
            ("time_limit = 2026-01-01", "not a date or time"),
            ("scope = 'hots'", "[crawl], scope: 'hots' is not one of 'host'"),
            ("ignore_robots = 1", "ignore_robots takes true or false, not a number"),
            ("include = {a = 'b'}", "include takes text or a list of texts (see --include), not a table"),
            ("include = [['a']]", "include takes text or a list of texts"),
            ("max-pages = 1\nmax_pages = 2", "max_pages is there twice"),
            ("home = 'x'", "--home is given on the command line only"),
            ("config = 'x'", "--config is given on the command line only"),
            ("[crawl.docs]\nurls = 'x'", "has an unknown 'docs'"),
            ("name = 'x'", "name belongs to one crawl"),
            ("urls = 'x'", "urls belongs to one crawl"),
        ],
    )
    def test_a_wrong_key_or_value_is_named_with_file_and_table(self, folder, table, told):
        said = complaint(f"[crawl]\n{table}", "c.example")
        assert said.startswith(f"{FILE_NAME}, [crawl]")
        assert told in said

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("[crawl", "holdfast.toml is not TOML"),
            ("a = " + "[" * 5000, "holdfast.toml is not TOML"),
            ("crawl = 1", "crawl is not a table of options"),
            ("crawls = [1]", "crawls is not a table of options"),
            ("crawls.docs = 1", "crawls.docs is not a table of options"),
            ("[crawler]", "has an unknown 'crawler'; did you mean crawl"),
            ("[crawls.'a b']", "can't be called 'a b'"),
            ("[crawls.localhost]", "can't be called 'localhost'"),
            ("[crawls.docs]", "[crawls.docs] needs its urls"),
            ("[crawls.docs]\nurls = []", "urls are its start URLs"),
            ("[crawls.docs]\nurls = [1]", "urls are its start URLs"),
            ("x = 1" + "\n" * 1_000_000, "more than 1,000,000 bytes"),
        ],
    )
    def test_a_file_that_is_none(self, folder, text, told):
        assert told in complaint(text, "docs")

    def test_what_is_no_utf8_and_what_is_not_there(self, folder):
        Path("latin.toml").write_bytes(b"# \xff")
        for name, told in (("latin.toml", "UTF-8"), ("none.toml", "No such file"), (".", "directory")):
            with pytest.raises(UsageError, match=told):
                parsed("docs", "--config", name)

    def test_a_word_that_is_neither_a_url_nor_a_crawl_says_both(self, folder):
        said = complaint(DOCS, "blog")
        assert "https://blog/" in said
        assert "which has: docs" in said
        Path(FILE_NAME).unlink()
        with pytest.raises(UsageError, match=r"https://blog/ .* there is no holdfast\.toml here or above"):
            parsed("blog")

    def test_a_crawl_is_named_alone(self, folder):
        assert "name it alone" in complaint(DOCS, "docs", "http://c.example/")

    def test_one_of_several_crawls_has_to_be_named(self, folder):
        assert "one of them: a, b" in complaint("[crawls.a]\nurls = 'x.y'\n[crawls.b]\nurls = 'x.y'")

    def test_a_crawl_that_is_not_meant_may_be_wrong(self, folder):
        (folder / FILE_NAME).write_text(DOCS + "[crawls.later]\nwhatever = 1")
        assert parsed("docs")["max_pages"] == 7


class TestAnyOption:
    """The file knows no option by name: what a command takes, it takes."""

    @staticmethod
    def command():
        return FromFile(
            "crawl",
            callback=lambda **_: None,
            params=[
                click.Argument(["urls"], nargs=-1, callback=urls_of),
                click.Option(["--set", "settings"], multiple=True, metavar="NAME=VALUE"),
                click.Option(["--header"], multiple=True, metavar="NAME: VALUE"),
                click.Option(["--no-sitemaps", "sitemaps"], is_flag=True, flag_value=False, default=True),
                click.Option(["--feeds/--no-feeds"], default=True),
                click.Option(["-i", "--input", "source"], type=click.Path(path_type=Path)),
                click.Option(["--rate"], type=float),
            ],
        )

    def read(self, text, *words):
        Path(FILE_NAME).write_text(f"[crawl]\n{text}")
        return parsed("c.example", *words, of=self.command())

    def test_tables_are_what_the_help_says_of_pairs(self, folder):
        assert self.read("settings = {a = 'x', b = 2}")["settings"] == ("a=x", "b=2")
        assert self.read("set.a = 'x=y'")["settings"] == ("a=x=y",)
        assert self.read("header = {Accept = 'x'}")["header"] == ("Accept: x",)
        assert self.read("header = 'Accept: x'")["header"] == ("Accept: x",)
        assert self.read("header = {Accept = 'x'}", "--header", "B: y")["header"] == ("B: y",)

    def test_what_is_turned_off_by_its_option(self, folder):
        assert self.read("no_sitemaps = true")["sitemaps"] is False
        assert self.read("no_sitemaps = false")["sitemaps"] is True
        assert self.read("sitemaps = false")["sitemaps"] is False
        assert self.read("feeds = false")["feeds"] is False
        assert self.read("feeds = false", "--feeds")["feeds"] is True

    def test_paths_and_standard_input(self, folder):
        assert self.read("input = 'urls.txt'")["source"] == folder / "urls.txt"
        assert self.read("source = '-'")["source"] == Path("-")

    def test_what_says_where_a_crawl_begins_stands_for_urls(self, folder, monkeypatch):
        monkeypatch.setattr("holdfast.cli.fromfile.SOURCES", ("source",))
        monkeypatch.setattr("holdfast.cli.crawlfile.SOURCES", ("source",))
        Path(FILE_NAME).write_text("[crawls.docs]\ninput = 'urls.txt'")
        assert parsed("docs", of=self.command())["source"] == folder / "urls.txt"
        found = parsed("-i", "other", of=self.command())
        assert (found["urls"], found["source"]) == ((), Path("other"))

    def test_who_was_asked_is_known(self, folder):
        Path(FILE_NAME).write_text("[crawl]\nrate = 1\n[crawls.docs]\nurls = 'a.example'")
        context = self.command().make_context("crawl", ["docs"], obj={})
        assert chosen(context).said == "[crawl] and [crawls.docs] in holdfast.toml"


def test_names_are_never_urls():
    assert all(map(is_name, ["docs", "Docs-2", "a_b", "1"]))
    assert not any(
        map(is_name, ["a.example", "localhost", "LOCALHOST", "::1", "a/b", "-x", "", "http://a", "dé"])
    )


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.dates() | st.times(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from([option.name for option in command.crawl.params] + ["max-pages", "x"]) | st.text(
    max_size=9
)
TABLES = st.dictionaries(KEYS, VALUES, max_size=5)


@given(TABLES, TABLES)
def test_whatever_the_tables_hold_is_read_or_named(every, own):
    context = click.Context(command.crawl, info_name="crawl")
    file = CrawlFile(Path.cwd() / FILE_NAME, every, {"docs": own})
    try:
        found = choose(file, command.crawl, context, "docs")
    except UsageError as error:
        assert FILE_NAME in str(error)  # noqa: PT017 - what holds for those that are refused
    else:
        assert set(found.defaults) <= {option.name for option in command.crawl.params}


TOML = st.lists(
    st.sampled_from(
        [
            "[crawl]",
            "[crawls.docs]",
            "[[crawl]]",
            "urls",
            "=",
            "'x'",
            '"',
            "\n",
            "[",
            "]",
            "{",
            "}",
            ",",
            ".",
            "1e999",
            "9" * 5000,
            "0x" + "f" * 5000,
            "2026-01-01",
            "max_pages",
            "\\ud800",
            "é",
            "\x00",
            " ",
            "true",
            "'''",
            "#",
        ]
    )
    | st.text(max_size=5),
    max_size=25,
).map("".join)


@given(st.binary(max_size=60) | TOML.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_whatever_the_file_holds_is_read_or_named(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("any", numbered=True) / FILE_NAME
    path.write_bytes(data)
    context = click.Context(command.crawl, info_name="crawl")
    try:
        file = read(path)
        for name in (None, *file.crawls):
            choose(file, command.crawl, context, name)
    except UsageError as error:
        assert FILE_NAME in str(error)  # noqa: PT017 - likewise
