"""The rules of Holdfast: jobs, statuses, items, outcomes, URLs, retries, checkpoints, errors.

Everything here is a value or a plain function. No I/O, no clock, no randomness, no asyncio: those are arguments.
"""
