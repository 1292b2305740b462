"""WARC 1.1 segments: `segments` is the port's adapter, `writer` and `reader` its two halves.

`records` makes and `parse` understands one record, `files` writes bytes and nothing else, `names` says what
lies where.
"""

from holdfast.web.warc.segments import WarcSegments

__all__ = ["WarcSegments"]
