"""Work on pages while the crawl goes on: each is handed over within a checkpoint, exactly once.

python examples/as_they_come.py https://example.org/ my-home
"""

import asyncio
import sys

import holdfast


async def main(url: str, home: str) -> None:
    async with holdfast.open(home) as hf:
        job = await hf.submit(url, max_pages=100)
        async with asyncio.TaskGroup() as tasks:
            if job.status == "pending":  # else it is completed already
                tasks.create_task(job.run())
            async for page in job.pages(follow=True):
                print(f"{page.depth}  {page.size:>7} bytes  {page.url}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
