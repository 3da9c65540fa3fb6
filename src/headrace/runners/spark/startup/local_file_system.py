"""Hadoop's local file system without a process for each file that is written.

PySpark does not bring Hadoop's native library. Without it, Hadoop runs ``chmod`` for each file and
its checksum: twelve processes for a micro-batch with two partitions, and four for each further
partition. A class of ours sets permissions by Java's own calls. It is defined in the JVM beside
Hadoop's classes. So the class path, with which the archive of classes is compared, does not change.

``scripts/java_classes.py`` compiles the class, with the compiler that Spark brings.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

SETTING = "spark.hadoop.fs.file.impl"
PACKAGE = "org.apache.hadoop.fs"
SOURCE = "ForkFreeLocalFileSystem"
CLASSES = (f"{SOURCE}$Raw", SOURCE)
"""In the order in which they can be defined: each after those that it needs."""

JAVA = files("headrace.runners.spark.startup") / "jvm_classes"


def define_local_file_system(jvm: Any) -> str:
    """Define the file system in a new JVM; return its class, the value of ``SETTING``.

    Raises:
        Py4JError: the JVM does not allow it.
    """
    beside = jvm.java.lang.Class.forName(f"{PACKAGE}.LocalFileSystem")
    handles = jvm.java.lang.invoke.MethodHandles
    lookup = handles.privateLookupIn(beside, handles.lookup())
    for name in CLASSES:
        lookup.defineClass((JAVA / f"{name}.class").read_bytes())
    # Hadoop keeps the file systems that it has made, whatever the setting says afterwards.
    jvm.org.apache.hadoop.fs.FileSystem.closeAll()
    return f"{PACKAGE}.{SOURCE}"
