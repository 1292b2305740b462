"""HTML as Markdown, and the part of a page that is written down."""

import pytest

from holdfast.crawl.article import article
from holdfast.crawl.markdown import markdown


def written(html, place=lambda href: href):
    root = article(html.encode(), "utf-8")
    assert root is not None
    return markdown(root, place)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<h1>A <em>b</em></h1><h6>c</h6>", "# A *b*\n\n###### c\n"),
        ("<p>a\n  b</p>loose<p>c</p>", "a b\n\nloose\n\nc\n"),
        ("a<br>b", "a\\\nb\n"),
        ("<b> a </b>b<strong></strong><i>c</i>", "**a** b*c*\n"),
        ("<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>", "- a\n- b\n  - c\n"),
        ("<ol start=3><li>a</li><li><p>b</p><p>c</p></li></ol>", "3. a\n4. b\n\n   c\n"),
        ("<dl><dt>a</dt><dd>b</dd><dd><p>c</p></dd></dl>", "- **a**\n\n  b\n\n  c\n"),
        ("<blockquote><p>a</p><p>b</p></blockquote>", "> a\n>\n> b\n"),
        ("<hr>", "---\n"),
        ("<code>a`b</code> <kbd>c</kbd>", "``a`b`` `c`\n"),
        ("<pre>a\n  b\n</pre>", "```\na\n  b\n```\n"),
        ("<pre>```</pre>", "````\n```\n````\n"),
        ('<pre><code class="language-rust">a</code></pre>', "```rust\na\n```\n"),
        (
            '<div class="highlight-python3 notranslate"><div class="highlight"><pre>a</pre></div></div>',
            "```python\na\n```\n",
        ),
        ('<div class="highlight-default"><pre>a</pre></div>', "```\na\n```\n"),
        ('<pre class="brush: js; x">a</pre>', "```javascript\na\n```\n"),
        ("<a href=b.md>a</a> <a href='c d'>e</a> <a>f</a>", "[a](b.md) [e](<c d>) f\n"),
        ("<h2>a<a class=headerlink href=#a>¶</a></h2>", "## a\n"),
        ("<a href=b><img src=c alt=d></a>", "[![d](c)](b)\n"),
        ("<a href=b><div><h3>c</h3><p>d</p></div></a>", "### c\n\nd\n"),
        (
            "<table><tr><th>a</th><th>b|c</th></tr><tr><td>1<br>2</td></tr></table>",
            "| a | b\\|c |\n| --- | --- |\n| 1 2 |  |\n",
        ),
        ("<table><tr><td>a<td>b</table>", "|  |  |\n| --- | --- |\n| a | b |\n"),
        ("<table><tr><td><h2>a</h2></td><td><ul><li>b</ul></td></tr></table>", "## a\n\n- b\n"),
        (
            "<table><tr><th colspan=2>a</th></tr><tr><td>b</td><td>c</td></tr></table>",
            "| a |  |\n| --- | --- |\n| b | c |\n",
        ),
        ("x<sup>2</sup>", "x<sup>2</sup>\n"),
        ("<script>a</script><style>b</style><svg><text>c</text></svg>d", "d\n"),
        ("", ""),
    ],
)
def test_elements(html, text):
    assert written(f"<main>{html}</main>") == text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("2 * 3 * 4", "2 \\* 3 \\* 4"),
        ("snake_case and _private_", "snake_case and \\_private\\_"),
        ("# no heading", "\\# no heading"),
        ("1. no list", "1\\. no list"),
        ("- no list", "\\- no list"),
        ("a - b, 1.5", "a - b, 1.5"),
        ("&lt;b&gt; and a &lt; b", "\\<b> and a < b"),
        ("[x](y)", "\\[x\\](y)"),
        ("`x`", "\\`x\\`"),
        ("&amp;amp;", "\\&amp;"),
        ("C:\\x", "C:\\\\x"),
    ],
)
def test_what_would_be_a_mark_is_escaped_and_nothing_else(text, escaped):
    assert written(f"<main><p>{text}</p></main>") == f"{escaped}\n"


def test_links_are_placed():
    html = "<main><a href=a>b</a> <a href=#c>d</a> <img src=e></main>"
    assert written(html, {"a": "x/a.md", "e": "http://h/e"}.get) == "[b](x/a.md) d ![](http://h/e)\n"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<nav>no</nav><main><p>yes</p></main><footer>no</footer>", "yes\n"),
        ("<div role=navigation>no</div><div role=main>yes</div>", "yes\n"),
        ("<header>no</header><article><header><h1>yes</h1></header>yes</article>", "# yes\n\nyes\n"),
        ("<div class='sidebar'><a href=x>no</a></div><p>yes, and so much of it that nobody minds</p>", None),
        ("<p>a</p><ul><li><a href=x>b</a></li></ul>", "a\n\n- [b](x)\n"),
        (
            "<main></main><p>The page has all its text elsewhere.</p>",
            "The page has all its text elsewhere.\n",
        ),
        ("<p hidden>no</p><p aria-hidden=true>no</p>yes", "yes\n"),
    ],
)
def test_the_main_part(html, text):
    assert written(f"<body>{html}") == (text or "yes, and so much of it that nobody minds\n")


def test_a_name_alone_takes_away_nothing_large():
    page = f"<body><div class=footer-menu><p>{'All there is to read. ' * 40}</p></div>"
    assert "All there is to read." in written(page)


def test_nesting_without_end_is_text():
    page = f"<main>{'<div><ul><li>' * 3000}deep{'</li></ul></div>' * 3000}</main>"
    assert "deep" in written(page)
    assert "deep" in written(f"<main>{'<b>' * 3000}deep</main>")
