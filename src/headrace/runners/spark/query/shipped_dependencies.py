"""A job's dependencies on their way to Spark's workers, also of a session that runs already."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark import SparkFiles
from pyspark.sql import SparkSession

from headrace.runners import pyflink_imports
from headrace.runners.dependencies import activation

_shipped: set[tuple[str, str]] = set()
"""Applications with the folders that were sent to them."""


@dataclass(frozen=True)
class ShippedDependencies:
    """Where a job's dependencies are found.

    Fields:
        here: their folder on the driver's machine; empty: there are none.
        name: under which Spark has extracted them for its workers.
        path: further folders of the workers' machines with modules.
        pyflink: the program's modules import Headrace as ``pyflink``.
    """

    driver_folder: str = ""
    name: str = ""
    path: tuple[str, ...] = ()
    pyflink: bool = False

    @classmethod
    def ship(
        cls, spark: SparkSession, folder: Path | None, path: Sequence[str]
    ) -> ShippedDependencies:
        """Let Spark bring a folder to the workers of a session: once, whatever jobs it is for."""
        pyflink = pyflink_imports.is_installed()
        if folder is None:
            return cls(path=tuple(path), pyflink=pyflink)
        context = spark.sparkContext
        shipped = context.applicationId or "", folder.name
        if shipped not in _shipped:
            # Of a tar that is zipped, Spark keeps links and permissions (4.3.0). It stays until
            # this process ends: executors fetch it when they start.
            packed = folder.parent / f"{folder.name}.tgz"
            with tarfile.open(packed, "w:gz", compresslevel=0) as tar:
                for entry in sorted(folder.iterdir()):
                    tar.add(entry, entry.name)
            context.addArchive(f"{packed}#{folder.name}")
            _shipped.add(shipped)
        return cls(str(folder), folder.name, tuple(path), pyflink)

    def activate_in_worker(self) -> None:
        """Find modules and files there, in a worker."""
        self._install_pyflink()
        activation.activate(SparkFiles.get(self.name) if self.name else "", self.path)

    def activate_on_driver(self) -> None:
        """Find modules there, in a process of the driver's machine."""
        self._install_pyflink()
        activation.activate(self.driver_folder, self.path, changes_folder=False)

    def _install_pyflink(self) -> None:
        if self.pyflink:
            pyflink_imports.install()


NO_DEPENDENCIES = ShippedDependencies()
"""A job whose functions need nothing."""
