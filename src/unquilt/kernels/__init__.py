"""Loops over arrays: numpy arrays in, numpy arrays out; no files, no seeds of their own, nothing of ours."""
