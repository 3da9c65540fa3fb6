"""``kafka`` and ``upsert-kafka``: tables in topics."""
