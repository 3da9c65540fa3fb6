"""Statements that are refused by name."""

from __future__ import annotations

UNSUPPORTED = {
    ("ADD", "JAR"): "there are no jars: functions are Python, and connectors are built in",
    ("REMOVE", "JAR"): "there are no jars: functions are Python, and connectors are built in",
    ("LOAD", "MODULE"): "there are no modules: the functions are built in or of the user",
    ("UNLOAD", "MODULE"): "there are no modules: the functions are built in or of the user",
    ("USE", "MODULES"): "there are no modules: the functions are built in or of the user",
    ("SHOW", "CREATE", "MATERIALIZED"): "there are no materialized tables",
    ("SHOW", "CREATE", "MODEL"): "there are no models",
    ("DESCRIBE", "MODEL"): "there are no models",
    ("DELETE",): "rows of a table are not deleted by a statement",
    ("UPDATE",): "rows of a table are not changed by a statement",
    ("TRUNCATE",): "rows of a table are not deleted by a statement",
    ("ANALYZE",): "plans do not depend on statistics of tables",
    ("CALL",): "catalogs have no procedures",
    ("COMPILE",): "a plan is not stored: its operators keep their ids when the text is the same",
    ("EXECUTE", "PLAN"): "a plan is not stored: its operators keep their ids",
    ("MERGE",): "rows of a table are not changed by a statement",
    ("UPSERT",): "Flink has no UPSERT either; a sink with a primary key is written by INSERT",
}
"""First words of statements, and why they are not supported."""
