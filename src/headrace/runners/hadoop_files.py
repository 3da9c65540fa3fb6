"""Access to remote storage without Spark: from Hadoop's files and the job's settings."""

from __future__ import annotations

import getpass
from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.etree import ElementTree

from headrace.common._storage.locations import StorageAccess
from headrace.errors import ConfigurationError

_PREFIX = "spark.hadoop."
_FILES = ("core-site.xml", "hdfs-site.xml")


def access_without_spark(
    spark_settings: Mapping[str, str], environ: Mapping[str, str]
) -> StorageAccess:
    """Return the settings of the files in ``HADOOP_CONF_DIR``, overridden by ``spark.hadoop.*``.

    Raises:
        ConfigurationError: a file is not valid XML.
    """
    found: dict[str, str] = {}
    folder = environ.get("HADOOP_CONF_DIR")
    for path in (Path(folder, name) for name in _FILES) if folder else ():
        if path.is_file():
            found.update(_properties(path))
    for key, value in spark_settings.items():
        if key.startswith(_PREFIX):
            found[key.removeprefix(_PREFIX)] = value
    return StorageAccess(found, environ.get("HADOOP_USER_NAME") or getpass.getuser())


def _properties(path: Path) -> Iterable[tuple[str, str]]:
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise ConfigurationError(
            "a file of Hadoop's configuration is not valid XML",
            where={"file": f"{path}: {error}"},
            hint="correct the file, or unset HADOOP_CONF_DIR",
        ) from error
    for each in root.iter("property"):
        name, value = each.findtext("name"), each.findtext("value")
        if name and value is not None:
            yield name.strip(), value.strip()
