"""Runs a job: claim, take, handle, commit, finish. Knows leases, limits and checkpoints; knows no HTTP and no SQL.

`run` is the list of steps, `worker` the loop, `keeper` and `watchdog` look after leases, `verify` checks the promise.
"""
