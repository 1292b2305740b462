"""A file that is there is whole; what can't be read is said."""

import asyncio
import json
import signal

import pytest
from tests.kit.homes import settings_for
from tests.kit.process import Fault

from holdfast.bootstrap import open_home
from holdfast.cli.pages import pages
from holdfast.output.export import Source, export
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


class TestFields:
    """Found in the stored pages: whatever is asked for, nothing is fetched again."""

    def rows(self, holdfast, tmp_path, *words):
        output = tmp_path / "fields.jsonl"
        ended = holdfast.run("export", "-o", output, *words)
        assert ended.code == 0, ended
        return [json.loads(line) for line in output.read_text().splitlines()]

    def test_those_of_the_crawl_are_in_each_export_and_more_may_be_added(self, holdfast, server, tmp_path):
        asked = ["--field", "head=css:title", "--field", "first=css:a@href"]
        assert holdfast.run("crawl", server.start, "-n", "10", *asked).code == 0
        served = server.served
        more = ["--field", "first=all css:a@href", "--field", "count=number xpath:count(//a)"]
        for row in self.rows(holdfast, tmp_path, *more):
            assert row["head"] == row["title"]
            assert len(row["first"]) == row["count"] > 0
        assert all(isinstance(row["first"], str) for row in self.rows(holdfast, tmp_path))
        assert server.served == served

    def test_a_completed_crawl_writes_what_its_command_asks_for_now(self, holdfast, server, tmp_path):
        for ending in ("jsonl", "csv"):
            output = tmp_path / f"pages.{ending}"
            for name in ("one", "two"):
                words = ["-n", "10", "-o", output, "--field", f"{name}=css:title"]
                assert holdfast.run("crawl", server.start, *words).code == 0
                text = output.read_text()
                assert name in text.splitlines()[0]
                assert ("one" in text.splitlines()[0]) is (name == "one")

    def test_a_crawl_that_goes_on_with_other_fields_has_them_in_every_row(self, holdfast, server, tmp_path):
        output = tmp_path / "pages.jsonl"
        for limit, name in (("5", "one"), ("10", "two")):
            words = ["-n", limit, "-o", output, "--field", f"{name}=css:title"]
            assert holdfast.run("crawl", server.start, *words).code == 0
            rows = [json.loads(line) for line in output.read_text().splitlines()]
            assert len(rows) == int(limit)
            assert all(row[name] == row["title"] for row in rows)

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            (["--field", "x=css:["], "the field x"),
            (["--field", "text=css:p"], "a column text already"),
            (["--field", "x"], "NAME=css:SELECTOR"),
        ],
    )
    def test_a_wrong_one_is_told_before_anything_begins(self, holdfast, words, told, tmp_path):
        for command in (["crawl", "http://127.0.0.1:1/"], ["export", "-o", tmp_path / "a.csv"]):
            ended = holdfast.run(*command, *words)
            assert ended.code == 2
            assert told in ended.sentence
        assert not holdfast.home.exists()

    def test_an_archive_has_no_columns(self, holdfast, tmp_path):
        ended = holdfast.run("export", "-o", tmp_path / "a.warc.gz", "--field", "x=css:p")
        assert ended.code == 2
        assert "--field makes columns" in ended.sentence


@pytest.mark.parametrize("damage", [False, True])
def test_several_processes_write_what_one_writes(crawled, tmp_path, monkeypatch, damage):
    if damage:
        (segment,) = crawled.segments()
        data = bytearray(segment.read_bytes())
        data[len(data) // 2 : len(data) // 2 + 16] = bytes(16)
        segment.write_bytes(data)
    fields = ("links_to=all css:a@href", "n=number xpath:count(//a)", "x=regex:kept, (\\w+)")
    monkeypatch.setattr("holdfast.output.export._PAGE", 7)

    async def written(name, hands):
        monkeypatch.setattr("holdfast.output.export.hands", lambda _: hands)
        async with open_home(settings_for(crawled.home)) as home:
            job = await home.tools.jobs.find(None)
            source = Source(home.tools.jobs, home.tools.ledger, home.tools.segments, home.segment_path)
            seen = []
            done = await export(source, job, pages(job, fields), tmp_path / name, seen.append)
            return (tmp_path / name).read_bytes(), seen, done.count, done.damaged

    alone = asyncio.run(written("alone.jsonl", 0))
    assert asyncio.run(written("together.jsonl", 3)) == alone
    assert (alone[2], bool(alone[3])) == (40, damage)
