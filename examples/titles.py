"""Crawl a site from Python and print what each page is called. Run it again after a Ctrl-C: it carries on.

python examples/titles.py https://example.org/ my-home
"""

import asyncio
import sys

import holdfast


async def main(url: str, home: str) -> None:
    async with holdfast.open(home) as hf:
        job = await hf.crawl(url, max_pages=100)
        print(f"{job.status}: {job.counters.done} pages, {job.counters.failed} failed")
        async for page in job.pages():
            print(f"{page.url}  {page.title}  {len(page.text.split())} words")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
