"""Benchmarks of Holdfast beside other crawlers, on one generated site, counted by its web server.

Nothing here is imported by the product, and nothing here needs more than the standard library:
the crawlers under test run as subprocesses, each in its own environment.
"""
