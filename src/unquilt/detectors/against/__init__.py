"""A crawl against an earlier one: what is new, gone and newly copied from it, and which groups are still the same."""
