"""URLs from a file, or from what is piped in."""

import io

import pytest

from holdfast.cli import urllist
from holdfast.cli.urllist import STDIN, listed
from holdfast.domain.errors import UsageError


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "urls.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_each_line_is_a_url_and_each_url_is_there_once(write):
    text = "\ufeffhttps://example.com/b\r\n\n  # a comment\n example.com/a \nHTTPS://EXAMPLE.com/b#x\nhttps://example.com/c"
    assert listed(write(text)) == (
        "https://example.com/b",
        "https://example.com/a",
        "https://example.com/c",
    )


def test_lines_that_are_no_urls_are_named_by_their_numbers(write):
    path = write("https://example.com/\nhello\n# x\nftp://example.com/x\n")
    with pytest.raises(UsageError) as refused:
        listed(path)
    assert f"{path}, line 2: 'hello' is not a URL" in str(refused.value)
    assert "; line 4: 'ftp://example.com/x' can't be crawled" in str(refused.value)


def test_of_many_wrong_lines_a_few_are_named(write):
    with pytest.raises(UsageError, match=r"line 1: .*line 3: .*; and there are more$"):
        listed(write("\n".join(["hello"] * 9)))


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n"])
def test_a_list_without_urls_says_what_to_write(write, text):
    with pytest.raises(UsageError, match="has no URLs; write one per line"):
        listed(write(text))


def test_a_list_may_have_so_many_and_no_more(write, monkeypatch):
    monkeypatch.setattr(urllist, "MAX_URLS", 3)
    lines = [f"https://example.com/{n}" for n in range(4)]
    assert len(listed(write("\n".join([*lines[:3], *lines[:3]])))) == 3
    with pytest.raises(UsageError, match="has more than 3 URLs; split it"):
        listed(write("\n".join(lines)))


def test_a_line_without_end_is_one_wrong_line(write):
    with pytest.raises(UsageError, match=r"line 1: .*line 3: "):
        listed(write(b"https://example.com/" + b"x" * 100_000 + b"\nhttps://example.com/\nhello\n"))


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(UsageError, match=r"can't read .*nowhere: No such file"):
        listed(tmp_path / "nowhere")


def test_a_dash_reads_what_is_piped_in(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"example.com\nhello\n")))
    with pytest.raises(UsageError, match="standard input, line 2: "):
        listed(STDIN)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"example.com\n")))
    assert listed(STDIN) == ("https://example.com/",)
