"""Aggregates of fields (count, sum, min, max), over records and over Arrow columns."""
