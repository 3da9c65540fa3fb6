"""CSV as a format of tables."""
