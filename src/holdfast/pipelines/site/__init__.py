"""Crawl a site: which URLs belong to it (spec, judge), what one gives (handler), its row (rows)."""
