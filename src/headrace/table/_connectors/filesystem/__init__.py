"""``filesystem``: tables in files."""
