"""Java, the session, and Python processes that start quickly."""
