"""unquilt: what in a web crawl is copied, from where, and why."""

__version__ = "0.1.0"
