"""A local file system for Hadoop that starts no process for each file that is written.

PySpark does not contain Hadoop's native library. Without it, Hadoop runs ``chmod`` for each file
and for its checksum: twelve processes for a micro-batch with two partitions, and four more for each
additional partition. Our class sets permissions with calls of Java. It is defined at run time, in
the package of Hadoop's classes. The class path stays the same, so the archive of classes stays
valid.

``scripts/java_classes.py`` compiles the class, with the compiler that Spark brings.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

SETTING = "spark.hadoop.fs.file.impl"
PACKAGE = "org.apache.hadoop.fs"
SOURCE = "ForkFreeLocalFileSystem"
CLASSES = (f"{SOURCE}$Raw", SOURCE)
"""In the order of definition: each class after the classes that it needs."""

CLASS_FOLDER = files("headrace.runners.spark.startup") / "jvm_classes"


def define_local_file_system(jvm: Any) -> str:
    """Define the file system in a new JVM; return its class, the value of ``SETTING``.

    Raises:
        Py4JError: the JVM does not allow to define the class.
    """
    hadoop_class = jvm.java.lang.Class.forName(f"{PACKAGE}.LocalFileSystem")
    handles = jvm.java.lang.invoke.MethodHandles
    lookup = handles.privateLookupIn(hadoop_class, handles.lookup())
    for name in CLASSES:
        lookup.defineClass((CLASS_FOLDER / f"{name}.class").read_bytes())
    # Hadoop caches file systems: one that exists already would ignore the new setting.
    jvm.org.apache.hadoop.fs.FileSystem.closeAll()
    return f"{PACKAGE}.{SOURCE}"
