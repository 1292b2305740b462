"""Scrapy with JOBDIR, as its documentation says to pause and resume crawls.

No delays, no robots.txt, no cookies, its own defaults otherwise (asyncio reactor, disk queues).
Links come from a CSS selector: that was measured to be faster than its LinkExtractor.

    python scrapy_jobdir.py START_URL FOLDER CONCURRENCY
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse


class PagesSpider(scrapy.Spider):
    name = "pages"

    def __init__(self, start: str) -> None:
        super().__init__()
        self.start_urls = [start]
        self.allowed_domains = [urlsplit(start).hostname]

    def parse(self, response: HtmlResponse) -> Iterator[dict[str, object] | scrapy.Request]:
        links = response.css("a::attr(href)").getall()
        yield {
            "url": response.url,
            "status": response.status,
            "title": response.css("title::text").get(),
            "text": " ".join(response.css("body ::text").getall()),
            "links": len(links),
        }
        for link in links:
            if not link.startswith("mailto:"):
                yield scrapy.Request(response.urljoin(link))


def main() -> None:
    start, folder, concurrency = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    process = CrawlerProcess(
        {
            "JOBDIR": str(folder / "job"),
            "FEEDS": {folder / "rows.jsonl": {"format": "jsonlines", "overwrite": False}},
            "CONCURRENT_REQUESTS": concurrency,
            "CONCURRENT_REQUESTS_PER_DOMAIN": concurrency,
            "DOWNLOAD_DELAY": 0,
            "ROBOTSTXT_OBEY": False,
            "COOKIES_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
            "LOG_LEVEL": "INFO",
        }
    )
    process.crawl(PagesSpider, start=start)
    process.start()


if __name__ == "__main__":
    main()
