"""Joins of two keyed streams in event time, other than those of windows."""
