"""Time and memory against peers or limits, as ratios measured in one run: ``python -m benchmarks``."""
