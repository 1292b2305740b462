"""Pages shown by the system's Chromium, which Playwright drives (docs/adr has the reasons).

`program` finds it, `chromium` starts and ends it, `showing` shows one page in it, `snapshot` reads what the page's
scripts made. The browser has no network of its own: each request of a page is answered, or refused, by us. Only
`chromium` and `showing` import Playwright, and only crawls that render import them.
"""
