"""A job as one page: figures gathered in bounded memory, charts drawn as SVG, HTML that needs nothing else.

`gather` reads, `figures` holds what was found, `page` writes it. Nothing here knows what a record's data means: whoever
calls says what to see in one.
"""
