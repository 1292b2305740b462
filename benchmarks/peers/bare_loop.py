"""A bare crawl loop: fetch, parse, join, dedupe in a set, write a row. No state, no politeness.

It is the most that this client and this parser can do on one core. Any error ends it.

    python bare_loop.py START_URL FOLDER CONCURRENCY
"""

import io
import json
import sys
from collections import deque
from pathlib import Path
from urllib.parse import urlsplit

import ada_url
import pycurl
from selectolax.lexbor import LexborHTMLParser


def parsed(handle: pycurl.Curl) -> tuple[dict[str, object], list[str]]:
    """The row of a fetched page, and its links."""
    tree, urls = LexborHTMLParser(handle.body.getvalue()), []
    for anchor in tree.css("a[href]"):
        try:
            urls.append(ada_url.join_url(handle.url, anchor.attrs["href"] or ""))
        except ValueError:
            continue
    row = {
        "url": handle.url,
        "status": handle.getinfo(pycurl.RESPONSE_CODE),
        "title": tree.css_first("title").text(),
        "text": tree.body.text(separator=" "),
        "links": len(urls),
    }
    return row, urls


def main() -> None:
    start, folder, concurrency = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    parts = urlsplit(start)
    origin = f"{parts.scheme}://{parts.netloc}/"
    seen, queue = {start}, deque([start])
    multi, free, active = pycurl.CurlMulti(), [], 0
    multi.setopt(pycurl.M_MAX_TOTAL_CONNECTIONS, concurrency)
    for _ in range(concurrency):
        handle = pycurl.Curl()
        handle.setopt(pycurl.ENCODING, "")
        free.append(handle)
    with (folder / "rows.jsonl").open("w", encoding="utf-8") as rows:
        while queue or active:
            while queue and free:
                handle = free.pop()
                handle.url, handle.body = queue.popleft(), io.BytesIO()
                handle.setopt(pycurl.URL, handle.url)
                handle.setopt(pycurl.WRITEDATA, handle.body)
                multi.add_handle(handle)
                active += 1
            multi.select(1.0)
            multi.perform()
            remaining = 1
            while remaining:
                remaining, finished, failed = multi.info_read()
                if failed:
                    sys.exit(f"{failed[0][0].url}: {failed[0][2]}")
                for handle in finished:
                    multi.remove_handle(handle)
                    active -= 1
                    free.append(handle)
                    row, urls = parsed(handle)
                    rows.write(json.dumps(row) + "\n")
                    for found in urls:
                        url = found.partition("#")[0]
                        if url not in seen and url.startswith(origin):
                            seen.add(url)
                            queue.append(url)


if __name__ == "__main__":
    main()
