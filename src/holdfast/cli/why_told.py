"""What `holdfast why` has found out, for people and for programs."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from holdfast.cli.show import iso, stamp
from holdfast.cli.why import Answer
from holdfast.cli.words import clean, number, plural, size
from holdfast.domain.commit import Location
from holdfast.domain.url import fingerprint
from holdfast.engine.trace import Step
from holdfast.pipelines.site.judge import Ruling
from holdfast.pipelines.site.why import beyond_the_judge
from holdfast.ports.ledger import RecordRow, Whereabouts

_LABEL = 12
_SHOWN = 20
_LONG = 2000
_COLOURS = {
    "done": "green",
    "redirected": "green",
    "consulted": "green",
    "pending": "cyan",
    "failed": "red",
    "skipped": "yellow",
}

Line = tuple[str, str, str]
"""A label, what is said, and its style."""


def tell(answer: Answer) -> None:
    """On stdout: with colours on a terminal, plain elsewhere."""
    console = Console(highlight=False, soft_wrap=True)
    for label, said, style in lines(answer):
        console.print(Text.assemble((f"{label:<{_LABEL}}", "bold" if label.strip() else ""), (said, style)))


def lines(answer: Answer) -> Iterator[Line]:
    """Section by section; those without anything to say are left out."""
    yield "url", clean(answer.url, _LONG), "bold"
    own = answer.trace.own
    if own is None:
        yield from _unknown(answer)
    else:
        yield "status", _status(own), _COLOURS.get(own.status, "")
        yield from _found(answer, own)
    yield from _section("normalised", [(clean(url, _LONG), what) for what, url in answer.steps])
    yield "", f"fingerprint {fingerprint(answer.url).hex()}", "dim"
    yield from _judged(answer, own)
    if own is not None:
        yield from _tried(answer, own)
        yield from _redirected(answer)
        yield from _stored(answer)


def _unknown(answer: Answer) -> Iterator[Line]:
    job = answer.job
    external = job.counters.external if answer.rulings[-1].verdict == "external" else 0
    counted = (
        f", or it is one of {number(external)} links out of scope that were only counted" if external else ""
    )
    yield "status", f"unknown: nothing that job {job.short_id} has read leads there{counted}", "yellow"
    for sibling in answer.siblings:
        yield "known is", f"{clean(sibling.item.url, _LONG)} ({_status(sibling)})", ""


def _status(at: Whereabouts) -> str:
    reason = f" ({clean(at.reason)})" if at.reason else ""
    match at.status:
        case "pending" if at.due_at is not None:
            return f"pending: it is tried again at {stamp(at.due_at)}, because of {clean(at.reason or 'nothing')}"
        case "pending":
            return "pending: it waits for its turn"
        case "done" if at.item.rejudge:
            return f"done{reason}; its links are to be judged again"
        case _:
            return f"{at.status}{reason}"


def _found(answer: Answer, own: Whereabouts) -> Iterator[Line]:
    line = answer.trace.line
    when = f", {stamp(answer.found_at)}" if answer.found_at is not None else ""
    checkpoint = (
        f"checkpoint {number(own.found_commit)}{when}" if own.found_commit else "the start of the job"
    )
    rows = [_step(step, first=index == 0 and not answer.trace.cut) for index, step in enumerate(line)]
    if len(rows) > _SHOWN:
        left_out = len(rows) - _SHOWN
        rows[1 : -_SHOWN + 1] = [(f"... {plural(left_out, 'page')} between ...", "")]
    yield from _section("found", [*rows, ("", f"at depth {own.item.depth}, {checkpoint}")])


def _step(step: Step, *, first: bool) -> tuple[str, str]:
    url = clean(step.at.item.url, _LONG)
    if first:
        begins = "a start URL" if step.at.item.kind == "page" else "looked for on the start hosts"
        return url, begins if step.at.item.parent_id is None else ""
    return (
        url,
        f"as {clean(repr(step.written), 300)}"
        if step.written is not None
        else "(how it is named there is not to be read)",
    )


def _judged(answer: Answer, own: Whereabouts | None) -> Iterator[Line]:
    if own is not None and own.item.kind != "page":
        yield "judged", f"consulted for the addresses in it ({own.item.kind}): patterns don't count", ""
        return
    label = "judged" if own is not None else "would be"
    for index, ruling in enumerate(answer.rulings):
        yield label if not index else "", _ruling(ruling), "yellow" if ruling.verdict else ""
    verdict = answer.rulings[-1].verdict
    if own is None:
        said = f"left out ({verdict})" if verdict else "followed, if a page that is read names it"
        yield "", f"so it would be {said}", "yellow" if verdict else "green"
    elif own.reason == "robots":
        shown = (
            f": {clean(answer.robots_line)}"
            if answer.robots_line
            else " (which line isn't known: it is not stored)"
        )
        yield "", f"robots.txt of its host forbids it{shown}", "yellow"
    elif own.reason == "host_budget":
        yield "", "its host had given as much as --host-pages or --host-bytes let it", "yellow"
    elif own.reason is not None and (why := beyond_the_judge(own.reason, own.item.url)) is not None:
        yield "", clean(why, _LONG), "yellow"
    elif (own.status == "skipped") != (verdict is not None) or (
        verdict is not None and own.reason != verdict
    ):
        yield "", "so it would be judged today; it stands as it was when it was found, or at its turn", "dim"


def _ruling(ruling: Ruling) -> str:
    said = f"shut out ({ruling.verdict})" if ruling.verdict else "lets pass"
    return f"{ruling.rule:<10} {said}: {clean(ruling.says, 600)}"


def _tried(answer: Answer, own: Whereabouts) -> Iterator[Line]:
    at = f", {stamp(answer.settled_at)}" if answer.settled_at is not None else ""
    settled = f"; settled by checkpoint {number(own.settled_commit)}{at}" if own.settled_commit else ""
    if own.item.attempts:
        last = f", last: {clean(own.reason)}" if own.reason else ""
        yield "tried", f"{plural(own.item.attempts, 'time')}{last}{settled}", ""
    else:
        left_out = ": it was left out when it was found" if own.status == "skipped" else ""
        yield "tried", f"never{left_out}{settled}", ""


def _redirected(answer: Answer) -> Iterator[Line]:
    for index, (at, _) in enumerate(answer.trace.onward):
        yield "redirected" if not index else "", f"to {clean(at.item.url, _LONG)} ({_status(at)})", ""


def _stored(answer: Answer) -> Iterator[Line]:
    record = answer.trace.record
    if record is None:
        return
    data = record.data
    if record.location is None and "cause" in data:
        yield "because", f"of its host's robots.txt: {clean(str(data['cause']))}", ""
        return
    what = f"{record.kind}, HTTP {data.get('status')}, {clean(str(data.get('content_type') or 'no type'))}"
    title = f", {clean(repr(data['title']))}" if data.get("title") else ""
    yield "stored", f"{what}, {size(int(data.get('size', 0)))}{title}", ""
    if record.location is not None:
        yield "", _place(record.location), ""
    if record.digest is not None:
        yield "", f"sha256 of the payload {record.digest.hex()}", "dim"
    same = clean(record.same_as or "another page", _LONG)
    if record.rendering is not None:
        yield "shown", f"by a browser; what its scripts made: {_place(record.rendering.location)}", ""
        if record.rendering.revisit_of is not None:
            yield "", f"which is the same as that of {same}: {_place(record.rendering.revisit_of)}", ""
    elif data.get("unrendered"):
        yield "shown", f"as it was served: the browser gave up ({data['unrendered']})", ""
    elif record.revisit_of is not None:
        yield "", f"its body is that of {same}: {_place(record.revisit_of)}", ""


def _place(place: Location) -> str:
    return f"segment {place.segment}, {number(place.length)} bytes from {number(place.offset)}"


def _section(title: str, rows: list[tuple[str, str]]) -> Iterator[Line]:
    for index, (said, how) in enumerate(rows):
        yield title if not index else "", f"{said}   {how}".strip() if said else how, "" if said else "dim"


def as_json(answer: Answer) -> dict[str, Any]:
    """The same for programs. Keys are only ever added."""
    own, record = answer.trace.own, answer.trace.record
    return {
        "job": answer.job.public_id,
        "url": answer.url,
        "fingerprint": fingerprint(answer.url).hex(),
        "known": own is not None,
        **_whereabouts_json(own),
        "normalised": [{"step": what, "url": url} for what, url in answer.steps],
        "found": [
            {**_whereabouts_json(step.at), "url": step.at.item.url, "written": step.written}
            for step in answer.trace.line
        ],
        "found_at": iso(answer.found_at),
        "settled_at": iso(answer.settled_at),
        "judged": [
            {"rule": one.rule, "verdict": one.verdict and one.verdict.value, "says": one.says}
            for one in answer.rulings
        ],
        "verdict": (verdict := answer.rulings[-1].verdict) and verdict.value,
        "robots_line": answer.robots_line,
        "beyond": beyond_the_judge(own.reason or "", answer.url) if own is not None else None,
        "redirects": [
            {**_whereabouts_json(at), "url": at.item.url, "stored": _record_json(stored)}
            for at, stored in answer.trace.onward
        ],
        "stored": _record_json(record),
        "lookalikes": [{**_whereabouts_json(at), "url": at.item.url} for at in answer.siblings],
    }


def _whereabouts_json(at: Whereabouts | None) -> dict[str, Any]:
    if at is None:
        return {"status": None, "reason": None}
    return {
        "status": at.status,
        "reason": at.reason,
        "kind": at.item.kind,
        "depth": at.item.depth,
        "attempts": at.item.attempts,
        "due_at": iso(at.due_at),
        "found_commit": at.found_commit,
        "settled_commit": at.settled_commit,
    }


def _record_json(record: RecordRow | None) -> dict[str, Any] | None:
    if record is None:
        return None
    return {
        "kind": record.kind,
        "data": dict(record.data),
        "place": _place_json(record.location),
        "digest": record.digest and record.digest.hex(),
        "revisit_of": _place_json(record.revisit_of),
        "same_as": record.same_as,
    }


def _place_json(place: Location | None) -> dict[str, Any] | None:
    return (
        None if place is None else {"segment": place.segment, "offset": place.offset, "length": place.length}
    )
