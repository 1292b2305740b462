"""Whatever goes wrong is one clear sentence on stderr, with what to do next, and the right exit code."""

import os
import shlex
import subprocess
import sys

import apsw
import pytest
from tests.kit.process import ROOT, Holdfast


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["crawl"], "Missing argument"),
        (["crawl", "docs"], "https://docs/"),
        (["crawl", "ftp://example.com/"], "ftp://example.com/"),
        (["crawl", "https://me:secret@example.com/"], "credentials"),
        (["crawl", "http://127.0.0.1:1/", "--include", "("], "regular expression"),
        (["crawl", "http://127.0.0.1:1/", "--time-limit", "soon"], "30m"),
        (["crawl", "http://127.0.0.1:1/", "--max-bytes", "lots"], "10MB"),
        (["crawl", "http://127.0.0.1:1/", "--delay", "nan"], "seconds"),
        (["crawl", "http://127.0.0.1:1/", "-n", "0"], "--max-pages"),
        (["crawl", "http://127.0.0.1:1/", "--max-bytes", "9" * 400], "no size"),
        (["crawl", "http://127.0.0.1:1/", "--checkpoint-seconds", "9" * 400], "no duration"),
        (["crawl", "http://127.0.0.1:1/", "--time-limit", "1e300"], "no duration"),
        (["crawl", "http://127.0.0.1:1/", "--delay", "1e300"], "no number of seconds"),
        (["crawl", "http://127.0.0.1:1/", "--include", os.fsdecode(b"\xff")], "UTF-8"),
        (["show", os.fsdecode(b"\xff")], "UTF-8"),
        (["--home", "~no-such-user-here/x", "ls"], "--home"),
        (["crawl", "http://127.0.0.1:1/", "-o", "pages.doc"], ".parquet"),
        (["crawl", "http://127.0.0.1:1/", "-o", "no/such/folder/pages.csv"], "no/such/folder"),
        (["crawl", "http://127.0.0.1:1/", "--name", " "], "--name docs"),
        (["crawl", "http://127.0.0.1:1/", "--user-agent", "two\nlines"], "User-Agent"),
        (["crawl", "http://127.0.0.1:1/", "--frob"], "holdfast crawl --help"),
        (["frob"], "holdfast --help"),
        (["show"], "there is no Holdfast home"),
        (["ls"], "there is no Holdfast home"),
    ],
)
def test_a_wrong_request(holdfast, words, told):
    ended = holdfast.run(*words)
    assert (ended.code, ended.out) == (2, "")
    (line,) = ended.err.splitlines()
    assert line.startswith("holdfast: ")
    assert told in line
    assert not holdfast.home.exists()


def test_nothing_asked_for_is_answered_with_the_help(holdfast):
    ended = subprocess.run(
        [sys.executable, "-m", "holdfast"],
        env={"PYTHONPATH": str(ROOT / "src")},
        check=False,
        capture_output=True,
    )
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert b"Commands:" in ended.stderr


def test_a_job_that_is_not_there(holdfast, server):
    holdfast.run("crawl", server.start, "-n", "1")
    for command in ("show", "pause", "cancel", "resume", "restart", "watch", "verify"):
        ended = holdfast.run(command, "nobody")
        assert ended.code == 2
        assert "'nobody'" in ended.sentence
        assert "holdfast ls" in ended.sentence


def test_a_wrong_state_names_what_is_allowed(holdfast, server):
    holdfast.run("crawl", server.start)
    for command in ("pause", "resume", "cancel"):
        ended = holdfast.run(command)
        assert ended.code == 2
        assert f"can't {command} a job that is completed" in ended.sentence
        assert "`holdfast restart`" in ended.sentence


def test_a_job_is_found_by_the_ends_of_its_id_and_by_its_name(holdfast, server):
    said = holdfast.run("crawl", server.start, "--name", "harbour", "-n", "1", "--json").json
    for reference in (said["job"], said["job"][:13], said["job"][-8:], "harbour"):
        assert holdfast.run("show", reference, "--json").json["job"] == said["job"]


def test_the_home_may_stand_before_and_after_the_subcommand_and_in_the_environment(holdfast, server):
    holdfast.run("crawl", server.start, "-n", "1")
    elsewhere = Holdfast(holdfast.home.parent / "elsewhere")
    assert elsewhere.run("ls", "--home", holdfast.home).code == 0
    assert elsewhere.run("ls").code == 2
    bare = [sys.executable, "-m", "holdfast", "ls"]
    environment = {
        "HOLDFAST_HOME": str(holdfast.home),
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(ROOT / "src"),
    }
    assert subprocess.run(bare, env=environment, check=False, capture_output=True).returncode == 0


def test_a_home_that_is_a_file(holdfast):
    holdfast.home.write_text("no home")
    for words in (["ls"], ["crawl", "http://127.0.0.1:1/"]):
        ended = holdfast.run(*words)
        assert ended.code == 2
        assert "is a file" in ended.sentence
    sick = holdfast.run("doctor")
    assert sick.code == 1
    assert "is a file" in sick.out


def test_a_home_of_a_newer_holdfast(holdfast, server):
    holdfast.run("crawl", server.start, "-n", "1")
    db = apsw.Connection(str(holdfast.ledger))
    db.pragma("user_version", 999)
    db.close()
    for words in (["ls"], ["crawl", server.start]):
        ended = holdfast.run(*words)
        assert ended.code == 2
        assert "newer Holdfast" in ended.sentence


def test_a_ledger_that_is_none(holdfast):
    holdfast.home.mkdir()
    holdfast.ledger.write_bytes(b"this is no database, whatever its name says" * 100)
    ended = holdfast.run("ls")
    assert ended.code == 2
    assert "damaged or not a ledger" in ended.sentence


def test_a_disk_that_is_nearly_full_pauses_the_job(holdfast, server):
    ended = holdfast.run("crawl", server.start, "--json", HOLDFAST_MIN_FREE_MB="1e9")
    assert ended.code == 3
    assert (ended.json["status"], ended.json["reason"]) == ("paused", "disk")
    assert "Free some space" in ended.err
    assert holdfast.run("crawl", server.start, "--json").json["pages"] == len(server.urls)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("POLL_S", "often"),
        ("FETCH_S", "1e300"),
        ("CONNECT_S", "0.0001"),
        ("MIN_FREE_MB", "1e308"),
        ("MAX_RETRIES", "9" * 5000),
    ],
)
def test_a_setting_that_can_not_be_used(holdfast, name, value):
    ended = holdfast.run("ls", **{f"HOLDFAST_{name}": value})
    assert ended.code == 2
    assert f"HOLDFAST_{name}" in ended.sentence


@pytest.mark.parametrize("words", [["show", ""], ["rm", "", "--yes"]], ids=["show", "rm"])
def test_an_empty_name_means_no_job(holdfast, server, words):
    holdfast.run("crawl", server.start, "-n", "1")
    assert holdfast.run(*words).code == 2
    assert holdfast.run("show").code == 0


def in_a_shell(holdfast, words, redirected):
    """`holdfast WORDS`, with its streams as the shell redirects them."""
    command = shlex.join([sys.executable, "-m", "holdfast", "--home", str(holdfast.home), *words])
    return subprocess.run(
        ["/bin/sh", "-c", f"exec {command} {redirected}"],
        check=False,
        capture_output=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
    )


@pytest.mark.parametrize("redirected", ["2>&-", "2>/dev/full", ">&-"])
def test_a_crawl_needs_nobody_who_listens(holdfast, server, redirected):
    """Not even at its start: stdout or stderr is closed, or full."""
    ended = in_a_shell(holdfast, ["crawl", server.start, "--json"], redirected)
    assert (ended.returncode, b"Traceback" in ended.stderr) == (0, False), ended
    assert holdfast.show()["status"] == "completed"
    assert not list(holdfast.home.glob("crash-*"))


def test_an_answer_that_finds_no_room_says_so(holdfast, server):
    holdfast.run("crawl", server.start, "-n", "1")
    ended = in_a_shell(holdfast, ["show"], ">/dev/full")
    assert ended.returncode != 0
    assert b"the disk is full" in ended.stderr
    assert not list(holdfast.home.glob("crash-*"))


def test_removing_a_job_asks_first(holdfast, server):
    holdfast.run("crawl", server.start, "-n", "5")
    refused = holdfast.run("rm")
    assert refused.code == 2
    assert "--yes" in refused.sentence
    assert holdfast.segments()
    assert holdfast.run("rm", "--yes").code == 0
    assert not holdfast.segments()
    assert holdfast.run("ls").out == ""
    assert holdfast.run("show").code == 2


def test_a_bug_is_a_sentence_with_the_place_of_its_traceback(holdfast, server):
    holdfast.run("crawl", server.start, "-n", "1")
    db = apsw.Connection(str(holdfast.ledger))
    db.execute("UPDATE records SET data = '{}'")
    db.close()
    ended = holdfast.run("export", "-o", holdfast.home / "pages.jsonl")
    assert ended.code == 1
    assert "should not have happened" in ended.sentence
    (log,) = holdfast.home.glob("crash-*.log")
    assert str(log) in ended.sentence
    assert "Traceback" in log.read_text()


@pytest.mark.parametrize(
    ("change", "column"),
    [
        ("jobs SET bounds = '[]'", "bounds"),
        ("jobs SET bounds = '{\"limits\": 3}'", "bounds"),
        ('jobs SET bounds = \'{"limits": {"max_pages": "all"}}\'', "bounds"),
        ("jobs SET spec = '[]'", "spec"),
        ("chunks SET cursor = '[]'", "cursor"),
    ],
)
def test_a_damaged_row_is_named_with_its_job_and_hides_no_other(holdfast, server, change, column):
    one = holdfast.run("crawl", server.start, "-n", "1", "--json", "--name", "one").json["job"][-8:]
    other = holdfast.run("crawl", server.start, "-n", "1", "--json", "--name", "other").json["job"][-8:]
    db = apsw.Connection(str(holdfast.ledger))
    key = "id" if column != "cursor" else "job_id"
    db.execute(f"UPDATE {change} WHERE {key} = (SELECT max(id) FROM jobs)")
    db.close()
    ended = holdfast.run("crawl", server.start, "-n", "2", "--name", "other")
    assert ended.code == 1
    assert f"job {other} can't be read: its `{column}` in the ledger is damaged" in ended.sentence
    listed = holdfast.run("ls")
    assert one in listed.out
    if column != "cursor":
        assert listed.code == 1
        assert f"job {other} can't be read" in listed.sentence


def test_what_a_newer_holdfast_noted_beside_is_left_alone(holdfast, server):
    holdfast.run("crawl", server.start, "-n", "1")
    db = apsw.Connection(str(holdfast.ledger))
    db.execute("UPDATE jobs SET bounds = json_set(bounds, '$.limits.max_hosts', 3, '$.weather', 'fair')")
    db.close()
    assert holdfast.run("crawl", server.start, "-n", "2", "--json").json["pages"] == 2


def test_whoever_stops_reading_is_no_error(holdfast, server):
    holdfast.run("crawl", server.start, "-n", "1")
    words = f"{sys.executable} -m holdfast --home {holdfast.home} show | head -1"
    ended = subprocess.run(
        ["bash", "-c", words],
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"},
        check=False,
        capture_output=True,
    )
    assert ended.stderr == b""


def test_doctor_finds_this_machine_fit(holdfast):
    ended = holdfast.run("doctor")
    assert ended.code == 0, ended
    assert {line.split()[0] for line in ended.out.splitlines() if not line.startswith(" ")} <= {"ok", "warn"}
