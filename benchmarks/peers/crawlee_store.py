"""Crawlee with ParselCrawler on one of its two durable storages, kept between runs.

python crawlee_store.py START_URL FOLDER CONCURRENCY files|sql
"""

import asyncio
import json
import sys
from datetime import timedelta
from pathlib import Path

from crawlee import ConcurrencySettings
from crawlee.configuration import Configuration
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import FileSystemStorageClient, SqlStorageClient, StorageClient


def storage(kind: str, folder: Path) -> StorageClient:
    if kind == "files":
        return FileSystemStorageClient()
    return SqlStorageClient(connection_string=f"sqlite+aiosqlite:///{folder}/crawlee.db")


async def crawl(start: str, folder: Path, concurrency: int, kind: str) -> None:
    configuration = Configuration(storage_dir=str(folder / "storage"), purge_on_start=False)
    crawler = ParselCrawler(
        configuration=configuration,
        storage_client=storage(kind, folder),
        concurrency_settings=ConcurrencySettings(
            min_concurrency=concurrency,
            desired_concurrency=concurrency,
            max_concurrency=concurrency,
        ),
        statistics_log_format="inline",
        request_handler_timeout=timedelta(minutes=5),
    )

    @crawler.router.default_handler
    async def page(context: ParselCrawlingContext) -> None:
        selector = context.selector
        await context.push_data(
            {
                "url": context.request.url,
                "status": context.http_response.status_code,
                "title": selector.css("title::text").get(),
                "text": " ".join(selector.css("body ::text").getall()),
                "links": len(selector.css("a[href]")),
            }
        )
        await context.enqueue_links(strategy="same-hostname")

    await crawler.run([start])
    with (folder / "rows.jsonl").open("w", encoding="utf-8") as rows:
        dataset = await crawler.get_dataset()
        async for item in dataset.iterate_items():
            rows.write(json.dumps(item) + "\n")


def main() -> None:
    start, folder, concurrency, kind = sys.argv[1:]
    asyncio.run(crawl(start, Path(folder), int(concurrency), kind))


if __name__ == "__main__":
    main()
