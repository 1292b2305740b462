"""A restart that is killed halfway: nobody takes what is left for the job."""

import asyncio

import pytest
from tests.kit.homes import settings_for

from holdfast.bootstrap import open_home

pytestmark = pytest.mark.failure


async def begin_a_restart(home):
    async with open_home(settings_for(home)) as opened:
        await opened.tools.jobs.empty((await opened.tools.jobs.find(None)).id)


def test_every_command_says_how_to_go_on_and_no_output_is_overwritten(holdfast, server, tmp_path):
    # given a completed job with its output
    output = tmp_path / "pages.jsonl"
    assert holdfast.run("crawl", server.start, "-o", output).code == 0
    before = output.read_bytes()

    # kill its restart when its rows are gone
    asyncio.run(begin_a_restart(holdfast.home))

    # then every command refuses it, with what to type
    for words in (
        ["crawl", server.start, "-o", output],
        ["resume", "-o", output],
        ["export", "-o", output],
        ["verify"],
    ):
        ended = holdfast.run(*words)
        assert ended.code == 2, ended
        assert "`holdfast restart " in ended.sentence
    assert output.read_bytes() == before

    # and that carries it to its end
    assert holdfast.run("restart", "-o", output).code == 0
    assert output.read_bytes().count(b"\n") == len(server.urls)
    assert holdfast.run("verify").code == 0
