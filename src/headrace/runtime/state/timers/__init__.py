"""Timers in pages, in the order of time."""
