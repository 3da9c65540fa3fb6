"""Avro as a format of tables."""
