"""Pipelines of one's own, from the command and from Python."""

import asyncio
import importlib

import apsw
import pytest
from tests.kit.process import exported
from tests.kit.server import Answer, serving
from tests.kit.shops import expected, installed, shop

import holdfast

BROKEN = """
from dataclasses import dataclass
from holdfast.plugin import Pipeline

@dataclass(frozen=True)
class Broken(Pipeline):
    kind = "broken"
    columns = {"n": int}
    url: str

    def start(self):
        yield self.url

    def visit(self, page):
        for link in page.links:
            yield page.follow(link)
        if page.url.endswith("/p/5"):
            raise SystemExit("no five")
        if page.url.endswith("/p/7"):
            yield {"n": "seven"}
        yield {"n": len(page.body)}
"""


@pytest.fixture
def server(tmp_path):
    with serving(shop(), tmp_path / "access.log") as server:
        yield server


@pytest.fixture
def plugins(holdfast, tmp_path):
    folder = tmp_path / "packages"
    holdfast.environment = {"PYTHONPATH": installed(folder)}
    return folder


def test_an_installed_pipeline_runs_by_its_kind_and_all_commands_know_the_job(holdfast, server, plugins):
    done = holdfast.run("run", "shop", "--set", f"url={server.start}")
    assert done.code == 0, done
    assert "shop, from" in done.err
    assert sorted(exported(holdfast), key=lambda row: row["price"]) == expected(server.base)
    assert holdfast.run("verify").code == 0
    again = holdfast.run("run", "shop", "--set", f"url={server.start}")
    assert (again.code, server.fetched_again()) == (0, 0)
    assert "completed already" in again.err


def test_products_wait_until_the_catalogue_is_through(holdfast, server, plugins):
    assert holdfast.run("run", "shop", "--set", f"url={server.start}").code == 0
    paths = [line.split()[1] for line in server.log.read_text(encoding="utf-8").splitlines()]
    catalogue = [place for place, path in enumerate(paths) if path == "/" or path.startswith("/c/")]
    products = [place for place, path in enumerate(paths) if path.startswith("/p/")]
    assert len(catalogue) == 10
    assert max(catalogue) < min(products)


def test_a_job_whose_pipeline_is_gone_is_read_and_named_and_hides_no_other(holdfast, server, plugins):
    assert holdfast.run("run", "shop", "--set", f"url={server.start}", "-n", "50").code == 0
    (job,) = [row[0] for row in holdfast.read("SELECT public_id FROM jobs")]
    holdfast.environment = {}
    for words in (("resume", job), ("verify", job), ("restart", job)):
        refused = holdfast.run(*words)
        assert refused.code == 2, refused
        assert "'shop'" in refused.sentence, refused
        assert "install" in refused.sentence, refused
    assert holdfast.crawl(server.start, "-n", "3").ended().code == 0
    assert len(holdfast.run("ls").out.splitlines()) == 3
    assert holdfast.run("show", job).code == 0
    assert len(exported(holdfast, job)) == 40
    assert "no installed package has any" in holdfast.run("run", "shop").sentence


def test_what_an_author_does_wrong_costs_that_page_alone(holdfast, server, plugins):
    (plugins / "broken.py").write_text(BROKEN, encoding="utf-8")
    done = holdfast.run("run", "broken:Broken", "--set", f"url={server.start}", "--json")
    assert done.code == 0, done
    assert done.json["failed"] == 2
    assert "visit() raised SystemExit: no five" in done.err
    assert "the column 'n' holds int, not 'seven'" in done.err
    assert len(exported(holdfast)) == 108
    assert holdfast.run("verify").code == 0

    # Mended, what failed is had again.
    (plugins / "broken.py").write_text(BROKEN.replace("/p/", "/q/"), encoding="utf-8")
    assert holdfast.run("retry").code == 0
    assert len(exported(holdfast)) == 110
    assert holdfast.run("verify").code == 0


def test_verify_says_where_a_pipeline_makes_other_records_of_a_stored_page_by_now(holdfast, server, plugins):
    (plugins / "broken.py").write_text(BROKEN, encoding="utf-8")
    assert holdfast.run("run", "broken:Broken", "--set", f"url={server.start}", "--quiet").code == 0
    (plugins / "broken.py").write_text(BROKEN.replace("len(page.body)", "1"), encoding="utf-8")
    verified = holdfast.run("verify")
    assert verified.code == 1
    assert "gives other records than are stored" in verified.out + verified.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["shop"], "needs 'url'"),
        (["shop", "--set", "url"], "NAME=VALUE"),
        (["shop", "--set", "url=x", "--set", "price=3"], "knows no 'price'; it has: url"),
        (["shop", "--set", "url=mailto:me"], "leads to no page"),
        (["shoe"], "there is no pipeline 'shoe': installed are: other, shop"),
        (["other"], "offers shop:Shop as 'other', and it calls itself 'shop'"),
        (["no.such:Thing"], "No module named 'no'"),
        (["shop:Page"], "is no pipeline: it has to be a class below holdfast.plugin.Pipeline"),
    ],
)
def test_what_cannot_be_run_is_one_sentence_and_leaves_nothing(holdfast, tmp_path, words, says):
    points = ["shop = shop:Shop", "other = shop:Shop"]
    holdfast.environment = {"PYTHONPATH": installed(tmp_path / "packages", points)}
    refused = holdfast.run("run", *words)
    assert refused.code == 2, refused
    assert says in refused.sentence, refused
    assert not holdfast.read("SELECT * FROM jobs")


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM records WHERE kind = 'record' AND item_id = 20",
        "UPDATE records SET data = json_set(data, '$.row.price', 1.0) WHERE kind = 'record' AND item_id = 20",
    ],
)
def test_verify_holds_the_records_to_what_their_page_gave(holdfast, server, plugins, damage):
    assert holdfast.run("run", "shop", "--set", f"url={server.start}", "--quiet").code == 0
    db = apsw.Connection(str(holdfast.ledger))
    db.execute(damage)
    assert db.changes() == 1
    db.close()
    verified = holdfast.run("verify")
    assert verified.code == 1
    assert "aren't those that its pipeline made of it" in verified.out


def test_a_job_taken_back_amid_its_catalogue_goes_through_its_phases_again(holdfast, server, plugins):
    assert holdfast.run("run", "shop", "--set", f"url={server.start}", "--quiet").code == 0
    (phase_2,) = holdfast.read(
        "SELECT number FROM commits WHERE reason = 'phase' ORDER BY number DESC LIMIT 1"
    )
    for words in (("rollback", str(phase_2[0] - 2)), ("restart",), ("rescan",)):
        job = [row[0] for row in holdfast.read("SELECT public_id FROM jobs")]
        asked = (words[0], *job, *words[1:])
        server.log.unlink()
        assert holdfast.run(*asked, "--quiet" if words[0] != "rollback" else "-v").code == 0
        if words[0] == "rollback":
            assert holdfast.run("resume", "--quiet").code == 0
        assert sorted(exported(holdfast), key=lambda row: row["price"]) == expected(server.base)
        assert holdfast.run("verify").code == 0
        paths = [line.split()[1] for line in server.log.read_text(encoding="utf-8").splitlines()]
        products = [place for place, path in enumerate(paths) if path.startswith("/p/")]
        assert not [path for path in paths[products[0] :] if path.startswith("/c/")]


def test_a_program_runs_a_pipeline_of_its_own(server, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(installed(tmp_path / "packages"))
    shop_module = importlib.import_module("shop")

    async def story():
        async with holdfast.open(tmp_path / "home") as hf:
            first = await hf.run(shop_module.Shop(server.start), max_pages=30)
            assert (first.reason, first.counters.done) == ("page limit", 30)
            job = await hf.run(shop_module.Shop(server.start))
            assert (job.id, job.status, job.counters.done) == (first.id, "completed", 110)
            rows = [record async for record in job.records()]
            pages = [page.title async for page in job.pages()]
            assert len(pages) == 110
            assert (await job.verify()).holds
            with pytest.raises(holdfast.UsageError, match="scope"):
                await hf.run(shop_module.Shop(server.start), scope="any")
            return rows

    rows = asyncio.run(story())
    assert sorted(rows, key=lambda row: row["price"]) == expected(server.base)
    assert server.fetched_again() == 0


def test_robots_txt_holds_for_ones_own_pipeline_too(holdfast, server, plugins):
    rules = Answer(200, b"User-agent: *\nDisallow: /p/2", (("Content-Type", "text/plain"),))
    server.misbehaving["/robots.txt"] = lambda _: rules
    assert holdfast.run("run", "shop", "--set", f"url={server.start}", "--quiet").code == 0
    assert len(exported(holdfast)) == 100 - 11
    assert not [path for path in server.counts() if path.startswith("/p/2")]
