"""Arrow's columns and types for declared types."""
