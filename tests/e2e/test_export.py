"""A file that is there is whole; what can't be read is said."""

import json
import signal

import pytest
from tests.kit.process import Fault

from holdfast.ports.faults import FaultPoint


@pytest.fixture
def crawled(holdfast, server):
    assert holdfast.run("crawl", server.start, "-n", "40", "--quiet").code == 0
    return holdfast


def test_a_kill_before_the_rename_leaves_the_old_file(crawled, tmp_path):
    output = tmp_path / "pages.csv"
    output.write_text("the old file")
    killed = crawled.run("export", "-o", output, fault=Fault(at=FaultPoint.MID_EXPORT))
    assert killed.code == -signal.SIGKILL
    assert output.read_text() == "the old file"
    assert crawled.run("export", "-o", output).code == 0
    assert len(output.read_text().splitlines()) > 40


def test_a_full_disk_leaves_the_old_file(crawled, tmp_path):
    output = tmp_path / "pages.jsonl"
    output.write_text("the old file")
    full = crawled.run("export", "-o", output, fault=Fault(at=FaultPoint.MID_EXPORT, do="full"))
    assert full.code == 3
    assert "free some space" in full.sentence
    assert output.read_text() == "the old file"
    assert list(tmp_path.glob(".*.part")) == []


def test_a_damaged_body_is_said_and_costs_only_its_own_text(crawled, tmp_path):
    (segment,) = crawled.segments()
    data = bytearray(segment.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 16] = bytes(16)
    segment.write_bytes(data)
    output = tmp_path / "pages.jsonl"
    ended = crawled.run("export", "-o", output)
    assert ended.code == 1
    assert "holdfast verify" in ended.err
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert len(rows) == 40
    assert 0 < sum(not row["text"] for row in rows) < 5


def test_a_damaged_body_is_in_the_exit_code_of_a_completed_crawl_too(crawled, server, tmp_path):
    (segment,) = crawled.segments()
    data = bytearray(segment.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 16] = bytes(16)
    segment.write_bytes(data)
    ended = crawled.run("crawl", server.start, "-n", "40", "--json", "-o", tmp_path / "pages.jsonl")
    assert (ended.code, ended.json["status"]) == (1, "completed")


def test_a_missing_segment_is_said(crawled, tmp_path):
    (segment,) = crawled.segments()
    segment.unlink()
    for ending, code in (("jsonl", 1), ("warc.gz", 1)):
        ended = crawled.run("export", "-o", tmp_path / f"pages.{ending}")
        assert ended.code == code, ended
        assert "Traceback" not in ended.err
        assert "holdfast verify" in ended.err
