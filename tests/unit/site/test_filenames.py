"""Names of files: readable, one for each address, and none that leads anywhere else."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.url import join
from holdfast.pipelines.site.filenames import file_name

HTML = "text/html; charset=utf-8"


def name(url, content_type=HTML):
    return file_name(url, content_type, html=content_type.startswith("text/html"))


@pytest.mark.parametrize(
    ("url", "content_type", "path"),
    [
        ("https://example.org/", HTML, "example.org/index.html"),
        ("https://example.org/docs/", HTML, "example.org/docs/index.html"),
        ("https://example.org/docs/install.html", HTML, "example.org/docs/install.html"),
        ("https://example.org/about", HTML, "example.org/about.html"),
        ("https://example.org/3.11", HTML, "example.org/3.11.html"),
        ("https://example.org/page.php", HTML, "example.org/page.php.html"),
        ("https://example.org/caf%C3%A9%20menu", HTML, "example.org/café menu.html"),
        ("https://example.org/a.js/b", HTML, "example.org/a.js~/b.html"),
        ("http://example.org/a", HTML, "example.org@http/a.html"),
        ("http://localhost:8000/a", HTML, "localhost@8000/a.html"),
        ("https://localhost:8443/a", HTML, "localhost@8443@https/a.html"),
        ("http://[::1]:8000/a", HTML, "@--1@8000/a.html"),
        ("https://example.org/logo.png", "image/png", "example.org/logo.png"),
        ("https://example.org/logo", "image/png", "example.org/logo.png"),
        ("https://example.org/paper", "application/pdf", "example.org/paper.pdf"),
        ("https://example.org/x.tar.gz", "application/octet-stream", "example.org/x.tar.gz"),
        ("https://example.org/x.html", "application/octet-stream", "example.org/x.html.bin"),
        ("https://example.org/notes.md", "text/plain", "example.org/notes.md"),
        ("https://example.org/LICENSE", "text/plain", "example.org/LICENSE.txt"),
    ],
)
def test_plain_addresses_have_readable_names(url, content_type, path):
    assert name(url, content_type).path == path


@pytest.mark.parametrize(
    ("url", "begins", "ends"),
    [
        ("https://example.org/list?page=2&sort=a", "example.org/list-page-2-sort-a~", ".html"),
        ("https://example.org/Special:Random", "example.org/Special_Random~", ".html"),
        ("https://example.org/con", "example.org/con_~", ".html"),
        ("https://example.org/nul.txt/x", "example.org/nul.txt_/x~", ".html"),
        ("https://example.org//x", "example.org/x~", ".html"),
        ("https://example.org/index", "example.org/index~", ".html"),
        ("https://index.html/", "index.html~/index~", ".html"),
        ("https://example.org/a~", "example.org/a~~", ".html"),
        ("https://example.org/" + "x" * 4000, "example.org/" + "x" * 120 + "~", ".html"),
        ("https://example.org/" + "x/" * 3000, "example.org/long~/index~", ".html"),
    ],
)
def test_what_no_name_can_tell_from_others_bears_its_fingerprint(url, begins, ends):
    found = name(url)
    assert re.fullmatch(rf"{re.escape(begins)}[0-9a-f]{{16}}{re.escape(ends)}", found.path)
    assert found.rival is None


@pytest.mark.parametrize(
    ("url", "rival"),
    [
        ("https://example.org/about", "https://example.org/about.html"),
        ("https://example.org/docs/", "https://example.org/docs/index.html"),
        ("https://example.org/caf%C3%A9", "https://example.org/caf%C3%A9.html"),
        ("http://[::1]:8000/a", "http://[::1]:8000/a.html"),
    ],
)
def test_a_name_with_an_ending_that_was_added_is_anothers_own(url, rival):
    found = name(url)
    assert found.rival == rival
    assert name(rival).path == found.path
    assert name(rival).rival is None
    assert found.apart not in {found.path, ""}


SEGMENT = st.text(alphabet="ab.~%/:?=&@ éÉ\\*|<>\"'\x01CONconindexhtm", max_size=12)
URLS = st.lists(
    st.tuples(
        st.sampled_from(["http://a", "https://a", "http://a:81", "https://a:81", "https://index.md"]), SEGMENT
    ),
    min_size=1,
    max_size=12,
)


@given(URLS, st.sampled_from([HTML, "text/plain", "image/png", "application/octet-stream", ""]))
def test_no_two_addresses_have_one_name_and_none_leads_out(written, content_type):
    urls = {url for base, path in written if (url := join("about:blank", f"{base}/{path}")) is not None}
    names = {url: name(url, content_type) for url in urls}
    # As an export settles them: a name gives way to the page whose very own it is.
    paths = [found.apart if found.rival in urls else found.path for found in names.values()]
    assert len(set(paths)) == len(paths)
    for path in paths:
        segments = path.split("/")
        assert len(segments) > 1
        assert not path.startswith("/")
        assert not {"", ".", ".."} & set(segments)
        assert all(len(segment.encode()) <= 255 for segment in segments)
        assert not re.search(r'[<>:"\\|?*\x00-\x1f]', path)
        assert not any(segment.endswith((".", " ")) for segment in segments)
        assert not any(re.fullmatch(r"(?i)(con|nul)(\..*)?", segment) for segment in segments)
    folders = {path.rpartition("/")[0] for path in paths}
    parents = {folder[: cut.start()] for folder in folders for cut in re.finditer("/|$", folder)}
    assert not parents & set(paths), "a file where a folder has to be"
