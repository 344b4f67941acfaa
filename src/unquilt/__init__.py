"""Shows what in a web crawl is copied, from where, and why."""
