"""Writes src/headrace/common/_options/flink_keys.txt: the names of Flink's configuration keys.

    python scripts/flink_keys.py FOLDER

FOLDER holds Flink's jars (those of the package apache-flink-libraries, say). Every class in them
that has constants of the type ConfigOption is loaded, and asked for their names and older names.
Options of connectors, formats and catalogs are left out: they are none of a job's configuration.
"""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JError

from headrace.runners.spark.startup.java import ensure_java

PAGE = Path(__file__).parents[1] / "src/headrace/common/_options/flink_keys.txt"
_OPTION = "org.apache.flink.configuration.ConfigOption"
_OTHERS = (
    "connector",
    "externalresource",
    "formats",
    "metrics",
    "streaming.api.graph",
    "table.api.config.LookupJoin",
    "table.api.config.MLPredict",
    "table.api.config.VectorSearch",
    "table.catalog.F",
    "table.catalog.G",
    "table.connector",
    "table.factories",
    "table.module",
    "table.runtime",
    "table.sinks",
    "table.utils",
)


def classes(jar: Path) -> Iterator[str]:
    """The names of a jar's classes that know options of a job's configuration."""
    wanted = f"L{_OPTION.replace('.', '/')};".encode()
    others = tuple(f"org.apache.flink.{other}" for other in _OTHERS)
    with zipfile.ZipFile(jar) as archive:
        for entry in archive.namelist():
            name = entry.removesuffix(".class").replace("/", ".")
            if name == entry or not name.startswith("org.apache.flink.") or name.startswith(others):
                continue
            if wanted in archive.read(entry):
                yield name


def keys(jvm: Any, name: str) -> Iterator[str]:
    """The keys of a class's options, and their older names."""
    try:
        loader = jvm.java.lang.ClassLoader.getSystemClassLoader()
        fields = jvm.java.lang.Class.forName(name, True, loader).getDeclaredFields()
    except Py4JError:
        return  # it needs a library that is not among the jars (Hadoop, YARN)
    for field in fields:
        if field.getType().getName() == _OPTION and "static" in field.toString():
            field.setAccessible(True)
            option = field.get(None)
            if option is not None:
                yield option.key()
                yield from (older.getKey() for older in option.fallbackKeys())


def is_whole(key: str) -> bool:
    """Whether a name can be set as it is: it is no pattern, no suffix, and not Flink's own."""
    inside = key.startswith(("$", "internal", "kubernetes.internal", "python.internal"))
    return not inside and not set("<#%").intersection(key) and bool(set(".-").intersection(key))


def main(folder: Path) -> None:
    """Write the list."""
    jars = sorted(folder.rglob("*.jar"))
    own = [str(path) for path in (Path(pyspark.__file__).parent / "jars").glob("py4j*.jar")]
    port = launch_gateway(
        classpath=os.pathsep.join([*map(str, jars), *own]),
        java_path=str(ensure_java().home / "bin" / "java"),
        die_on_exit=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    names = {name for jar in jars for name in classes(jar)}
    found = {key for name in sorted(names) for key in keys(gateway.jvm, name)}
    gateway.shutdown()
    lines = ["# Written by scripts/flink_keys.py: Flink 2.3's configuration keys, and older names."]
    PAGE.write_text("\n".join([*lines, *sorted(filter(is_whole, found)), ""]), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
