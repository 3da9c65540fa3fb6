"""Pairs of records of one key and window."""
