"""Tables of Spark's own catalog."""
