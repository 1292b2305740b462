"""PDFs, read by a child that no PDF can take the crawl along with."""

import os
import random
import signal
import threading
import time
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.crawl import pdf, pdf_child
from holdfast.crawl.document import Kind
from holdfast.crawl.pdf import PdfReader
from holdfast.crawl.readers import is_pdf, read, text


def made(*pages: tuple[str, str], title: str = "The tides", encrypt: bool = False) -> bytes:
    """A PDF of pages with a line of text and a link each."""
    objects: list[bytes] = []

    def add(body: bytes) -> int:
        objects.append(body)
        return len(objects)

    font = add(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    tree = len(pages) * 3 + 2
    kids = []
    for words, link in pages:
        stream = zlib.compress(f"BT /F1 12 Tf 72 700 Td ({words}) Tj ET".encode())
        content = add(b"<< /Filter /FlateDecode /Length %d >> stream\n%s\nendstream" % (len(stream), stream))
        note = add(
            b"<< /Type /Annot /Subtype /Link /Rect [72 690 200 710] /A << /S /URI /URI (%s) >> >>"
            % link.encode()
        )
        kids.append(
            add(
                b"<< /Type /Page /Parent %d 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Annots [%d 0 R]"
                b" /Resources << /Font << /F1 %d 0 R >> >> >>" % (tree, content, note, font)
            )
        )
    refs = b" ".join(b"%d 0 R" % kid for kid in kids)
    assert add(b"<< /Type /Pages /Kids [%s] /Count %d >>" % (refs, len(kids))) == tree
    root = add(b"<< /Type /Catalog /Pages %d 0 R >>" % tree)
    info = add(b"<< /Title (%s) >>" % title.encode())
    out, places = bytearray(b"%PDF-1.7\n"), []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    secret = b" /Encrypt << /Filter /Unknown >>" if encrypt else b""
    out += b"trailer << /Size %d /Root %d 0 R /Info %d 0 R%s >>\n" % (len(objects) + 1, root, info, secret)
    return bytes(out + b"startxref\n%d\n%%%%EOF\n" % table)


TWO = made(("High water", "https://example.com/a"), ("Low water", "/b"))


@pytest.fixture
def reader():
    one = PdfReader()
    yield one
    one.stop()


def test_a_pdf_gives_its_title_its_links_and_its_text(reader):
    document = reader.read(TWO)
    assert (document.kind, document.title, document.unread) == (Kind.PDF, "The tides", "")
    assert document.links == ["https://example.com/a", "/b"]
    assert reader.text(TWO) == "High water\n\nLow water"


@pytest.mark.parametrize(
    "content_type", ["application/pdf", "", "application/octet-stream", "application/x-pdf; v=1"]
)
def test_it_is_told_by_its_type_or_by_its_first_bytes(content_type):
    assert is_pdf(content_type, TWO)
    assert read(TWO, content_type).links == ["https://example.com/a", "/b"]
    assert "High water" in text(TWO, content_type)


def test_what_is_none_says_so(reader):
    for body in (b"", b"<html>", b"%PDF-1.7\n", b"%PDF-1.7\n" + os.urandom(5000)):
        assert reader.read(body).unread == "damaged"
        assert reader.text(body) == ""
    assert reader.read(TWO).unread == ""


def test_one_that_may_not_be_read_says_so(reader):
    assert reader.read(made(("x", "/x"), encrypt=True)).unread in {"encrypted", "damaged"}
    assert reader.read(TWO).unread == ""


def test_a_child_that_dies_costs_the_pdf_in_hand_and_no_other(reader):
    reader.read(TWO)
    os.kill(reader._child.pid, signal.SIGKILL)
    reader._child.wait()
    assert reader.read(TWO).unread == ""


@pytest.fixture
def sleepy(tmp_path, monkeypatch):
    """A child that never comes to an end with what it is given."""
    child = tmp_path / "child.py"
    child.write_text("import time\nwhile True: time.sleep(1)\n")
    monkeypatch.setattr(pdf, "_CHILD", child)


def test_a_pdf_without_end_is_given_up_in_time(sleepy, reader, monkeypatch):
    monkeypatch.setattr(pdf, "TIME_S", 0.3)
    assert reader.read(TWO).unread == "timeout"


def test_whoever_reads_is_told_when_the_crawl_ends(sleepy, reader):
    given = []
    waiting = [threading.Thread(target=lambda: given.append(reader.read(TWO).unread)) for _ in range(3)]
    for thread in waiting:
        thread.start()
    while reader._child is None:
        time.sleep(0.01)
    reader.stop()
    for thread in waiting:
        thread.join(10)
    assert len(given) == 3
    assert set(given) <= {"stopped", "damaged"}
    assert reader.read(TWO).unread == "stopped"


def test_a_child_ends_with_its_input(reader):
    reader.read(TWO)
    child = reader._child
    child.stdin.close()
    assert child.wait(10) == 0


def test_a_child_may_use_so_much_and_no_more(reader):
    reader.read(TWO)
    said = Path(f"/proc/{reader._child.pid}/limits").read_text(encoding="ascii")
    limits = {line[:26].strip(): line[26:].split()[0] for line in said.splitlines()}
    assert limits["Max address space"] == str(pdf_child.MEMORY_BYTES)
    assert limits["Max core file size"] == limits["Max file size"] == "0"
    assert int(limits["Max cpu time"]) <= pdf_child.PROCESSOR_S + 5


def test_as_many_pages_are_read_as_are_allowed(reader):
    document = reader.read(made(*[("x", f"/{n}") for n in range(pdf_child.MAX_PAGES + 1)]))
    assert (len(document.links), document.cut) == (pdf_child.MAX_PAGES, True)


SHARED = PdfReader()


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False), st.integers(1, 40))
def test_no_damage_is_more_than_its_own(rng: random.Random, hits: int):
    body = bytearray(TWO)
    for _ in range(hits):
        body[rng.randrange(len(body))] = rng.randrange(256)
    if rng.random() < 0.3:
        del body[rng.randrange(len(body)) :]
    document = SHARED.read(bytes(body))
    assert document.kind is Kind.PDF
    SHARED.text(bytes(body))
    assert SHARED.read(TWO).links == ["https://example.com/a", "/b"]
