"""The crawl without its copies, and the way back."""
