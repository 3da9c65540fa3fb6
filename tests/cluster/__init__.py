"""Headrace on a standalone cluster of Spark."""
