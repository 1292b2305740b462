"""A web site that counts: what it served stands in its own access log, which no crawler's death can touch.

The site is made from a seed: a tree of pages with links up, down and across, exact duplicates, redirects (one
of them in two hops) and dead links. `pages` says which URLs a whole crawl must give.
"""

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final

_CHILDREN: Final = 6
_ACROSS: Final = 5
_LOOKED_FOR: Final = frozenset({"/robots.txt", "/sitemap.xml"})
"""What a crawl looks for by itself; where it isn't there, asking for it is no visit."""
_DUPLICATE: Final = (
    b"<html><title>The same</title><p>Every copy of this page is the same. <a href='/'>Home</a></html>"
)
_TEXT: Final = "Whatever was found is kept, whatever was kept is found again. "


@dataclass(frozen=True, slots=True)
class Answer:
    """What a path is answered with."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/html; charset=utf-8"),)


Misbehaviour = Callable[[str], Answer]


@dataclass(frozen=True, slots=True)
class Site:
    """Path to answer. What isn't there is a 404."""

    answers: Mapping[str, Answer]

    @property
    def pages(self) -> frozenset[str]:
        """The paths that give a page."""
        return frozenset(path for path, answer in self.answers.items() if answer.status == 200)


def generated(size: int = 400, *, seed: int = 1) -> Site:
    """About that many pages, all of them to be reached from /."""
    rng = random.Random(seed)
    count = size - size // 20
    extra: dict[int, list[str]] = {}
    answers: dict[str, Answer] = {}

    def linked(path: str) -> str:
        extra.setdefault(rng.randrange(count), []).append(path)
        return path

    for n in range(size // 20):
        answers[linked(f"/copies/{n}.html")] = Answer(200, _DUPLICATE)
        target = f"/p/{rng.randrange(1, count)}.html"
        answers[linked(f"/moved/{n}")] = Answer(302 if n % 2 else 301, b"", (("Location", target),))
        linked(f"/gone/{n}.html")
    answers[linked("/far")] = Answer(301, b"", (("Location", "/farther"),))
    answers["/farther"] = Answer(302, b"", (("Location", "/p/1.html"),))
    for n in range(count):
        links = [_path(child) for child in range(n * _CHILDREN + 1, (n + 1) * _CHILDREN + 1) if child < count]
        links += ["/", _path((n - 1) // _CHILDREN if n else 0)]
        links += [_path(rng.randrange(count)) for _ in range(_ACROSS)]
        answers[_path(n)] = Answer(200, _page(n, links + extra.get(n, []), rng.randrange(5, 40)))
    return Site(answers)


def _path(n: int) -> str:
    return f"/p/{n}.html" if n else "/"


def _page(n: int, links: list[str], sentences: int) -> bytes:
    anchors = "\n".join(f'<li><a href="{path}">to {path}</a></li>' for path in links)
    return f"<!doctype html><title>Page {n}</title><p>{_TEXT * sentences}</p><ul>{anchors}</ul>".encode()


@dataclass
class SiteServer:
    """A site that is being served. Its fields may be changed while it is."""

    site: Site
    log: Path
    base: str = ""
    delay_s: float = 0.0
    validates: bool = False
    """Pages have ETags, and what has not changed since isn't sent again."""
    misbehaving: dict[str, Misbehaviour] = field(default_factory=dict)
    """Asked first, each time that the path is."""
    _served: int = 0
    _loop: asyncio.AbstractEventLoop | None = None
    _listening: asyncio.Server | None = None
    _conversations: set[asyncio.Task[None]] = field(default_factory=set)

    @contextmanager
    def down(self) -> Iterator[None]:
        """Nobody is there while the block lasts: connections break, new ones are refused."""
        self._run(self.close())
        try:
            yield
        finally:
            self._run(self.listen(int(self.base.rpartition(":")[2])))

    def _run(self, work: Coroutine[None, None, None]) -> None:
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def listen(self, port: int = 0) -> None:
        """Be there, on any port or on that one."""
        self._loop = asyncio.get_running_loop()
        self._listening = await asyncio.start_server(self._converse, "127.0.0.1", port, backlog=256)
        host, port = self._listening.sockets[0].getsockname()
        self.base = f"http://{host}:{port}"

    async def close(self) -> None:
        """Be gone, and break off whatever is under way."""
        assert self._listening is not None
        self._listening.close()
        conversations = list(self._conversations)
        for task in conversations:
            task.cancel()
        await asyncio.gather(*conversations, return_exceptions=True)

    @property
    def start(self) -> str:
        """The URL to crawl."""
        return f"{self.base}/"

    @property
    def urls(self) -> frozenset[str]:
        """What a whole crawl must give, each once."""
        return frozenset(self.base + path for path in self.site.pages)

    @property
    def served(self) -> int:
        """Requests that were answered, robots.txt aside."""
        return self._served

    def counts(self) -> Counter[str]:
        """How often each path was asked for, as the access log has it."""
        if not self.log.exists():
            return Counter()
        lines = self.log.read_text(encoding="utf-8").splitlines()
        paths = (line.split(" ", 1)[1] for line in lines)
        return Counter(path for path in paths if self._is_content(path))

    def answers(self) -> Counter[tuple[int, str]]:
        """How often each path was answered with which status."""
        lines = self.log.read_text(encoding="utf-8").splitlines()
        split = (line.split(" ", 1) for line in lines)
        return Counter((int(status), path) for status, path in split if self._is_content(path))

    def fetched_again(self) -> int:
        """Requests beyond the first for each path."""
        return sum(count - 1 for count in self.counts().values())

    def answer(self, path: str) -> Answer:
        """What the path is answered with now."""
        if path in self.misbehaving:
            return self.misbehaving[path](path)
        return self.site.answers.get(path) or Answer(404, b"<title>Not here</title>")

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until the other side is gone, however it went."""
        task = asyncio.current_task()
        assert task is not None
        self._conversations.add(task)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                path = head.split(b" ", 2)[1].decode("ascii")
                answer = self.answer(path)
                if self.validates and answer.status == 200:
                    answer = _validated(answer, head)
                self._note(answer.status, path)
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                writer.write(_wire(answer))
                await writer.drain()
        self._conversations.discard(task)
        writer.close()

    def _note(self, status: int, path: str) -> None:
        # Opened and closed for each line: what is counted is on its way to the disk before it is answered.
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"{status} {path}\n")
        self._served += self._is_content(path)

    def _is_content(self, path: str) -> bool:
        return path not in _LOOKED_FOR or (path != "/robots.txt" and path in self.site.answers)


def _validated(answer: Answer, head: bytes) -> Answer:
    etag = f'"{sha256(answer.body).hexdigest()}"'
    headers = (*answer.headers, ("ETag", etag))
    if f"\r\nif-none-match: {etag}\r\n".encode() in head.lower():
        return Answer(304, b"", headers)
    return Answer(answer.status, answer.body, headers)


def _wire(answer: Answer) -> bytes:
    head = [f"HTTP/1.1 {answer.status} -", f"Content-Length: {len(answer.body)}"]
    head += [f"{name}: {value}" for name, value in answer.headers]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + answer.body


@contextmanager
def serving(site: Site, log: Path) -> Iterator[SiteServer]:
    """Serve the site on loopback, from a thread of its own, until the end of the block."""
    server = SiteServer(site, log)
    loop = asyncio.new_event_loop()
    listening = threading.Event()
    finished = asyncio.Event()

    async def serve() -> None:
        await server.listen()
        listening.set()
        await finished.wait()
        await server.close()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), name="site", daemon=True)
    thread.start()
    listening.wait()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(finished.set)
        thread.join()
        loop.close()
