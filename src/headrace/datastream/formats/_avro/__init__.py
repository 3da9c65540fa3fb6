"""Avro: schemas, schema resolution, and generated code that reads and writes records."""
