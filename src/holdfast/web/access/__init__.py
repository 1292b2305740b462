"""Access: what is sent to some hosts and to nobody else, and the proxies by which hosts are reached.

Secrets come from files and from the environment, live in memory, and end on the wire. Nothing here puts one into a
message, a log line or a repr, and what is written down of a request has `HIDDEN` in its place.
"""
