"""The adapters to the web: fetching over HTTP (curl) and keeping what came, in WARC segments (warc).

Nothing here decides what to fetch, when, or what a page means. Only bootstrap and the tests import it.
"""
