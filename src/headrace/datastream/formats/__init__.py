"""How records are written: Avro, CSV, JSON, ORC, Parquet, Protobuf, and schemas in a registry."""

__all__: list[str] = []
