"""The diff of two texts is that of difflib, however much they have in common, and is bounded."""

from difflib import unified_diff

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.output.textdiff import MOST_LINES, text_diff

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "- x", "+ y"]), max_size=30)


@given(LINES, LINES)
def test_it_is_the_diff_that_everybody_knows(before, now):
    old, new = "\n".join(before), "\n".join(now)
    found = text_diff(old, new)
    whole = list(unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=3))[2:]
    assert applied(old.splitlines(), found.lines) == new.splitlines()
    assert found.whole
    assert bool(found.lines) is bool(whole)


def applied(lines, diff):
    """What `patch` would make of it."""
    result, at = [], 0
    for line in diff:
        if line.startswith("@@"):
            start, _, length = line.split(" ")[1][1:].partition(",")
            until = int(start) - (length != "0")
            result += lines[at:until]
            at = until
        elif line.startswith("+"):
            result.append(line[1:])
        else:
            assert lines[at] == line[1:], "the context is where the head says"
            if line.startswith(" "):
                result.append(line[1:])
            at += 1
    return result + lines[at:]


@pytest.mark.parametrize("count", [MOST_LINES, MOST_LINES + 1])
def test_too_much_is_only_counted(count):
    head = ["same"] * 5_000
    found = text_diff("\n".join(head), "\n".join([*head, *(str(n) for n in range(count)), "end"][:-1]))
    assert found.whole is (count <= MOST_LINES)
    assert (found.added, found.removed) == (count, 0)
