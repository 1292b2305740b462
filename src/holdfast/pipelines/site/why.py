"""Why an address is, or isn't, part of a site crawl: told by the very objects that decide."""

from collections.abc import Callable, Mapping
from typing import Any

from holdfast.crawl.directives import token_of
from holdfast.crawl.reach import DEFAULT_USER_AGENT
from holdfast.crawl.robots import deciding_line
from holdfast.domain.item import Item, Record
from holdfast.domain.job import Job
from holdfast.pipelines.site.families import IN_A_ROW, KEY_SETS, MANY_KEYS, family
from holdfast.pipelines.site.judge import Judge, SkipReason
from holdfast.pipelines.site.leads import Answer, leads_of
from holdfast.pipelines.site.seeds import Notes, judge_for
from holdfast.pipelines.site.spec import SiteSpec
from holdfast.pipelines.site.traps import Trap, sessionless
from holdfast.ports.segments import Reading


def judge_of(job: Job, cursor: Mapping[str, Any]) -> Judge:
    """The judge of a job, with all that it knows by now."""
    return judge_for(SiteSpec.from_json(job.spec), job.limits.max_depth, Notes.read(cursor))


def writing(job: Job, judge: Judge) -> Callable[[Item, Record, Reading | None, str], str | None]:
    """How stored exchanges of the job name an address: the href, or the Location, as it stands there."""
    spec = SiteSpec.from_json(job.spec)

    def written(parent: Item, record: Record, reading: Reading | None, url: str) -> str | None:
        if reading is None:
            return None
        if record.kind == "redirect":
            return next((value for key, value in reading.headers if key.lower() == "location"), None)
        data = record.data
        answer = Answer(
            parent.url, parent.kind, reading.headers, reading.body, data["content_type"], data.get("charset")
        )
        leads = leads_of(spec, token_of(spec.user_agent or DEFAULT_USER_AGENT), answer)
        join = judge.joining(leads.base)
        hrefs = [*leads.links, *leads.shunned, *(entry.url for entry in leads.entries)]
        hrefs += [source for source, _, _ in leads.sources]
        joined = [(href, join(href)) for href in hrefs]
        exact = next((href for href, target in joined if target == url), None)
        return exact or next((href for href, target in joined if target and sessionless(target) == url), None)

    return written


def robots_line(job: Job, url: str, robots_txt: Reading) -> str | None:
    """The line of a stored robots.txt that shuts the address out, if one does."""
    agent = SiteSpec.from_json(job.spec).user_agent or DEFAULT_USER_AGENT
    return deciding_line(robots_txt.body, agent, url)


def beyond_the_judge(reason: str, url: str) -> str | None:  # noqa: PLR0911 - one for each reason
    """Why an address was left out that no rule of the judge shuts out; None for any other reason."""
    match reason:
        case SkipReason.NOFOLLOW:
            return "each page that links to it asks not to follow that link (--follow-nofollow does)"
        case "mime":
            return "when it was its turn, it was of a type that this crawl doesn't keep (--mime, --no-mime)"
        case Trap.LOOP:
            return "the page that it was found on names, below itself, the very directories that it lies in"
        case Trap.BARREN:
            return f"when it was its turn, {IN_A_ROW} pages in a row like {family(url)} had said nothing new"
        case Trap.ORDER:
            return "when it was its turn, the same parameters in another order had been asked for"
        case Trap.FACETS:
            many = f"{KEY_SETS} other choices of {MANY_KEYS} or more parameters"
            return f"when it was its turn, {many} had been asked for at that path"
        case _:
            return None
