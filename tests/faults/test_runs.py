"""kill -9 while a job is crawled again, taken back or forked: what comes of it is what the server's own log says."""

import json
import os
import random
import signal
import time
from collections import Counter

import pytest
from tests.kit.process import PER_KILL, Fault, Holdfast, assert_rows, until
from tests.kit.server import Answer, Site, generated, serving

from holdfast.ports.faults import FaultPoint

pytestmark = pytest.mark.failure

SEED = int(os.environ.get("FAULTS_SEED", "0")) or random.SystemRandom().randrange(1, 10**9)
KILLS = max(3, int(os.environ.get("FAULTS_KILLS", "27")) // 6)
PAGES = 300


@pytest.fixture
def rng(request):
    print(f"FAULTS_SEED={SEED} repeats this")
    return random.Random(f"{SEED} {request.node.name}")


@pytest.fixture
def site():
    return generated(PAGES, seed=SEED)


@pytest.fixture
def server(site, tmp_path):
    with serving(site, tmp_path / "access.log") as server:
        server.validates = True
        yield server


def changed(site, rng):
    """The same site some time later: pages that say something else, that are gone, and one that is new."""
    answers = dict(site.answers)
    leaves = [path for path in sorted(site.pages) if b"<li>" not in answers[path].body or "/copies/" in path]
    inner = [path for path in sorted(site.pages) if path not in leaves and path != "/"]
    other = set(rng.sample(inner, 20))
    for path in other:
        answers[path] = Answer(200, answers[path].body + b"<p>Something else.", answers[path].headers)
    # Nobody below these would be named any more by anybody else but the last run.
    gone = set(rng.sample([path for path in inner if path not in other], 10))
    for path in gone:
        del answers[path]
    home = answers["/"]
    answers["/"] = Answer(200, home.body + b"<a href='/brand-new'>new</a>", home.headers)
    answers["/brand-new"] = Answer(200, b"<title>new</title>")
    return Site(answers), {*other, "/"}, gone


def serves(server, running, goal):
    """Until it has asked so often, or has ended."""
    until(lambda: server.served >= goal or not running.alive, "pages")


def killed_at_random(rng, holdfast, server, begin, goes_on):
    """Run the command and kill it, over and over: between slices, while it crawls, or at any moment."""
    words = begin
    for turn in range(KILLS):
        how = rng.choice(["slice", "time", "pages"]) if turn else "slice"
        if how == "slice":
            fault = Fault(at=FaultPoint.MID_CHANGE, nth=rng.randrange(1, 6), slice=rng.choice([40, 80]))
            ended = holdfast.run(*words, fault=fault)
            holdfast.kills += ended.code == -signal.SIGKILL
            if ended.code == 0:
                return
        else:
            served = server.served
            running = holdfast.start(*words)
            if how == "time":
                time.sleep(rng.uniform(0.0, 0.8))
            else:
                serves(server, running, served + rng.randrange(1, 60))
            if not running.alive:
                assert running.ended().code == 0
                return
            holdfast.kill(running)
        stands = holdfast.read("SELECT run, changing FROM jobs ORDER BY id LIMIT 1")
        # Before it was begun, it is begun again; from then on whatever command comes carries it on.
        words = begin if stands == [(1, None)] else goes_on
    ended = holdfast.run(*words)
    assert ended.code == 0, ended


def rows_of(holdfast, tmp_path, *words):
    target = tmp_path / f"rows{'-'.join(words).replace('--', '')}.jsonl"
    ended = holdfast.run("export", *words, "-o", target, "--quiet")
    assert ended.code == 0, ended
    return target.read_bytes()


def assert_all_runs_hold(holdfast, job=()):
    shown = holdfast.run("show", *job, "--json").json
    for run in shown["runs"]:
        verified = holdfast.run("verify", *job, "--run", str(run["number"]))
        assert verified.code == 0, verified
    return shown


@pytest.mark.timeout(300)
def test_a_rescan_that_is_killed_finds_every_change_and_fetches_no_unchanged_page(
    holdfast, server, site, rng, tmp_path
):
    # given a completed crawl of a site that changes afterwards
    assert holdfast.crawl(server.start).ended().code == 0
    first = rows_of(holdfast, tmp_path)
    before = server.answers()
    server.site, other, gone = changed(site, rng)
    bodies = Counter(site.answers[path].body for path in site.pages)
    # Of pages with one body only one has it stored under its own address, whichever came first.
    doubles = {path for path in site.pages if bodies[site.answers[path].body] > 1}

    # when it is crawled again, and that is killed over and over
    server.delay_s = 0.005
    goes_on = ["crawl", server.start, "--quiet"]
    killed_at_random(rng, holdfast, server, ["rescan", "--quiet"], goes_on)
    server.delay_s = 0.0

    # then it has what the site has now, each page once, and says what changed
    assert holdfast.kills, "nothing was killed"
    shown = assert_all_runs_hold(holdfast)
    assert (shown["status"], shown["run"]) == ("completed", 2)
    changes = {change: count for change, count in shown["changes"].items() if count}
    kept = len(site.pages) - len(other) - len(gone)
    assert changes == {"new": 1, "changed": len(other), "gone": len(gone), "unchanged": kept}
    rows = rows_of(holdfast, tmp_path, "--run", "2")
    listed = [line for line in rows.splitlines() if line]
    assert len(listed) == len(server.site.pages)

    # nothing that its server could tell to be unchanged was sent again, by the server's own count
    since = server.answers() - before
    sent_again = [
        path
        for (status, path), count in since.items()
        if status == 200 and path in site.pages and path not in other and path not in doubles and count
    ]
    assert sent_again == []
    asked = sum(count for (status, path), count in since.items() if path in server.site.pages)
    assert asked <= len(server.site.pages) + holdfast.kills * PER_KILL
    # and the first run is what it was
    assert rows_of(holdfast, tmp_path, "--run", "1") == first


@pytest.mark.timeout(300)
def test_a_rollback_that_is_killed_takes_the_whole_job_back(holdfast, server, rng, tmp_path):
    # given a completed crawl
    assert holdfast.crawl(server.start).ended().code == 0
    first = rows_of(holdfast, tmp_path)
    ((last,),) = holdfast.read("SELECT commit_no FROM jobs")
    ((job,),) = holdfast.read("SELECT public_id FROM jobs")
    number = rng.randrange(2, last - 1)
    expected = settled_by(holdfast, number)

    # when it is taken back, and that is killed between slices
    words = ["rollback", job, str(number)]
    for nth in (1, 2, 4):
        fault = Fault(at=FaultPoint.MID_CHANGE, nth=nth, slice=60)
        assert holdfast.run(*words, fault=fault).code == -signal.SIGKILL
        assert holdfast.run("verify").code == 2, "half of a change is no state to judge"
        words = ["resume", job]
    died = holdfast.run(*words, fault=Fault(at=FaultPoint.AFTER_CLAIM))
    assert died.code == -signal.SIGKILL

    # then it has what was settled by then, and goes on to the whole site; both runs hold
    assert settled_by(holdfast, 10**9, run=2) == expected
    served = server.served
    ended = holdfast.crawl(server.start).ended()
    assert (ended.code, ended.json["run"]) == (0, 2), ended
    assert ended.json["checkpoint"] > last, "numbers are never used again"
    pages = {url for url, status in expected if status == "done"}
    assert server.served - served <= len(server.site.answers) + 40 - len(pages)
    assert_rows_are(rows_of(holdfast, tmp_path), server.urls)
    assert rows_of(holdfast, tmp_path, "--run", "1") == first
    assert_all_runs_hold(holdfast)


def settled_by(holdfast, number, run=1):
    """Straight from the rows: what was settled by commits up to that one."""
    return set(
        holdfast.read(
            f"SELECT url, status FROM items WHERE run = {run} AND settled_commit <= {number} AND attempts > 0"
        )
    )


def assert_rows_are(rows, urls):
    assert_rows([json.loads(line) for line in rows.splitlines()], urls)


@pytest.mark.timeout(300)
def test_a_fork_that_is_killed_is_finished_or_was_never_begun(holdfast, server, rng, tmp_path):
    # given a crawl that was killed somewhere, and its fork at some checkpoint, killed over and over
    running = holdfast.crawl(server.start)
    until(lambda: server.served > PAGES // 2, "half of the site", running=running)
    holdfast.kill(running)
    ((base,),) = holdfast.read("SELECT public_id FROM jobs")
    assert holdfast.run("pause", base).code == 0
    number = rng.randrange(2, holdfast.commits())
    expected = settled_by(holdfast, number)
    words = ["fork", base, str(number), "--name", "forked"]
    for nth in (1, 3):
        fault = Fault(at=FaultPoint.MID_CHANGE, nth=nth, slice=60)
        assert holdfast.run(*words, fault=fault).code == -signal.SIGKILL
        assert holdfast.run("rm", base, "--yes", fault=Fault(at=FaultPoint.MID_CHANGE, slice=60)).code in {
            -signal.SIGKILL,
            2,
        }
        words = ["resume", "forked", "--quiet"]

    # when both go on, and the first is removed
    ((fork_id,),) = holdfast.read("SELECT id FROM jobs WHERE name = 'forked'")
    assert holdfast.run("resume", "forked", "--quiet").code == 0
    assert holdfast.read(f"SELECT count(*) FROM jobs WHERE id = {fork_id} AND changing IS NULL") == [(1,)]
    if holdfast.read(f"SELECT 1 FROM jobs WHERE public_id = '{base}' AND changing IS NULL"):
        assert holdfast.run("verify", base).code == 0
        assert holdfast.run("resume", base, "--quiet").code == 0
        assert_rows_are(rows_of(holdfast, tmp_path, base), server.urls)
        assert holdfast.run("rm", base, "--yes").code == 0

    # then the fork has all pages, those that were settled by then among them, in files of its own
    assert_rows_are(rows_of(holdfast, tmp_path, "forked"), server.urls)
    assert_all_runs_hold(holdfast, ["forked"])
    early = set(
        holdfast.read(
            f"SELECT i.url, i.status FROM items AS i JOIN jobs AS j ON j.id = i.job_id "
            f"WHERE j.id = {fork_id} AND i.settled_commit <= {number} AND i.attempts > 0"
        )
    )
    assert early == expected


def test_a_torn_file_under_a_rescan_is_fetched_again(holdfast, server, tmp_path):
    # given a completed crawl that was crawled again, of which the first run's file has lost its end since
    assert holdfast.crawl(server.start).ended().code == 0
    assert holdfast.run("rescan", "--no-run").code == 0
    running = holdfast.crawl(server.start)
    until(lambda: server.answers()[304, "/"] == 1 and holdfast.commits() > 40, "pages", running=running)
    holdfast.kill(running)
    first = holdfast.segments()[0]
    with first.open("r+b") as file:
        file.truncate(first.stat().st_size // 3)

    # then what can't be pointed to any more is fetched whole, and the run holds
    assert holdfast.crawl(server.start).ended().code == 0
    assert_rows_are(rows_of(holdfast, tmp_path), server.urls)
    verified = holdfast.run("verify")
    assert verified.code == 0, verified
    assert holdfast.run("verify", "--run", "1").code == 1, "the run that lost its bytes says so"


@pytest.mark.parametrize(
    "point", [FaultPoint.AFTER_SEGMENT, FaultPoint.IN_TRANSACTION, FaultPoint.AFTER_COMMIT]
)
def test_a_kill_in_a_commit_of_a_rescan_costs_what_was_in_flight(holdfast, server, point):
    assert holdfast.crawl(server.start).ended().code == 0
    assert holdfast.run("rescan", "--no-run").code == 0
    for nth in (2, 5):
        holdfast.crawl_and_die(server.start, fault=Fault(at=point, nth=nth))
    ended = holdfast.crawl(server.start).ended()
    assert (ended.code, ended.json["changes"]) == (
        0,
        {"unchanged": len(server.site.pages)},
    ), ended
    assert_all_runs_hold(holdfast)


def test_an_archive_of_a_rescan_has_what_its_revisits_stand_for(holdfast: Holdfast, server, tmp_path):
    from warcio.archiveiterator import ArchiveIterator

    assert holdfast.crawl(server.start).ended().code == 0
    assert holdfast.run("rescan", "--quiet").code == 0
    target = tmp_path / "all.warc.gz"
    assert holdfast.run("export", "-o", target, "--quiet").code == 0
    bodies, revisits = {}, []
    with target.open("rb") as file:
        for record in ArchiveIterator(file):
            headers = record.rec_headers
            if record.rec_type == "response":
                bodies[headers.get_header("WARC-Target-URI"), headers.get_header("WARC-Date")] = True
            elif record.rec_type == "revisit":
                profile = headers.get_header("WARC-Profile").rpartition("/")[2]
                revisits.append(
                    (
                        profile,
                        headers.get_header("WARC-Refers-To-Target-URI"),
                        headers.get_header("WARC-Refers-To-Date"),
                    )
                )
    assert {profile for profile, _, _ in revisits} == {"identical-payload-digest", "server-not-modified"}
    assert [found for _, *found in revisits if tuple(found) not in bodies] == []
