"""`holdfast chaos` keeps its own word: it kills, counts by others than itself, and can say that nothing holds."""

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.kit.process import IMPATIENT, ROOT

from holdfast.cli.proof import Log, Proof, _again
from holdfast.sample import serve

pytestmark = pytest.mark.failure

SOUND = Proof(
    job="abcd1234",
    kills=2,
    pages=10,
    rows=10,
    double_rows=0,
    verified=True,
    discrepancies=0,
    lost=0,
    strange=0,
    changed=0,
    fetched=10,
    fetched_again=52,
    allowed_again=52,
)


def test_the_sample_site_survives_kills_and_the_servers_log_says_what_they_cost(tmp_path):
    log = tmp_path / "access.log"
    log.touch()
    words = ["--access-log", str(log), "--kills", "4", "--delay", "0.02", "--json"]
    with serve(log=log) as base_url:
        ended = subprocess.run(
            [sys.executable, "-m", "holdfast", "chaos", f"{base_url}/", *words],
            env={
                **os.environ,
                **IMPATIENT,
                "HOLDFAST_HOME": str(tmp_path / "home"),
                "PYTHONPATH": str(ROOT / "src"),
            },
            capture_output=True,
            text=True,
            check=False,
        )
    assert ended.returncode == 0, ended.stderr
    proof = json.loads(ended.stdout)
    assert proof["holds"] is True
    assert proof["kills"] == 4
    assert proof["pages"] == proof["rows"] == proof["fetched"] == 65
    assert (proof["double_rows"], proof["lost"], proof["strange"], proof["changed"]) == (0, 0, 0, 0)
    assert proof["fetched_again"] <= proof["allowed_again"] == 4 * 26
    assert ended.stderr.count("holdfast: kill ") == 4


@pytest.mark.parametrize(
    "flaw",
    [
        {"verified": False, "discrepancies": 1},
        {"rows": 9},
        {"rows": 11, "double_rows": 1},
        {"lost": 1},
        {"fetched_again": 53},
    ],
)
def test_a_broken_promise_is_no_proof(flaw):
    assert SOUND.holds
    broken = replace(SOUND, **flaw)
    assert not broken.holds
    assert broken.as_json()["holds"] is False
    assert "DOES NOT HOLD" in list(broken.lines())[-1]


def test_without_anything_to_compare_with_the_rest_still_counts():
    plain = replace(SOUND, lost=None, strange=None, changed=None, fetched=None, fetched_again=None)
    assert plain.holds
    assert not any(word in line for line in plain.lines() for word in ("lost", "fetched"))


def test_a_log_counts_pages_from_where_it_stood(tmp_path):
    file = tmp_path / "access.log"
    line = '127.0.0.1 - - [19/Nov/2026:20:00:00 +0000] "GET {} HTTP/1.1" {} 12 "-" "Holdfast"\n'
    file.write_text(line.format("/before", 200))
    log = Log.of(file)
    with file.open("a") as more:
        more.writelines(
            line.format(*one) for one in [("/a?b=1", 200), ("/a?b=1", 200), ("/c", 404), ("/d", 200)]
        )
        more.write('nonsense "GET\n')
    served = log.read()
    assert served == Counter({"/a?b=1": 2, "/d": 1})
    assert _again(served, {"http://h/a?b=1": [], "http://h/e": []}) == (1, 1)
    assert Log.of(None).read() is None


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["http://127.0.0.1:1/", "--name", "mine"], "--name"),
        (["http://127.0.0.1:1/", "--output=x.jsonl"], "--output"),
        (["http://127.0.0.1:1/", "--no-such-option"], "--no-such-option"),
        (["http://127.0.0.1:1/", "--access-log", "nowhere.log"], "nowhere.log"),
        ([], "URL"),
    ],
)
def test_what_it_can_not_do_is_said_before_anything_is_crawled(tmp_path, words, complaint):
    home = tmp_path / "home"
    ended = subprocess.run(
        [sys.executable, "-m", "holdfast", "--home", str(home), "chaos", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert ended.returncode == 2, ended.stderr
    assert complaint in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not Path(home).exists()


def test_a_crawl_that_fails_by_itself_proves_nothing(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-m", "holdfast", "--home", str(tmp_path / "home"), "chaos", "http://127.0.0.1:1/"],
        env={**os.environ, **IMPATIENT, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1, ended
    assert "nothing to prove" in ended.stderr
    assert not ended.stdout
