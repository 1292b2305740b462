"""What goes into a file comes out of it again, in every format; and the file is whole or not there."""

import csv
import gzip
import io
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.errors import StorageFailed, StorageFull, UsageError
from holdfast.output.formats import ColumnType, ending_of, open_rows
from holdfast.output.target import check_target, whole_file
from holdfast.ports import faults

COLUMNS = {
    "url": ColumnType.TEXT,
    "status": ColumnType.WHOLE,
    "elapsed_ms": ColumnType.REAL,
    "fetched_at": ColumnType.TIME,
    "text": ColumnType.TEXT,
}
AWKWARD = [
    'commas, "quotes", and\nnew\r\nlines\r',
    "=HYPERLINK(1)",
    "-1+1",
    "@SUM(A1)",
    "\0 and \x1b[31m",
    "née 日本語 🎈",
    "﻿BOM",
    " spaces ",
    "",
]


def row(text, **changes):
    return {
        "url": "http://a/",
        "status": 200,
        "elapsed_ms": 1.5,
        "fetched_at": "2026-01-02T03:04:05.678Z",
        "text": text,
    } | changes


def written(ending, rows):
    file = io.BytesIO()
    with open_rows(ending, file, COLUMNS) as writer:
        for one in rows:
            writer.write([one])
    return file.getvalue()


def read_back(ending, data):
    """The rows, as the format's own reader gives them."""
    if ending == ".csv":
        return list(csv.DictReader(io.StringIO(data.decode(), newline="")))
    if ending == ".parquet":
        from pyarrow.parquet import read_table

        return read_table(io.BytesIO(data)).to_pylist()
    if ending == ".jsonl.gz":
        data = gzip.decompress(data)
    return [json.loads(line) for line in data.decode().split("\n")[:-1]]


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".csv", ".parquet"])
class TestEveryFormat:
    def test_awkward_texts_come_back_as_they_were(self, ending):
        rows = [row(text) for text in AWKWARD]
        assert [one["text"] for one in read_back(ending, written(ending, rows))] == AWKWARD

    def test_a_huge_text_comes_back(self, ending):
        text = "a long story, " * 200_000
        csv.field_size_limit(len(text) + 1)
        assert read_back(ending, written(ending, [row(text)]))[0]["text"] == text

    def test_a_lone_surrogate_becomes_a_replacement_and_a_pair_its_character(self, ending):
        rows = [row("a\ud800b"), row("\ud83c\udf88")]
        assert [one["text"] for one in read_back(ending, written(ending, rows))] == ["a�b", "🎈"]

    def test_no_rows_are_a_valid_file(self, ending):
        assert read_back(ending, written(ending, [])) == []

    def test_columns_keep_their_order(self, ending):
        found = read_back(ending, written(ending, [row("x")]))
        assert list(found[0]) == list(COLUMNS)

    def test_the_same_rows_give_the_same_bytes(self, ending):
        assert written(ending, [row("x")] * 3) == written(ending, [row("x")] * 3)

    @given(st.lists(st.text(), max_size=5))
    def test_any_text(self, ending, texts):
        found = read_back(ending, written(ending, [row(text) for text in texts]))
        assert [one["text"] for one in found] == [
            text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts
        ]


def test_parquet_has_types():
    from datetime import UTC, datetime

    (found,) = read_back(".parquet", written(".parquet", [row("x")]))
    assert found["status"] == 200
    assert math.isclose(found["elapsed_ms"], 1.5)
    assert found["fetched_at"] == datetime(2026, 1, 2, 3, 4, 5, 678000, UTC)


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".csv", ".parquet"])
def test_json_is_itself_in_json_lines_and_text_elsewhere(ending, monkeypatch):
    monkeypatch.setitem(COLUMNS, "tags", ColumnType.JSON)
    value = {"a": ["née", 1.5, None, True], "b": []}
    first, second = read_back(ending, written(ending, [row("x", tags=value), row("\ud800", tags=None)]))
    nested = ending.startswith(".jsonl")
    assert (first["tags"] if nested else json.loads(first["tags"])) == value
    assert second["tags"] in {None, ""}
    assert second["text"] == "\ufffd"


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet"])
def test_none_is_nothing(ending):
    (found,) = read_back(ending, written(ending, [row(None, status=None, fetched_at=None)]))
    assert found["text"] in {None, ""}
    assert found["status"] in {None, ""}


def test_parquet_groups_are_bounded(monkeypatch):
    from pyarrow.parquet import ParquetFile

    from holdfast.output import parquet

    monkeypatch.setattr(parquet, "_GROUP_ROWS", 10)
    monkeypatch.setattr(parquet, "_GROUP_CHARS", 1_000)
    by_rows = ParquetFile(io.BytesIO(written(".parquet", [row("")] * 25)))
    assert [by_rows.metadata.row_group(n).num_rows for n in range(by_rows.num_row_groups)] == [10, 10, 5]
    by_size = ParquetFile(io.BytesIO(written(".parquet", [row("x" * 2_000)] * 3)))
    assert by_size.num_row_groups == 3


class TestEndings:
    @pytest.mark.parametrize(
        ("name", "ending"),
        [
            ("a.jsonl", ".jsonl"),
            ("A.JSONL.GZ", ".jsonl.gz"),
            ("b.csv", ".csv"),
            ("c.d.parquet", ".parquet"),
            ("e.warc.gz", ".warc.gz"),
        ],
    )
    def test_known(self, tmp_path, name, ending):
        assert ending_of(tmp_path / name) == ending

    @pytest.mark.parametrize("name", ["a.json", "a", "a.gz", "a.csv.gz", ".csv", "a.warc"])
    def test_unknown_names_the_known(self, tmp_path, name):
        with pytest.raises(UsageError, match=r"\.jsonl, \.jsonl\.gz, \.csv, \.parquet, \.warc\.gz"):
            ending_of(tmp_path / name)


class TestWholeFile:
    def test_it_appears_at_the_end(self, tmp_path):
        path = tmp_path / "out"
        with whole_file(path) as file:
            file.write(b"new")
            assert not path.exists()
        assert path.read_bytes() == b"new"
        assert [one.name for one in tmp_path.iterdir()] == ["out"]

    def test_an_error_leaves_what_was_there(self, tmp_path):
        path = tmp_path / "out"
        path.write_bytes(b"old")
        with pytest.raises(ZeroDivisionError), whole_file(path) as file:
            file.write(b"new" * (1 // 0))
        assert path.read_bytes() == b"old"
        assert [one.name for one in tmp_path.iterdir()] == ["out"]

    def test_a_link_stays_a_link(self, tmp_path):
        real = tmp_path / "real"
        real.write_bytes(b"old")
        link = tmp_path / "link"
        link.symlink_to(real)
        with whole_file(link) as file:
            file.write(b"new")
        assert link.is_symlink()
        assert real.read_bytes() == b"new"

    @pytest.mark.parametrize(("number", "error"), [(28, StorageFull), (122, StorageFull), (5, StorageFailed)])
    def test_what_the_disk_refuses(self, tmp_path, number, error):
        with pytest.raises(error, match="export again"), whole_file(tmp_path / "out"):
            raise OSError(number, "no")
        assert list(tmp_path.iterdir()) == []

    def test_the_fault_point_lies_before_the_rename(self, tmp_path):
        path = tmp_path / "out"
        seen = []
        faults.arm(lambda point, _context: seen.append((point, path.exists())))
        try:
            with whole_file(path) as file:
                file.write(b"new")
        finally:
            faults.arm(None)
        assert seen == [(faults.FaultPoint.MID_EXPORT, False)]


class TestCheckTarget:
    def test_a_directory_is_none(self, tmp_path):
        with pytest.raises(UsageError, match="is a directory"):
            check_target(tmp_path)

    def test_nor_is_a_file_in_no_directory(self, tmp_path):
        with pytest.raises(UsageError, match="no directory"):
            check_target(tmp_path / "none" / "a.csv")
