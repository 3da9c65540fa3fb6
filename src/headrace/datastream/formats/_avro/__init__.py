"""Avro: schemas, their resolution, and generated code that reads and writes records."""
