"""The only room that knows Spark."""
