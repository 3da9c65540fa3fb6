"""Names at PyFlink's path that wrap objects of Flink's JVM."""

from __future__ import annotations

from headrace.common.unsupported import unsupported

__all__ = ["InputFormat"]

InputFormat = unsupported(
    "headrace.common.io.InputFormat",
    "it wraps a JVM object; use a source of headrace.datastream.connectors",
)
