"""What a stream of any length leaves is bounded, and what it counts is exact."""

import random

from hypothesis import given
from hypothesis import strategies as st

from holdfast.output.report.redirects import Hops
from holdfast.output.report.tops import Classes, Largest, Tallied
from holdfast.output.report.tree import Tree


@given(st.lists(st.integers(0, 100)), st.integers(1, 10))
def test_the_largest_are_kept_in_order(values, most):
    largest = Largest(most)
    for value in values:
        largest.add(value, value)
    assert list(largest.ordered()) == sorted(values, reverse=True)[:most]


def test_of_equals_the_first_stay():
    largest = Largest(2)
    for name in ("a", "b", "c"):
        if largest.admits(1):
            largest.add(1, name)
    assert largest.ordered() == ("a", "b")


def test_labels_beyond_the_bound_are_counted_together():
    tallied = Tallied(2)
    for label in ("a", "b", "b", "c", "d", "a", "a"):
        tallied.add(label, 10)
    assert [(share.label, share.count, share.bytes) for share in tallied.shares(9)] == [
        ("a", 3, 30),
        ("b", 2, 20),
        ("others", 2, 20),
    ]
    assert [(share.label, share.count) for share in tallied.shares(1)] == [("a", 3), ("others", 4)]


def test_a_histogram_counts_each_value_once():
    classes = Classes((0, 10, 100))
    for value in (0, 9, 10, 99, 100, 5_000):
        classes.add(value)
    histogram = classes.histogram()
    assert histogram.counts == (2, 2, 2)
    assert histogram.highest == 5_000
    assert histogram.median is not None
    assert 10 <= histogram.median <= 100
    assert Classes((0, 1)).histogram().median is None


def test_a_tree_counts_in_each_directory_above():
    tree = Tree()
    for path in ("", "a/", "a/1", "a/b/2?x=/y/z", "c/3"):
        tree.add(f"http://h/{path}", 10)
    whole = tree.section(9)
    assert (whole.name, whole.pages, whole.bytes) == ("h", 5, 50)
    assert [(part.path, part.pages) for part in whole.children] == [("h/a", 3), ("h/c", 1)]
    assert [(part.path, part.pages) for part in whole.children[0].children] == [("h/a/b", 1)]


def test_several_hosts_are_the_first_level():
    tree = Tree()
    tree.add("http://h/a/", 1)
    tree.add("https://i/", 1)
    tree.add("https://i/b", 1)
    whole = tree.section(9)
    assert [(part.name, part.pages) for part in whole.children] == [("i", 2), ("h", 1)]


def test_a_tree_of_any_site_stays_small_and_loses_no_count():
    tree, rng = Tree(most=100), random.Random(1)
    for _ in range(5_000):
        depth = rng.randrange(9)
        tree.add("http://h/" + "".join(f"{rng.randrange(30)}/" for _ in range(depth)), 3)
    assert tree._nodes <= 100 + 8
    assert _count(tree._root) == tree._nodes
    assert (tree.section(9).pages, tree.section(9).bytes) == (5_000, 15_000)


def _count(node):
    return 1 + sum(map(_count, node.below.values()))


class TestRedirects:
    def test_chains_are_followed_to_their_end(self):
        hops = Hops()
        hops.add(301, "a", "b")
        hops.add(302, "b", "c")
        hops.add(301, "x", "y")
        hops.add(301, "p", "q")
        told = hops.told(9, {"c": "http_404"}, {"y": None, "q": "external"})
        assert [(chain.urls, chain.ends) for chain in told.chains] == [
            (("a", "b", "c"), "failed: http_404"),
            (("p", "q"), "skipped: external"),
            (("x", "y"), "page"),
        ]
        assert [(share.label, share.count) for share in told.by_status] == [("301", 3), ("302", 1)]
        assert hops.leading({"c": "http_404"}) == {"a": "c", "b": "c"}

    def test_loops_end(self):
        hops = Hops()
        hops.add(302, "a", "b")
        hops.add(302, "b", "a")
        (chain,) = hops.told(9, {}, {}).chains
        assert (chain.urls, chain.ends) == (("a", "b", "a"), "loop")

    def test_endless_chains_are_cut(self):
        hops = Hops()
        for place in range(1_000):
            hops.add(301, str(place), str(place + 1))
        assert hops.told(9, {}, {}).chains[0].ends == "too long"

    def test_so_many_are_followed_and_all_are_counted(self):
        hops = Hops(most=2)
        for place in range(5):
            hops.add(301, f"a{place}", "b")
        told = hops.told(9, {}, {"b": None})
        assert (told.followed, told.by_status[0].count, len(told.chains)) == (2, 5, 2)
