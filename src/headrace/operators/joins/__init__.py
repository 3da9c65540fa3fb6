"""Joins of two keyed streams by event time."""
