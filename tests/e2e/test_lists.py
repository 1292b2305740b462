"""A crawl of a list of URLs."""

from tests.kit.process import assert_rows, exported


def test_the_urls_of_a_file_are_crawled_and_the_same_file_is_the_same_job(holdfast, server, tmp_path):
    paths = sorted(server.site.pages)[:30]
    listed = tmp_path / "urls.txt"
    listed.write_text("# some pages\n" + "\n".join(server.base + path for path in paths), encoding="utf-8")
    first = holdfast.run("crawl", "-i", listed, "-d", "0", "--json", "--quiet")
    assert (first.code, first.json["pages"], first.json["consulted"]) == (0, 30, 0), first
    assert_rows(exported(holdfast), [server.base + path for path in paths])

    listed.write_text("\n".join(server.base + path for path in reversed(paths)), encoding="utf-8")
    again = holdfast.run("crawl", "-i", listed, "-d", "0", "--json", "--quiet")
    assert (again.code, again.json["job"], again.json["checkpoint"]) == (
        0,
        first.json["job"],
        first.json["checkpoint"],
    )
    assert holdfast.run("verify").code == 0


def test_a_wrong_line_costs_nothing_but_a_sentence(holdfast, tmp_path):
    listed = tmp_path / "urls.txt"
    listed.write_text("http://127.0.0.1:9/\nnonsense\n", encoding="utf-8")
    ended = holdfast.run("crawl", "--input", listed)
    assert ended.code == 2
    assert "line 2: 'nonsense' is not a URL" in ended.sentence
    assert not holdfast.home.exists()


def test_a_named_crawl_may_take_its_urls_from_a_list_beside_its_file(holdfast, server, tmp_path):
    (tmp_path / "urls.txt").write_text(f"{server.start}\n", encoding="utf-8")
    config = tmp_path / "holdfast.toml"
    config.write_text('[crawls.docs]\ninput = "urls.txt"\nmax-depth = 0\n', encoding="utf-8")
    ended = holdfast.run("crawl", "docs", "--config", config, "--json", "--quiet")
    assert (ended.code, ended.json["pages"], ended.json["name"]) == (0, 1, "docs"), ended
