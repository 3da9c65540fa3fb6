"""Keyed state: the seam, its backends, and the handles over it."""
