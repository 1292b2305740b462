"""An export appears whole or not at all."""

import csv
import json
import signal

import pytest
from tests.kit.process import Fault

from holdfast.ports.faults import FaultPoint

pytestmark = pytest.mark.failure

ENDINGS = ["jsonl", "jsonl.gz", "csv", "parquet", "warc.gz", "wacz", "cdxj"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_kill_during_an_export_leaves_the_old_file(holdfast, server, tmp_path, ending):
    # given a crawl, and an export of it that died before its file took its name
    assert holdfast.crawl(server.start, "-n", "50").ended().code == 0
    folder = tmp_path / "out"
    folder.mkdir()
    target = folder / f"pages.{ending}"
    dies = Fault(at=FaultPoint.MID_EXPORT)
    assert holdfast.run("export", "-o", target, fault=dies).code == -signal.SIGKILL

    # then there is no such file, nor anything that looks like one
    assert not target.exists()
    assert not [path for path in folder.iterdir() if not path.name.startswith(".")]

    # and once there is one, a killed export leaves it as it was
    assert holdfast.run("export", "-o", target).code == 0
    whole = target.read_bytes()
    assert holdfast.run("export", "-o", target, fault=dies).code == -signal.SIGKILL
    assert target.read_bytes() == whole
    assert holdfast.run("export", "-o", target).code == 0
    if ending == "jsonl":
        rows = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
        assert len({row["url"] for row in rows}) == len(rows) == 50


def test_a_kill_before_the_export_at_the_end_of_a_crawl(holdfast, server, tmp_path):
    # given a crawl with -o that completed and died before its file was there
    target = tmp_path / "pages.csv"
    died = holdfast.crawl(server.start, "-o", str(target), fault=Fault(at=FaultPoint.MID_EXPORT)).ended()
    assert died.code == -signal.SIGKILL
    assert not target.exists()

    # then the same command writes it without fetching anything
    served = server.served
    assert holdfast.crawl(server.start, "-o", str(target)).ended().code == 0
    assert server.served == served
    with target.open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == len(server.urls)


@pytest.mark.parametrize("form", ["markdown", "mirror"])
def test_a_kill_during_an_export_of_a_folder_leaves_the_old_one(holdfast, server, tmp_path, form):
    # given a crawl, and an export of it that died before its folder took its name
    assert holdfast.crawl(server.start, "-n", "50").ended().code == 0
    target = tmp_path / "out" / "site"
    target.parent.mkdir()
    dies = Fault(at=FaultPoint.MID_EXPORT)
    command = ("export", "--format", form, "-o", target)
    assert holdfast.run(*command, fault=dies).code == -signal.SIGKILL
    assert not target.exists()

    # and once there is one, a killed export leaves it as it was
    assert holdfast.run(*command).code == 0
    whole = contents(target)
    assert len(whole) == 52
    assert holdfast.run(*command, fault=dies).code == -signal.SIGKILL
    assert contents(target) == whole

    # then the next one replaces it and clears away what the killed ones left
    assert holdfast.run(*command).code == 0
    assert contents(target) == whole
    assert [path.name for path in target.parent.iterdir()] == ["site"]


def contents(folder):
    """Every file in it, by its path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_that_nobody_exported_is_never_touched(holdfast, server, tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "letter.txt").write_text("mine")
    # before the crawl, not after it
    ended = holdfast.crawl(server.start, "-o", str(theirs), "--format", "mirror").ended()
    assert ended.code == 2
    assert "won't be touched" in ended.sentence
    assert server.served == 0
    assert contents(theirs) == {"letter.txt": b"mine"}
