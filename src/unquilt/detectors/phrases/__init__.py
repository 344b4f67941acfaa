"""Phrases that many pages share, and pages that are nearly the same (Fetterly, Manasse and Najork, SIGIR 2005)."""
