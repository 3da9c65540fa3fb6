"""PostgreSQL: snapshots, lookups, and writing exactly once."""
