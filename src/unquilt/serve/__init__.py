"""The explorer and the judging tool: a corpus and its results in a browser, on this machine."""
