"""PostgreSQL: snapshots, lookups, and an exactly-once sink."""
