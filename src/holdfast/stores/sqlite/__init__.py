"""The embedded store: one SQLite file in the home.

`connection` opens and migrates, `sql/*.sql` hold every statement, the other modules turn rows into domain values.
"""
