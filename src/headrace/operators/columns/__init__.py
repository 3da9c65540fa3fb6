"""Operators over columns with typed fields: those of SQL."""
