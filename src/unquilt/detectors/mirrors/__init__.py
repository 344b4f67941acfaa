"""Hosts that replicate hosts (Bharat and Broder, WWW 1999)."""
