"""Whole programs on the local runner."""
