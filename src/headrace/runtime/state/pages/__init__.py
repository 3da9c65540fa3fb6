"""Entries of keyed state in pages."""
