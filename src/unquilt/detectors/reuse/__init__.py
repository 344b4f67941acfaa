"""Copied files and chunks, and the neighborhoods they gather in (Ardi and Heidemann)."""
