"""Formats: Avro, CSV, JSON, ORC, Parquet, Protobuf, and schemas of a schema registry."""

__all__: list[str] = []
