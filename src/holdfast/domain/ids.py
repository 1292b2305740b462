"""Ids that sort by time."""


def uuid7(unix_ms: int, random: bytes) -> str:
    """A UUIDv7 from a time and ten random bytes (RFC 9562)."""
    bits = (unix_ms & (1 << 48) - 1) << 80 | int.from_bytes(random[:10], "big")
    bits = bits & ~(0xF << 76) | 0x7 << 76
    bits = bits & ~(0x3 << 62) | 0x2 << 62
    text = f"{bits:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
