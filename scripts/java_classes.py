"""Compile the Java source of the package with Spark's compiler: needs Java.

A test with Spark finds out whether the classes are those of the source.
"""

from __future__ import annotations

from pathlib import Path

from pyspark import SparkContext

from headrace.runners.spark.startup.java import ensure_java
from headrace.runners.spark.startup.local_file_system import JAVA, compiled


def main() -> None:
    """Write the classes beside their source."""
    ensure_java()
    SparkContext._ensure_initialized()
    for name, data in compiled(SparkContext._jvm).items():
        Path(str(JAVA / f"{name}.class")).write_bytes(data)


if __name__ == "__main__":
    main()
