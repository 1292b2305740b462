"""Jobs that go away: while they do, or while somebody reads them, nothing is left behind and nothing good is lost."""

import asyncio
import subprocess
import sys

import pytest
from tests.kit.homes import settings_for

from holdfast.bootstrap import open_home
from holdfast.cli.pages import pages
from holdfast.domain.errors import JobHeld, UnknownJob
from holdfast.output.export import Source, export

pytestmark = pytest.mark.failure


async def forget(home):
    """What `holdfast rm` does first; then it is killed."""
    async with open_home(settings_for(home)) as opened:
        await opened.tools.jobs.forget((await opened.tools.jobs.find(None)).id)


def test_a_removal_that_was_killed_is_finished_with_its_files(holdfast, server):
    # given a job of which only the beginning of its removal is in the ledger
    assert holdfast.crawl(server.start, "-n", "30").ended().code == 0
    asyncio.run(forget(holdfast.home))
    assert holdfast.segments()

    # when any job is removed
    assert holdfast.run("rm", "--yes").code == 2, "there is none that it could name"

    # then nothing of it is left
    assert holdfast.segments() == []
    assert holdfast.read("SELECT count(*) FROM jobs") == [(0,)]
    assert holdfast.read("SELECT count(*) FROM items") == [(0,)]


@pytest.mark.parametrize("ending", ["jsonl", "warc.gz"])
@pytest.mark.parametrize("words", [["restart", "--no-run"], ["rm", "--yes"]], ids=["restart", "rm"])
def test_an_export_of_a_job_that_is_emptied_meanwhile_leaves_the_old_file(
    holdfast, server, tmp_path, words, ending
):
    # given a job and its output
    assert holdfast.crawl(server.start).ended().code == 0
    target = tmp_path / f"pages.{ending}"
    assert holdfast.run("export", "-o", target).code == 0
    before = target.read_bytes()

    # when another process empties the job while it is exported once more
    def empty_it(_count):
        command = [sys.executable, "-m", "holdfast", "--home", str(holdfast.home), *words]
        subprocess.run(command, check=False, capture_output=True)

    async def export_it():
        async with open_home(settings_for(holdfast.home)) as opened:
            job = await opened.tools.jobs.find(None)
            source = Source(
                opened.tools.jobs, opened.tools.ledger, opened.tools.segments, opened.segment_path
            )
            await export(source, job, pages(job), target, empty_it)

    # then that is said, and the file is the one that it was
    with pytest.raises((JobHeld, UnknownJob)):
        asyncio.run(export_it())
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.glob("*pages*")] == [target.name]
