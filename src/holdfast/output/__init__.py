"""Results as files that people take along: rows in some format, or the stored exchanges themselves.

Nothing here knows what a row means: whoever calls says what columns there are and how a record becomes one.
"""
