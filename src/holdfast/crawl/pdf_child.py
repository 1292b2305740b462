"""The process that reads PDFs for `crawl.pdf`. Started by its path, so that it loads nothing of ours.

On stdin: a letter (L: title and links, T: text), the length, the bytes. On stdout: the length, JSON. Until stdin ends.
"""

import ctypes
import json
import os
import resource
import struct
import sys
from typing import Any

MAX_PAGES = 2000
MAX_LINKS = 5000
MAX_LINK_BYTES = 8192
MAX_TEXT_CHARS = 10_000_000
MEMORY_BYTES = 1024 * 1024 * 1024
PROCESSOR_S = 25
"""Of processor time for one PDF: what ends us where nobody is left to do so."""

_LENGTH = struct.Struct("!cQ")
_ANSWER = struct.Struct("!Q")


def main() -> None:
    """Until stdin ends."""
    os.nice(5)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    source, target = sys.stdin.buffer, sys.stdout.buffer
    while len(head := source.read(_LENGTH.size)) == _LENGTH.size:
        what, length = _LENGTH.unpack(head)
        body = source.read(length)
        if len(body) < length:
            return
        used = resource.getrusage(resource.RUSAGE_SELF)
        spent = int(used.ru_utime + used.ru_stime) + 1
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (spent + PROCESSOR_S, hard))
        said = json.dumps(_read(body, text=what == b"T")).encode()
        target.write(_ANSWER.pack(len(said)) + said)
        target.flush()


def _read(body: bytes, *, text: bool) -> dict[str, Any]:
    try:
        import pypdfium2  # noqa: PLC0415 - its absence is an answer, too
    except ImportError:
        return {"error": "no_reader"}
    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        return {"error": "encrypted" if "password" in str(error).lower() else "damaged"}
    except MemoryError:
        return {"error": "too_large"}
    try:
        said = _text(document) if text else _links(document)
    except MemoryError:
        said = {"error": "too_large"}
    finally:
        document.close()
    return said


def _text(document: Any) -> dict[str, Any]:  # noqa: ANN401 - pypdfium2's own
    import pypdfium2  # noqa: PLC0415

    pieces: list[str] = []
    size = 0
    for number in range(min(len(document), MAX_PAGES)):
        try:
            page = document[number]
            reading = page.get_textpage()
        except pypdfium2.PdfiumError:
            continue
        piece = reading.get_text_range(errors="replace") if reading.count_chars() else ""
        reading.close()
        page.close()
        piece = piece.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").strip()
        pieces.append(piece)
        size += len(piece)
        if size >= MAX_TEXT_CHARS:
            break
    return {"text": "\n\n".join(piece for piece in pieces if piece)[:MAX_TEXT_CHARS]}


def _links(document: Any) -> dict[str, Any]:  # noqa: ANN401 - pypdfium2's own
    import pypdfium2  # noqa: PLC0415
    import pypdfium2.raw as pdfium  # noqa: PLC0415

    links: dict[str, None] = {}
    for number in range(min(len(document), MAX_PAGES)):
        try:
            page = document[number]
        except pypdfium2.PdfiumError:
            continue
        position, link = ctypes.c_int(0), pdfium.FPDF_LINK()
        while len(links) < MAX_LINKS and pdfium.FPDFLink_Enumerate(page, position, link):
            action = pdfium.FPDFLink_GetAction(link)
            if not action or pdfium.FPDFAction_GetType(action) != pdfium.PDFACTION_URI:
                continue
            size = pdfium.FPDFAction_GetURIPath(document, action, None, 0)
            if 1 < size <= MAX_LINK_BYTES:
                buffer = ctypes.create_string_buffer(size)
                pdfium.FPDFAction_GetURIPath(document, action, buffer, size)
                links[buffer.value.decode("utf-8", "replace").strip()] = None
        page.close()
    cut = len(document) > MAX_PAGES or len(links) >= MAX_LINKS
    title = document.get_metadata_value("Title")
    return {"title": title, "links": [link for link in links if link], "cut": cut}


if __name__ == "__main__":
    main()
