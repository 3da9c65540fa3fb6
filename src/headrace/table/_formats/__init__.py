"""Formats of tables: between bytes and columns."""
