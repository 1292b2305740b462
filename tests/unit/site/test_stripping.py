"""Parameters that a crawl leaves out of every link."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.errors import UsageError
from holdfast.domain.url import canonical, join
from holdfast.pipelines.site.spec import SiteSpec
from holdfast.pipelines.site.stripping import stripping

SITE = "https://example.com"
strip = stripping(["utm_*", "ref", "sid", "f[]"])


@pytest.mark.parametrize(
    ("path", "bare"),
    [
        ("/a?utm_source=x&id=5", "/a?id=5"),
        ("/a?id=5&UTM_Campaign=x&Ref", "/a?id=5"),
        ("/a?ref=/x?y/z", "/a"),
        ("/a?utm_=1", "/a"),
        ("/a?f[]=1&f[]=2&g=3", "/a?g=3"),
        ("/a;sid=1/b;v=2?x", "/a/b;v=2?x"),
        ("/a;sid=1?sid=2", "/a"),
        ("/.;sid=1/a", "/a"),
        ("/a?refer=1&my_ref=2&utm=3&sidx", "/a?refer=1&my_ref=2&utm=3&sidx"),
        ("/ref=1/a;side=2", "/ref=1/a;side=2"),
        ("/a?&&x", "/a?&&x"),
    ],
)
def test_what_is_left_out_and_what_is_not(path, bare):
    assert strip(canonical(SITE + path)) == SITE + bare


@given(st.text(st.sampled_from("ab/.;=&?%#sid refutm_4"), max_size=20))
def test_what_is_left_is_canonical_and_has_nothing_more_to_strip(text):
    url = join(f"{SITE}/", text)
    if url is not None:
        bare = strip(url)
        assert canonical(bare) == bare
        assert strip(bare) == bare
        assert len(bare) <= len(url)


def test_an_endless_address_is_no_obstacle():
    assert strip(f"{SITE}/a?ref=1&x={'y' * 9000}") == f"{SITE}/a?x={'y' * 9000}"


@pytest.mark.parametrize("name", ["", "a=b", "a b", "*", "a*b", "a&b", "x?"])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(UsageError, match="no name of a parameter"):
        SiteSpec((f"{SITE}/",), strip_params=(name,))
