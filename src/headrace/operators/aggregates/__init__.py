"""Aggregates of fields: what is computed, row by row and over columns."""
