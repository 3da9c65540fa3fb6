"""Exactly-once appends of a ``DataFrameSink`` to a folder of files.

Spark writes a micro-batch to a staging folder, ``_headrace/<sink>`` inside the target folder, which
readers ignore. Then a manifest with its files is written, which decides the micro-batch. Then the
files are moved into the target folder. If the micro-batch is repeated after a crash or a cancel,
the manifest exists: only the remaining files are moved, and nothing is written.

Unlike the folder of Spark's own file sink, the target folder has no log that readers must follow.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrameWriter, SparkSession

from headrace.errors import JobError

FORMATS = frozenset({"parquet", "orc", "json", "csv", "text"})
"""File formats whose files can be moved to another folder."""


class HadoopFolder:
    """A folder in a file system that Spark supports."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._jvm: Any = spark._jvm
        self.path = self._make_path(path)
        configuration = spark._jsparkSession.sessionState().newHadoopConf()
        self._system = self.path.getFileSystem(configuration)

    def _make_path(self, *parts: Any) -> Any:
        """Return a Hadoop path of the given parts."""
        return self._jvm.org.apache.hadoop.fs.Path(*parts)

    def path_of(self, name: str) -> Any:
        """Return the path of a file or folder, by its name relative to this folder."""
        return self._make_path(self.path, name)

    def exists(self, name: str) -> bool:
        """Return whether a file or folder exists."""
        return bool(self._system.exists(self.path_of(name)))

    def children(self, name: str) -> list[str]:
        """Return the names in a subfolder; none if it does not exist."""
        if not self.exists(name):
            return []
        return [
            status.getPath().getName() for status in self._system.listStatus(self.path_of(name))
        ]

    def files(self, name: str) -> Iterator[str]:
        """Yield the files below a subfolder that readers would read, relative to it."""
        top = self._system.makeQualified(self.path_of(name)).toUri()
        files = self._system.listFiles(self.path_of(name), True)
        while files.hasNext():
            path = files.next().getPath()
            if not path.getName().startswith(("_", ".")):
                yield top.relativize(path.toUri()).getPath()

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        stream = self._system.open(self.path_of(name))
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def put(self, name: str, data: bytes) -> None:
        """Write a complete file: under a temporary name first."""
        temporary = f"{name}.{uuid.uuid4().hex}.tmp"
        stream = self._system.create(self.path_of(temporary), True)
        stream.write(bytearray(data))
        stream.close()
        self.move(temporary, name)

    def move(self, name: str, to: str) -> None:
        """Move a file, unless the target exists.

        Raises:
            JobError: the file system refuses.
        """
        if self.exists(to):
            self.delete(name)
            return
        target = self.path_of(to)
        self._system.mkdirs(target.getParent())
        if not self._system.rename(self.path_of(name), target) and not self.exists(to):
            raise JobError(f"{name} cannot be moved to {to}", where={"folder": str(self.path)})

    def delete(self, name: str) -> None:
        """Delete a file, or a folder with its content."""
        self._system.delete(self.path_of(name), True)


def last_appended(folder: HadoopFolder, sink_id: str) -> int:
    """Return the last micro-batch of a sink with a manifest; -1 for none."""
    names = (name.removesuffix(".json") for name in folder.children(f"_headrace/{sink_id}"))
    return max((int(name) for name in names if name.isdigit()), default=-1)


def append_once(writer: DataFrameWriter, folder: HadoopFolder, sink_id: str, batch: int) -> None:
    """Append what ``writer`` writes, as micro-batch ``batch`` of a sink, exactly once."""
    sink_folder = f"_headrace/{sink_id}"
    manifest = f"{sink_folder}/{batch}.json"
    if not folder.exists(manifest):
        staged = f"{sink_folder}/{batch}-{uuid.uuid4().hex}"
        writer.mode("overwrite").save(folder.path_of(staged).toString())
        manifest_json = {"version": 1, "aside": staged, "files": sorted(folder.files(staged))}
        folder.put(manifest, json.dumps(manifest_json).encode())
    manifest_content = json.loads(folder.read(manifest))
    for name in manifest_content["files"]:
        if folder.exists(f"{manifest_content['aside']}/{name}"):
            folder.move(f"{manifest_content['aside']}/{name}", name)
    # Only the last micro-batch can be repeated: older manifests and staged files are removed.
    for child in folder.children(sink_folder):
        if child != f"{batch}.json":
            folder.delete(f"{sink_folder}/{child}")
