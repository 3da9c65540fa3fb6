"""Ships a job's dependencies to Spark's workers, for new and for running sessions."""

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
"""Pairs of an application and a folder that was shipped to it."""


@dataclass(frozen=True)
class ShippedDependencies:
    """Where the driver and the workers find a job's dependencies.

    Fields:
        driver_folder: their folder on the driver's machine; empty for none.
        name: of the folder that Spark has extracted for its workers.
        path: more module folders, on the workers' machines.
        pyflink: whether to install the ``pyflink`` import hook.
    """

    driver_folder: str = ""
    name: str = ""
    path: tuple[str, ...] = ()
    pyflink: bool = False

    @classmethod
    def ship(
        cls, spark: SparkSession, folder: Path | None, path: Sequence[str]
    ) -> ShippedDependencies:
        """Let Spark ship a folder to the workers of a session, once for all jobs."""
        pyflink = pyflink_imports.is_installed()
        if folder is None:
            return cls(path=tuple(path), pyflink=pyflink)
        context = spark.sparkContext
        shipped = context.applicationId or "", folder.name
        if shipped not in _shipped:
            # From a compressed tar, Spark restores links and permissions (4.3.0). The file is kept
            # until this process ends: executors fetch it when they start.
            packed = folder.parent / f"{folder.name}.tgz"
            with tarfile.open(packed, "w:gz", compresslevel=0) as tar:
                for entry in sorted(folder.iterdir()):
                    tar.add(entry, entry.name)
            context.addArchive(f"{packed}#{folder.name}")
            _shipped.add(shipped)
        return cls(str(folder), folder.name, tuple(path), pyflink)

    def activate_in_worker(self) -> None:
        """Activate the dependencies in a worker."""
        self._install_pyflink()
        activation.activate(SparkFiles.get(self.name) if self.name else "", self.path)

    def activate_on_driver(self) -> None:
        """Activate the modules in a process on the driver's machine."""
        self._install_pyflink()
        activation.activate(self.driver_folder, self.path, changes_folder=False)

    def _install_pyflink(self) -> None:
        if self.pyflink:
            pyflink_imports.install()


NO_DEPENDENCIES = ShippedDependencies()
"""For jobs without dependencies."""
