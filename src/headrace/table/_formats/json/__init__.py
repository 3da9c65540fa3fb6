"""JSON as a format of tables."""
