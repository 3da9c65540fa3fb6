"""Files that a ``DataFrameSink`` appends to a folder, each micro-batch's exactly once.

Spark writes a micro-batch aside, into ``_headrace/<sink>`` inside the folder, which readers pass
over. A manifest then names its files; from there on the content of the micro-batch is decided. Its
files are moved to where readers find them. A micro-batch that comes again, after a crash or a
cancel anywhere, finds the manifest, moves what was not moved yet, and writes nothing.

The folder stays a plain one, for any reader: what it lacks, unlike one that Spark's own file sink
wrote, is a log of its own that readers must follow.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrameWriter, SparkSession

from headrace.errors import JobError

FORMATS = frozenset({"parquet", "orc", "json", "csv", "text"})
"""Formats whose files can be written in one folder and moved to another."""


class HadoopFolder:
    """A folder in any file system that Spark knows."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._jvm: Any = spark._jvm
        self.path = self._path(path)
        configuration = spark._jsparkSession.sessionState().newHadoopConf()
        self._system = self.path.getFileSystem(configuration)

    def _path(self, *parts: Any) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(*parts)

    def path_of(self, name: str) -> Any:
        """The path of a file or folder inside, by its relative name."""
        return self._path(self.path, name)

    def exists(self, name: str) -> bool:
        """Whether there is a file or folder of that name."""
        return bool(self._system.exists(self.path_of(name)))

    def children(self, name: str) -> list[str]:
        """The names in a folder inside this one; none where it does not exist."""
        if not self.exists(name):
            return []
        return [
            status.getPath().getName() for status in self._system.listStatus(self.path_of(name))
        ]

    def files(self, name: str) -> Iterator[str]:
        """The files below a folder inside that readers would read, relative to it."""
        top = self._system.makeQualified(self.path_of(name)).toUri()
        found = self._system.listFiles(self.path_of(name), True)
        while found.hasNext():
            path = found.next().getPath()
            if not path.getName().startswith(("_", ".")):
                yield top.relativize(path.toUri()).getPath()

    def read(self, name: str) -> bytes:
        """The content of a file."""
        stream = self._system.open(self.path_of(name))
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def put(self, name: str, data: bytes) -> None:
        """Write a file whole: under another name first."""
        aside = f"{name}.{uuid.uuid4().hex}.tmp"
        stream = self._system.create(self.path_of(aside), True)
        stream.write(bytearray(data))
        stream.close()
        self.move(aside, name)

    def move(self, name: str, to: str) -> None:
        """Move a file, unless it was moved before.

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
        """Remove a file, or a folder with all that is in it."""
        self._system.delete(self.path_of(name), True)


def last_appended(folder: HadoopFolder, sink_id: str) -> int:
    """The last micro-batch whose content a sink has decided on; -1: there is none."""
    names = (name.removesuffix(".json") for name in folder.children(f"_headrace/{sink_id}"))
    return max((int(name) for name in names if name.isdigit()), default=-1)


def append_once(writer: DataFrameWriter, folder: HadoopFolder, sink_id: str, batch: int) -> None:
    """Append what ``writer`` writes to a folder, as a sink's micro-batch ``batch``, once."""
    sink_folder = f"_headrace/{sink_id}"
    manifest = f"{sink_folder}/{batch}.json"
    if not folder.exists(manifest):
        staged = f"{sink_folder}/{batch}-{uuid.uuid4().hex}"
        writer.mode("overwrite").save(folder.path_of(staged).toString())
        found = {"version": 1, "aside": staged, "files": sorted(folder.files(staged))}
        folder.put(manifest, json.dumps(found).encode())
    manifest_content = json.loads(folder.read(manifest))
    for name in manifest_content["files"]:
        if folder.exists(f"{manifest_content['aside']}/{name}"):
            folder.move(f"{manifest_content['aside']}/{name}", name)
    # Only the last micro-batch comes again: manifests before it, and what was left aside, can go.
    for child in folder.children(sink_folder):
        if child != f"{batch}.json":
            folder.delete(f"{sink_folder}/{child}")
