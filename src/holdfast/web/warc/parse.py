"""From the bytes of one WARC record to a Reading. Anything odd is a DamagedRecord and nothing else."""

import hashlib
from typing import Final

from isal import isal_zlib

from holdfast.domain.commit import Location
from holdfast.ports.fetcher import FetchFailed
from holdfast.ports.segments import DamagedRecord, Reading
from holdfast.web.coding import DECODED_BYTES, codings, decode
from holdfast.web.warc.records import RENDERED_TYPE

GZIP: Final = 31
VERSION_LINE: Final = b"WARC/1.1\r\n"
_BLANK: Final = b"\r\n\r\n"
_TRAILER: Final = 8
"""CRC-32 and length at the end of a gzip member."""
_DIGEST: Final = "sha256:"
_NO_HEADERS: Final[tuple[tuple[str, str], ...]] = ()
IsalError: Final[type[Exception]] = isal_zlib.error  # type: ignore[assignment]  # wrong in its stub


def inflate(member: bytes, cap: int) -> bytes:
    """What exactly one gzip member holds, checked by its CRC."""
    # The member's last four bytes say how much to expect: where they lie, the CRC or the cap will tell.
    expected = int.from_bytes(member[-4:], "little")
    if len(member) < _TRAILER or expected > cap:
        raise DamagedRecord(f"{expected} bytes in one record, more than the {cap} that may be")
    stream = isal_zlib.decompressobj(GZIP)
    try:
        data = stream.decompress(member, expected + 1)
    except IsalError as error:
        raise DamagedRecord(f"not a gzip member: {error}") from None
    if not stream.eof or stream.unused_data or len(data) != expected:
        raise DamagedRecord("not one whole gzip member")
    return data


def reading(record: bytes, location: Location) -> Reading | None:
    """The exchange in a record; None if it is of another kind (warcinfo, request)."""
    head_end = record.find(_BLANK)
    if head_end < 0 or not record.startswith(VERSION_LINE):
        raise DamagedRecord("no WARC/1.1 record")
    fields = _fields(record[:head_end])
    begin, end = head_end + len(_BLANK), len(record) - len(_BLANK)
    if fields.get("content-length") != str(end - begin) or not record.endswith(_BLANK):
        raise DamagedRecord("the record's length isn't what it says")
    kind = fields.get("warc-type")
    if kind in {"warcinfo", "request"}:
        return None
    url, digest = fields.get("warc-target-uri", ""), fields.get("warc-payload-digest", "")
    if kind not in {"response", "revisit", "conversion"} or not url or not digest.startswith(_DIGEST):
        raise DamagedRecord(f"not a response: type {kind!r}, address {url!r}, digest {digest!r}")
    status, headers = 0, _NO_HEADERS
    if kind != "conversion" and fields.get("content-type", "").startswith("application/http"):
        http_end = record.find(_BLANK, begin, end)
        if http_end < 0:
            raise DamagedRecord("no whole HTTP head")
        status, headers = _http_head(record[begin:http_end])
        begin = http_end + len(_BLANK)
    elif fields.get("content-type") != RENDERED_TYPE:
        raise DamagedRecord(f"neither HTTP nor a rendering, but {fields.get('content-type')!r}")
    payload = record[begin:end]
    revisit = kind == "revisit"
    return Reading(
        location=location,
        url=url,
        status=status,
        headers=headers,
        payload=payload,
        body=_decoded(headers, payload),
        revisit=revisit,
        digest=_claimed(digest, payload) if revisit else _checked(digest, payload),
    )


def _fields(head: bytes) -> dict[str, str]:
    """The named fields of a WARC header."""
    try:
        lines = head.decode().split("\r\n")
    except UnicodeDecodeError:
        raise DamagedRecord("the WARC header isn't UTF-8") from None
    fields: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(": ")
        if not colon:
            raise DamagedRecord(f"no WARC header field: {line[:80]!r}")
        fields[name.lower()] = value
    return fields


def _http_head(head: bytes) -> tuple[int, tuple[tuple[str, str], ...]]:
    lines = head.decode("latin-1").split("\r\n")
    version, _, rest = lines[0].partition(" ")
    code = rest.partition(" ")[0]
    if not version.startswith("HTTP/") or not code.isdecimal():
        raise DamagedRecord(f"no HTTP status line: {lines[0][:80]!r}")
    headers = []
    for line in lines[1:]:
        name, colon, value = line.partition(": ")
        if not colon:
            raise DamagedRecord(f"no HTTP header: {line[:80]!r}")
        headers.append((name, value))
    return int(code), tuple(headers)


def _decoded(headers: tuple[tuple[str, str], ...], payload: bytes) -> bytes:
    """The body as the fetcher made it of this payload: it was whole then, so nothing may be missing now."""
    applied = [value for name, value in headers if name.lower() == "content-encoding"]
    if not applied or not payload:
        return payload
    try:
        return decode(payload, codings(applied), DECODED_BYTES, framed=True)
    except FetchFailed as failed:
        raise DamagedRecord(f"the body can't be decoded: {failed}") from None


def _checked(label: str, payload: bytes) -> bytes:
    """The payload's digest, and that the header says the same."""
    digest = hashlib.sha256(payload).digest()
    if label != f"{_DIGEST}{digest.hex()}":
        raise DamagedRecord("the payload isn't the one that its digest was made of")
    return digest


def _claimed(label: str, payload: bytes) -> bytes:
    """The digest of the body that a revisit stands for."""
    try:
        digest = bytes.fromhex(label.removeprefix(_DIGEST))
    except ValueError:
        digest = b""
    if len(digest) != hashlib.sha256().digest_size or payload:
        raise DamagedRecord("a revisit has one digest and no payload")
    return digest
