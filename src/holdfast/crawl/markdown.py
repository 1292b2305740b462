"""HTML as Markdown (CommonMark with GFM's tables): headings, paragraphs, lists, tables, code with its language, links.

What Markdown has no form for becomes text: a list of definitions is a list whose items begin in bold. Characters that
Markdown would read as marks are escaped, and only where it would. Elements nested deeper than any reader follows are
text, too.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from selectolax.lexbor import LexborNode

Place = Callable[[str], str | None]
"""What an address as it was written is to be in the text; None leaves a link without one."""

_DEEPEST: Final = 120
_SPACES: Final = re.compile(r"[ \t\n\r\f]+")
_HIDDEN: Final = frozenset({
    "script", "style", "template", "head", "title", "iframe", "object", "svg", "canvas", "select", "datalist",
    "textarea", "button", "input", "noscript", "form-associated", "-comment", "rp",
})  # fmt: skip
_HEADINGS: Final = {f"h{level}": "#" * level for level in range(1, 7)}
_BLOCKS: Final = frozenset({
    "address", "article", "aside", "blockquote", "body", "center", "details", "dd", "dialog", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "hr", "html", "legend", "li", "main",
    "menu", "nav", "ol", "p", "pre", "section", "summary", "table", "ul", *_HEADINGS,
})  # fmt: skip
_STRONG, _EMPHASIS, _STRUCK = "**", "*", "~~"
_MARKS: Final = {
    **dict.fromkeys(("b", "strong"), _STRONG),
    **dict.fromkeys(("i", "em", "cite", "dfn", "var"), _EMPHASIS),
    **dict.fromkeys(("del", "s", "strike"), _STRUCK),
}
_CODE: Final = frozenset({"code", "kbd", "samp", "tt", "pre"})
"""Within a line; a block of code is another thing."""
_IN_CELLS: Final = frozenset({"pre", "table", "ul", "ol", "dl", "blockquote", *_HEADINGS})
"""With one of these in it, a table is there for its looks, and its cells are read one after the other."""
_MAX_COLUMNS: Final = 60
_ESCAPED: Final = re.compile(r"[\\`*\[\]]|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|&(?=#?\w+;)|~(?=~)")
_LINE_START: Final = re.compile(
    r"(?m)^(?=(?:#{1,6}|[-+])(?:\s|$)|>|=+\s*$|-{3,}\s*$|~{3,})|^(\d{1,9})(?=[.)](?:\s|$))"
)
_ANCHOR_SIGNS: Final = frozenset({"", "¶", "#", "§", "🔗", "\uf0c1"})
_LANGUAGE: Final = re.compile(r"(?:^|\s)(?:lang(?:uage)?|highlight(?:-source)?|brush:?)[-\s]\s*([\w+#.-]+)")
_NO_LANGUAGE: Final = frozenset({"default", "none", "text", "plaintext", "nohighlight", "notranslate"})
_LANGUAGES: Final = {
    "python3": "python",
    "py": "python",
    "pycon3": "pycon",
    "shell-session": "console",
    "js": "javascript",
}


def markdown(root: LexborNode, place: Place) -> str:
    """The element's contents, ending in a line break; nothing for nothing."""
    text = "\n\n".join(_Writer(place).blocks(root))
    return f"{text}\n" if text else ""


class _Writer:
    def __init__(self, place: Place) -> None:
        self._place = place
        self._depth = 0

    # -- blocks

    def blocks(self, node: LexborNode) -> list[str]:
        """The blocks in an element; loose text between them is paragraphs."""
        if self._depth >= _DEEPEST:
            return _paragraphs(_escape(node.text(deep=True)))
        self._depth += 1
        found: list[str] = []
        loose: list[str] = []
        for child in node.iter(include_text=True):
            tag = child.tag or ""
            if tag in _BLOCKS or (tag not in _HIDDEN and tag != "-text" and _holds_blocks(child)):
                found += _paragraphs("".join(loose))
                loose = []
                found += self._block(child, tag)
            elif tag not in _HIDDEN:
                loose.append(self._inline(child))
        self._depth -= 1
        return [*found, *_paragraphs("".join(loose))]

    def _block(self, node: LexborNode, tag: str) -> list[str]:  # noqa: PLR0911 - one for each kind
        if tag in _HEADINGS:
            text = _one_line(self._inlines(node))
            return [f"{_HEADINGS[tag]} {text}"] if text else []
        match tag:
            case "pre":
                return _fenced(node)
            case "ul" | "ol" | "menu":
                return self._list(node, ordered=tag == "ol")
            case "dl":
                return self._definitions(node)
            case "table":
                return self._table(node)
            case "hr":
                return ["---"]
            case "blockquote":
                return _quoted(self.blocks(node))
            case "summary" | "dt" | "legend":
                text = _one_line(self._inlines(node))
                return [_wrapped(_STRONG, text)] if text else []
            case _:
                blocks = self.blocks(node)
                return _quoted(blocks) if "admonition" in (node.attrs.get("class") or "").split() else blocks

    def _list(self, node: LexborNode, *, ordered: bool) -> list[str]:
        number = _number(node.attrs.get("start"), 1)
        lines: list[str] = []
        for child in node.iter():
            if child.tag in _HIDDEN:
                continue
            blocks = self.blocks(child) if child.tag in {"li", "div"} else self._block(child, child.tag or "")
            if not blocks:
                continue
            mark = f"{number}. " if ordered else "- "
            number += 1
            lines.append(_item(mark, blocks))
        return ["\n".join(lines)] if lines else []

    def _definitions(self, node: LexborNode) -> list[str]:
        items: list[list[str]] = []
        for child in _defined(node):
            if child.tag == "dt":
                term = (
                    _code(child) if "sig" in (child.attrs.get("class") or "").split() else self._term(child)
                )
                if term:
                    items.append([term])
            elif blocks := self.blocks(child):
                if items:
                    items[-1] += blocks
                else:
                    items.append(blocks)
        return ["\n".join(_item("- ", blocks) for blocks in items)] if items else []

    def _term(self, node: LexborNode) -> str:
        text = _one_line(self._inlines(node))
        return text if not text or text[0] in "*`[" else _wrapped(_STRONG, text)

    def _table(self, table: LexborNode) -> list[str]:
        rows = [row for row in table.css("tr") if _table_of(row) == table.mem_id]
        cells = [[cell for cell in row.iter() if cell.tag in {"td", "th"}] for row in rows]
        width = min(_MAX_COLUMNS, max((_width(row) for row in cells), default=0))
        caption = next((child for child in table.iter() if child.tag == "caption"), None)
        said = _paragraphs(_wrapped(_EMPHASIS, _one_line(self._inlines(caption)))) if caption else []
        if width < 2 or any(_looks_only(cell) for row in cells for cell in row):  # noqa: PLR2004 - columns
            return said + [block for row in cells for cell in row for block in self.blocks(cell)]
        lines = [self._row(row, width) for row in cells]
        if not all(cell.tag == "th" for cell in cells[0]):
            lines.insert(0, "|" + "  |" * width)
        lines.insert(1, "|" + " --- |" * width)
        return [*said, "\n".join(lines)]

    def _row(self, row: list[LexborNode], width: int) -> str:
        texts: list[str] = []
        for cell in row:
            text = _one_line(self._inlines(cell)).replace("|", "\\|")
            texts += [text, *[""] * (_number(cell.attrs.get("colspan"), 1) - 1)][:width]
        texts += [""] * (width - len(texts))
        return f"| {' | '.join(texts[:width])} |"

    # -- within a line

    def _inlines(self, node: LexborNode) -> str:
        if self._depth >= _DEEPEST:
            return _escape(node.text(deep=True))
        self._depth += 1
        text = "".join(self._inline(child) for child in node.iter(include_text=True))
        self._depth -= 1
        return text

    def _inline(self, node: LexborNode) -> str:  # noqa: PLR0911 - one for each kind
        tag = node.tag or ""
        if tag == "-text":
            return _escape(_SPACES.sub(" ", node.text_content or ""))
        if tag in _HIDDEN:
            return ""
        if tag in _CODE:
            return _code(node)
        if tag in _MARKS:
            return _wrapped(_MARKS[tag], self._inlines(node))
        match tag:
            case "a":
                return self._link(node)
            case "img":
                return self._image(node)
            case "br":
                return "\\\n"
            case "q":
                return f'"{self._inlines(node)}"'
            case "sup" | "sub":
                text = self._inlines(node)
                return f"<{tag}>{text}</{tag}>" if text.strip() else text
            case _:
                text = self._inlines(node)
                return f" {text} " if tag in _BLOCKS or tag in {"td", "th", "tr"} else text

    def _link(self, node: LexborNode) -> str:
        text = self._inlines(node)
        shown = _one_line(text)
        classes = (node.attrs.get("class") or "").split()
        if shown in _ANCHOR_SIGNS or (len(shown) <= 1 and "headerlink" in classes):
            return ""
        href = (node.attrs.get("href") or "").strip()
        target = self._place(href) if href else None
        if target is None:
            return text
        before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
        return f"{before and ' '}[{shown}]({_destination(target)}){after and ' '}"

    def _image(self, node: LexborNode) -> str:
        alt = _escape(" ".join((node.attrs.get("alt") or "").split()))
        source = (node.attrs.get("src") or node.attrs.get("data-src") or "").strip()
        target = self._place(source) if source else None
        return alt if target is None else f"![{alt}]({_destination(target)})"


# -- texts


def _escape(text: str) -> str:
    return _ESCAPED.sub(lambda found: f"\\{found.group()}", text)


def _paragraphs(text: str) -> list[str]:
    """A paragraph, if there is anything in it. Its lines begin with nothing that would make them something else."""
    lines = [" ".join(line.split()) for line in text.replace("\\\n", "\n").split("\n")]
    while lines and not lines[0]:
        del lines[0]
    while lines and not lines[-1]:
        lines.pop()
    if not lines:
        return []
    return [_LINE_START.sub(lambda found: f"{found[1] or ''}\\", "\\\n".join(lines))]


def _one_line(text: str) -> str:
    return " ".join(text.replace("\\\n", " ").split())


def _wrapped(mark: str, text: str) -> str:
    """Marks stand close to what they mark, or they are none."""
    inner = text.strip()
    if not inner or inner.startswith(mark) or "\n\n" in inner:
        return text
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return f"{before and ' '}{mark}{inner}{mark}{after and ' '}"


def _code(node: LexborNode) -> str:
    """A code span with as many backticks as it takes."""
    text = " ".join(_shown(node).split())
    if not text:
        return ""
    ticks = "`" * (_longest_run("`", text) + 1)
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def _shown(node: LexborNode) -> str:
    """Its text without the signs that link to it."""
    return "".join(
        "\n" if one.tag == "br" else one.text_content or ""
        for one in node.traverse(include_text=True)
        if one.tag == "br" or (one.tag == "-text" and not _is_sign(one))
    )


def _is_sign(text: LexborNode) -> bool:
    above = text.parent
    classes = (above.attrs.get("class") or "").split() if above is not None else []
    return not {"headerlink", "linenos", "lineno", "linenumber", "gutter"}.isdisjoint(classes)


def _fenced(node: LexborNode) -> list[str]:
    text = _shown(node).replace("\r\n", "\n").strip("\n").rstrip()
    return [fenced(text, _language(node)).rstrip("\n")] if text.strip() else []


def fenced(text: str, language: str = "") -> str:
    """A block of code, or of text that is to stay as it is."""
    fence = "`" * max(3, _longest_run("`", text) + 1)
    return f"{fence}{language}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}\n"


def _language(pre: LexborNode) -> str:
    near = [pre, *(child for child in pre.iter() if child.tag == "code"), pre.parent]
    near.append(pre.parent.parent if pre.parent is not None else None)
    for node in near:
        if node is None or node.tag == "-document":
            continue
        attributes = node.attrs
        named = attributes.get("data-lang") or attributes.get("data-language")
        found = _LANGUAGE.search((attributes.get("class") or "").lower())
        language = (named or (found[1] if found else "")).lower()
        if language and language not in _NO_LANGUAGE and re.fullmatch(r"[\w+#.-]{1,30}", language):
            return _LANGUAGES.get(language, language)
    return ""


def _longest_run(char: str, text: str) -> int:
    return max(map(len, re.findall(f"{char}+", text)), default=0)


def _destination(target: str) -> str:
    return f"<{target}>" if re.search(r"[()\s]", target) else target


def _item(mark: str, blocks: list[str]) -> str:
    """A list's item: what follows its first line is indented, and a list in it stands close."""
    text = blocks[0]
    for block in blocks[1:]:
        close = re.match(r"(?:- |\d+\. )", block) and not blocks[0].startswith("```")
        text += f"\n{block}" if close else f"\n\n{block}"
    indent = " " * len(mark)
    first, *rest = text.split("\n")
    return "\n".join([f"{mark}{first}", *(f"{indent}{line}" if line else "" for line in rest)])


def _quoted(blocks: list[str]) -> list[str]:
    if not blocks:
        return []
    lines = "\n\n".join(blocks).split("\n")
    return ["\n".join(f"> {line}" if line else ">" for line in lines)]


# -- looking around


def _holds_blocks(node: LexborNode) -> bool:
    """An element of a line that holds whole blocks (a link around a card), or one that nobody knows."""
    return any(child.tag in _BLOCKS for child in node.iter()) and node.tag not in _CODE


def _defined(node: LexborNode) -> Iterator[LexborNode]:
    for child in node.iter():
        if child.tag == "div":
            yield from _defined(child)
        elif child.tag in {"dt", "dd"}:
            yield child


def _table_of(row: LexborNode) -> int | None:
    above = row.parent
    while above is not None and above.tag != "table":
        above = above.parent
    return None if above is None else above.mem_id


def _looks_only(cell: LexborNode) -> bool:
    return any(one.tag in _IN_CELLS for one in cell.traverse())


def _width(row: list[LexborNode]) -> int:
    return sum(_number(cell.attrs.get("colspan"), 1) for cell in row)


def _number(text: str | None, default: int) -> int:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) <= 4 else default  # noqa: PLR2004 - digits
