"""The embedded store: one SQLite file in the home, written by one thread of each process.

`connection` opens and migrates, `sql/*.sql` hold every statement, the other modules turn rows into domain values.
"""
