"""Writing topics, in transactions if the sink is exactly-once."""
