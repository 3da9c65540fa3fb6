"""Redis: commands, lookups, and writing."""
