"""The folders of savepoints: new ones, those that are there, and their removal."""

from __future__ import annotations

import os
import posixpath
import sys
import time

from headrace.common._options.catalogue import SAVEPOINT_DIR
from headrace.common._storage.locations import absolute, file_system_of, location_of
from headrace.errors import CheckpointError, ConfigurationError
from headrace.runtime.savepoint.folder import MANIFEST, check_is_folder, read_manifest
from headrace.runtime.savepoint.manifest import Manifest


def new_savepoint_folder(base: str | None, job_folder: str) -> str:
    """Return the folder of a new savepoint below ``base``; savepoints of a job sort by time.

    Raises:
        ConfigurationError: there is no ``base``, or it is a file.
    """
    if base is None:
        raise ConfigurationError(
            "no folder is given for the savepoint",
            hint=f"headrace savepoint JOB --to FOLDER, or set {SAVEPOINT_DIR.key}",
        )
    place = location_of(base)
    files = file_system_of(place)
    if files.exists(place) and not files.is_folder(place):
        raise ConfigurationError(
            "savepoints go into a folder, and this is a file", where={"file": place}
        )
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    name = f"{job_folder}-{moment}-{os.urandom(3).hex()}"
    # A program may change its working directory before the savepoint is written.
    return absolute(posixpath.join(place, name))


def stored_savepoints(base: str) -> list[tuple[str, Manifest]]:
    """Return the savepoints in a folder, with their manifests, the oldest first.

    Raises:
        CheckpointError: a manifest is damaged, or the folder is a file.
    """
    place = location_of(base)
    check_is_folder(place)
    files = file_system_of(place)
    folders = [place, *(posixpath.join(place, name) for name in files.names(place))]
    found = [(folder, read_manifest(folder)) for folder in folders if is_savepoint(folder)]
    return sorted(found, key=lambda each: (each[1].created_ms, each[0]))


def older_savepoints(base: str, prefix: str, scope: str, keep: int) -> list[str]:
    """Return the complete savepoints of a job, without the newest ``keep``.

    ``prefix``: how their names begin. ``scope``: that of the job's sinks, which tells it from
    another job of the same name.
    """
    place = location_of(base)
    folders = [
        posixpath.join(place, name)
        for name in file_system_of(place).names(place)
        if name.startswith(f"{prefix}-")
    ]
    manifests: dict[str, Manifest] = {}
    for folder in filter(is_savepoint, folders):
        try:
            manifests[folder] = read_manifest(folder)
        except CheckpointError as error:  # it stays: whose it is cannot be known
            print(f"headrace: {error}", file=sys.stderr)
    own = [folder for folder, manifest in manifests.items() if manifest.scope == scope]
    own.sort(key=lambda folder: (manifests[folder].created_ms, folder))
    return own[: max(len(own) - keep, 0)]


def is_savepoint(folder: str) -> bool:
    """Return whether there is a savepoint in a folder."""
    path = posixpath.join(location_of(folder), MANIFEST)
    return file_system_of(path).exists(path)


def dispose_savepoint(folder: str) -> None:
    """Remove a savepoint: the files that its manifest names, then the manifest.

    Raises:
        CheckpointError: there is none, or its manifest is damaged.
    """
    folder = location_of(folder)
    files, manifest = file_system_of(folder), read_manifest(folder)
    for path in manifest.files:
        files.remove(posixpath.join(folder, path))
    files.remove(posixpath.join(folder, MANIFEST))
    if not any(file.size_bytes for file in files.all_files(folder)):
        files.remove_folder(folder)
