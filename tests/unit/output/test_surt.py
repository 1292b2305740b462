"""Keys as the `surt` library makes them, and lines that leave sorted. The expected keys were made by surt 0.3.1."""

import random

import pytest

from holdfast.output import cdxj
from holdfast.output.cdxj import SortedLines
from holdfast.output.surt import surt


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://www.example.com/", "com,example)/"),
        ("https://www2.archive.org/goo/", "org,archive)/goo"),
        ("http://a.org/?b=1&A=2&a", "org,a)/?a&a=2&b=1"),
        ("http://a.org/x/?q=%20%C3%A9", "org,a)/x?q=%20%c3%a9"),
        ("https://a.org:8443/x//y/", "org,a:8443)/x/y"),
        ("http://a.org/p?jsessionid=0123456789ABCDEF0123456789abcdef&x=2", "org,a)/p?x=2"),
        ("http://a.org/caf%C3%A9", "org,a)/caf%c3%a9"),
        ("http://a.org/%2525", "org,a)/%25"),
        ("http://a.org/A/B.HTML", "org,a)/a/b.html"),
        ("http://a.org/x?a=b=c&a=a", "org,a)/x?a=a&a=b=c"),
        ("http://a.org/~user/%2F/..%2Fx", "org,a)/~user/x"),
        ("http://a.org/x?q=a+b&q=%26", "org,a)/x?&q=&q=a+b"),
        ("http://a.org/a%23b", "org,a)/a%23b"),
        ("http://127.0.0.1:8000/x", "1,0,0,127:8000)/x"),
        ("http://[::1]/x", "::1)/x"),
    ],
)
def test_keys(url, key):
    assert surt(url) == key


@pytest.mark.parametrize("count", [0, 1, 250])
def test_lines_leave_sorted_however_many_there_are(tmp_path, monkeypatch, count):
    monkeypatch.setattr(cdxj, "_IN_MEMORY", 20)
    lines = [f"{n:05}\n".encode() for n in range(count)]
    shuffled = random.Random(1).sample(lines, count)
    with SortedLines(tmp_path) as found:
        for line in shuffled:
            found.add(line)
        assert list(found) == lines
    assert list(tmp_path.iterdir()) == []
