"""Window joins: pairs of records of one key and window."""
