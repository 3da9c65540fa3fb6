"""The connectors and formats of SQL's tables, by Flink's names and options."""
