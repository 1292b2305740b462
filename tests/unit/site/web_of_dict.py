"""A web held in a dict, and a handler crawling it."""

import asyncio
import itertools
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

import orjson

from holdfast.domain.checkpoint import CheckpointPolicy, Counters
from holdfast.domain.item import Item, Outcome
from holdfast.domain.job import Durability, Job, Limits, Pace
from holdfast.domain.states import Status
from holdfast.domain.url import origin
from holdfast.pipelines.site.handler import SiteHandler
from holdfast.pipelines.site.spec import SiteSpec
from holdfast.ports.fetcher import FetchFailed, Request, Response
from holdfast.ports.pipeline import HostPace, PipelineRun

NOW = 1_800_000_000.0
START = "https://example.com/"


class StillClock:
    """Time that passes only when a test says so."""

    now = NOW

    def wall(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += seconds


Answer = Response | FetchFailed | Callable[[Request], Response]


class Web:
    """A fetcher that answers from a dict; a list is answered in turn, its last entry for ever."""

    def __init__(self, answers: Mapping[str, Answer | list[Answer]]) -> None:
        self.answers = dict(answers)
        self.asked: list[Request] = []
        self.closed = False

    async def fetch(self, request: Request) -> Response:
        self.asked.append(request)
        await asyncio.sleep(0)
        answer = self.answers.get(request.url) or reply(404)
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if isinstance(answer, FetchFailed):
            raise answer
        if not isinstance(answer, Response):
            answer = answer(request)
        return replace(answer, url=request.url)

    async def close(self) -> None:
        self.closed = True

    def count(self, url: str) -> int:
        return sum(request.url == url for request in self.asked)


def reply(
    status: int = 200,
    body: bytes = b"",
    headers: Iterable[tuple[str, str]] = (),
    content_type: str = "text/html; charset=utf-8",
) -> Response:
    all_headers = ((("Content-Type", content_type),) if content_type else ()) + tuple(headers)
    return Response(
        "", status, "1.1", "", all_headers, body, body, b"GET / HTTP/1.1", "192.0.2.1", NOW, 0.0123
    )


def moved(location: str, status: int = 301, *headers: tuple[str, str]) -> Response:
    return reply(status, b"moved", (("Location", location), *headers))


def page(*hrefs: str, title: str = "A page") -> Response:
    anchors = "".join(f'<p><a href="{href}">x</a>' for href in hrefs)
    return reply(body=f"<!doctype html><html lang=en><title>{title}</title><body>{anchors}".encode())


def job(spec: SiteSpec, **limits: Any) -> Job:
    return Job(
        id=1,
        public_id="0",
        kind="site",
        identity="x",
        name=None,
        spec=orjson.loads(orjson.dumps(spec.to_json())),
        limits=Limits(**limits),
        pace=Pace(concurrency=4, per_host=2, delay_s=0.5),
        checkpoints=CheckpointPolicy(),
        durability=Durability.PROCESS,
        owner="",
        status=Status.IN_PROGRESS,
        reason=None,
        phase="crawl",
        run=1,
        commit_no=0,
        desired=None,
        created_at=NOW,
        started_at=NOW,
        finished_at=None,
        active_s=0,
        granted_s=0,
        counters=Counters(),
        last_checkpoint_at=None,
    )


_ids = itertools.count(1)


def item(url: str = START, depth: int = 0, attempts: int = 0, *, host_answered: bool = False) -> Item:
    return Item(next(_ids), url, 1, origin(url), depth, attempts=attempts, host_answered=host_answered)


Answers = Mapping[str, "Answer | list[Answer]"]


def crawl(
    answers: Answers,
    spec: SiteSpec | None = None,
    cursor: Mapping[str, Any] | None = None,
    outside: Collection[str] = (),
    *,
    pace: Pace | None = None,
    repace: Callable[[int, HostPace], None] = lambda _id, _pace: None,
    **limits: Any,
) -> tuple[SiteHandler, Web]:
    web = Web({"https://example.com/robots.txt": reply(404), **answers})
    asked = job(spec or SiteSpec((START,)), **limits)
    run = PipelineRun(replace(asked, pace=pace or asked.pace), cursor or {}, outside, repace)
    return SiteHandler(run, web, StillClock(), lambda: 0.5), web


def handle(answers: Answers, one: Item | None = None, **more: Any) -> Outcome:
    handler, _ = crawl(answers, **more)
    return asyncio.run(handler.handle(one or item()))
