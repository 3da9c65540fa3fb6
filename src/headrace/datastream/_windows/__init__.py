"""Windows: assigners, triggers, evictors."""
