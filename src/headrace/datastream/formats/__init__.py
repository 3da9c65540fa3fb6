"""How records are written down: CSV, JSON, Parquet; Avro and ORC are declared."""
