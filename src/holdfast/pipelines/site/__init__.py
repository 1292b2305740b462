"""Crawl a site: which URLs belong to it (spec, judge), what one URL comes to (handler), what a page's row says (rows)."""
