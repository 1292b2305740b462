"""The file that a page becomes in a folder of files: readable, the same at each export, and no two alike.

    https://example.org/docs/install.html   example.org/docs/install.html
    https://example.org/docs/               example.org/docs/index.html
    https://example.org/about               example.org/about.html
    https://example.org/list?page=2         example.org/list-page-2~0123456789abcdef.html
    http://localhost:8000/a                 localhost@8000/a.html

A name that can't tell its address from every other one ends in `~` and 16 digits of the address's fingerprint: one
with a query, with characters that some file system refuses, or too long. One whose ending was added (`/about`,
`/docs/`) would be that of another address (`/about.html`, `/docs/index.html`): it gives way to that one, if that is
a page of the job and holds something else. docs/howto/mirror-a-site.md says all this to people.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_to_bytes, urlsplit

from holdfast.domain.url import fingerprint

_MAX_SEGMENT_BYTES: Final = 120
_MAX_PATH_BYTES: Final = 700
_MAX_QUERY_CHARS: Final = 40
_UNSAFE: Final = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')
_RESERVED: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE)
"""Names that Windows keeps for devices, whatever their ending."""
_ESCAPES: Final = re.compile(r"(?:%[89A-F][0-9A-F])+|%20")
_MARKED: Final = re.compile(r"~(?:[0-9a-f]{16})?$")
_ENDING: Final = re.compile(r"\.(?=[A-Za-z0-9]*[A-Za-z])[A-Za-z0-9]{1,10}$")
_NOT_WORD: Final = re.compile(r"[^A-Za-z0-9]+")

HTML: Final = ".html"
TOP: Final = ("index.html", "index.md")
"""Stand beside the hosts' folders, and are no page's."""
_ENDINGS: Final = {
    "text/html": (HTML, ".htm"),
    "application/xhtml+xml": (".xhtml", HTML, ".htm"),
    "text/plain": (
        *(
            ".txt",
            ".text",
            ".log",
            ".md",
            ".rst",
            ".csv",
            ".tsv",
            ".py",
            ".c",
            ".h",
            ".cpp",
            ".java",
            ".rs",
            ".go",
        ),
        *(
            ".sh",
            ".diff",
            ".patch",
            ".conf",
            ".cfg",
            ".ini",
            ".toml",
            ".yaml",
            ".yml",
            ".tex",
            ".sql",
            ".pl",
            ".rb",
        ),
    ),
    "text/markdown": (".md", ".markdown"),
    "text/css": (".css",),
    "text/csv": (".csv",),
    "text/javascript": (".js", ".mjs"),
    "application/javascript": (".js", ".mjs"),
    "application/x-javascript": (".js", ".mjs"),
    "application/json": (".json", ".map", ".webmanifest", ".ipynb"),
    "application/ld+json": (".jsonld", ".json"),
    "application/xml": (".xml", ".rss", ".atom", ".xsl", ".svg"),
    "text/xml": (".xml", ".rss", ".atom", ".xsl"),
    "application/rss+xml": (".rss", ".xml"),
    "application/atom+xml": (".atom", ".xml"),
    "application/pdf": (".pdf",),
    "application/zip": (".zip", ".jar", ".whl", ".epub", ".docx", ".xlsx", ".pptx", ".odt"),
    "application/gzip": (".gz", ".tgz"),
    "application/x-gzip": (".gz", ".tgz"),
    "application/x-tar": (".tar",),
    "application/wasm": (".wasm",),
    "application/epub+zip": (".epub",),
    "image/png": (".png",),
    "image/jpeg": (".jpg", ".jpeg"),
    "image/gif": (".gif",),
    "image/webp": (".webp",),
    "image/avif": (".avif",),
    "image/svg+xml": (".svg", ".svgz"),
    "image/x-icon": (".ico",),
    "image/vnd.microsoft.icon": (".ico",),
    "font/woff": (".woff",),
    "font/woff2": (".woff2",),
    "font/ttf": (".ttf",),
    "audio/mpeg": (".mp3",),
    "audio/ogg": (".ogg", ".oga"),
    "video/mp4": (".mp4", ".m4v"),
    "video/webm": (".webm",),
}
"""Endings that fit a type; the first one is given to what has none. Our own table: those of systems differ."""
_BROWSED: Final = frozenset({HTML, ".htm", ".xhtml", ".xht", ".svg", ".xml", ".mht", ".mhtml"})
"""Endings by which a browser would run as a page what was never sent as one."""


@dataclass(frozen=True, slots=True)
class FileName:
    """Where a page goes, relative to the folder, with slashes."""

    path: str
    rival: str | None = None
    """The address whose very own name this is: where that is a page with other contents, `apart` is the name."""
    apart: str = ""


def file_name(url: str, content_type: str, *, html: bool) -> FileName:
    """The name of a page at a canonical URL. `html`: it is read as HTML, whatever its Content-Type says."""
    parts = urlsplit(url)
    *folders, last = parts.path.lstrip("/").split("/") if parts.path.startswith("/") else [""]
    exact, host = True, _host(parts.scheme, parts.hostname or "", parts.port)
    names = [host.name]
    for segment in folders:
        safe = _safe(segment)
        exact &= safe.exact
        names.append(f"{safe.name}~" if _ENDING.search(safe.name) else safe.name)
    stem, ending, own = _last(last, content_type, html=html)
    exact &= stem.exact and host.exact and "//" not in parts.path
    mark = f"~{fingerprint(url).hex()[:16]}"
    query = ""
    if parts.query:
        exact = False
        words = _NOT_WORD.sub("-", parts.query).strip("-")[:_MAX_QUERY_CHARS]
        query = f"-{words}" if words else ""
    apart = "/".join((*names, f"{stem.name}{query}{mark}{ending}"))
    path = "/".join((*names, f"{stem.name}{ending}"))
    if len(apart.encode()) > _MAX_PATH_BYTES:
        path = apart = f"{host.name}/long~/{stem.name}{query}{mark}{ending}"
        exact = False
    if not exact or (stem.name == "index" and last and not own):
        return FileName(apart)
    if own:
        return FileName(path)
    rival = f"{parts.scheme}://{parts.netloc}{parts.path}{'index' if not last else ''}{ending}"
    return FileName(path, rival, apart)


@dataclass(frozen=True, slots=True)
class _Safe:
    """A part of a path as a name; `exact` if no other part gives that name."""

    name: str
    exact: bool = True


def _safe(segment: str) -> _Safe:
    decoded = _ESCAPES.sub(_characters, segment)
    name = _UNSAFE.sub("_", decoded)
    if not name.isprintable() or unicodedata.normalize("NFC", name) != name:
        name = segment
    exact = name in {decoded, segment} and not _MARKED.search(name) and not _UNSAFE.search(decoded)
    if name.endswith((".", " ")) or name.startswith(" ") or _RESERVED.fullmatch(name) or not name:
        name, exact = f"{name.strip(' .')}_", False
    if len(name.encode()) > _MAX_SEGMENT_BYTES:
        name, exact = _shortened(name), False
    return _Safe(name, exact)


def _characters(escapes: re.Match[str]) -> str:
    try:
        return unquote_to_bytes(escapes.group()).decode()
    except UnicodeDecodeError:
        return escapes.group()


def _shortened(name: str) -> str:
    return name.encode()[:_MAX_SEGMENT_BYTES].decode(errors="ignore").rstrip(" .")


def _host(scheme: str, host: str, port: int | None) -> _Safe:
    """Hosts hold no `@`: what stands behind one tells apart who else is at that name."""
    name = f"@{host.replace(':', '-')}" if ":" in host else host
    safe = _safe(f"{name}~" if name in TOP else name)
    if port is not None:
        name = f"{safe.name}@{port}"
        return _Safe(name if scheme == "http" else f"{name}@https", safe.exact)
    return _Safe(safe.name if scheme == "https" else f"{safe.name}@http", safe.exact)


def _last(segment: str, content_type: str, *, html: bool) -> tuple[_Safe, str, bool]:
    """Stem and ending of the file itself, and whether the ending is the address's own."""
    essence = content_type.partition(";")[0].strip().lower()
    fitting = (HTML, ".htm", ".xhtml") if html else _ENDINGS.get(essence, ())
    safe = _safe(segment) if segment else _Safe("index")
    found = _ENDING.search(safe.name)
    ending = found.group() if found else ""
    if segment and (ending.lower() in fitting or (ending and not fitting and ending.lower() not in _BROWSED)):
        return _Safe(safe.name[: -len(ending)], safe.exact), ending, True
    return safe, fitting[0] if fitting else ".bin", False
