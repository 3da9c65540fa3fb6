"""Compile the Java source of the package with Spark's compiler: needs Java.

A test with Spark finds out whether the classes are those of the source.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark import SparkContext

from headrace.runners.spark.startup.java import ensure_java
from headrace.runners.spark.startup.local_file_system import CLASS_FOLDER, PACKAGE, SOURCE


def compiled(jvm: Any) -> dict[str, bytes]:
    """Return the classes that Spark's compiler makes of the source, by name."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook((CLASS_FOLDER / f"{SOURCE}.java").read_text("utf-8"))
    classes = compiler.getBytecodes()
    return {name.removeprefix(f"{PACKAGE}."): bytes(classes[name]) for name in classes}


def main() -> None:
    """Write the classes beside their source."""
    ensure_java()
    SparkContext._ensure_initialized()
    for name, data in compiled(SparkContext._jvm).items():
        Path(str(CLASS_FOLDER / f"{name}.class")).write_bytes(data)


if __name__ == "__main__":
    main()
