"""Where a job's checkpoint lies, and what is in it.

<execution.checkpointing.dir>/<folder of the job's name>/
    job              whose it is: name, shape, shuffle partitions, scope of the sinks
    begun            there once a sink may have published something
    owners/<n>       which driver took the checkpoint as its n-th owner; the highest counts
    leases/<n>       that the n-th owner is alive, or has given the checkpoint back
    committing/<n>   a commit of the n-th owner goes on
    probes/<id>      for a moment: whether remote storage stores an object only once
    splits/<epoch>   what splits remember at the end of an epoch
    source-<n>/      what a source's enumerator keeps
    dataframe-<n>/   a batch DataFrame, as files
    pins/<name>/     a frozen copy of the checkpoint after a micro-batch (``pins.py``)
    retained/<time>/ one that is kept: a restore point (``retained.py``)
    restoring        a restore point is being put in the place of the checkpoint
    requests/<id>    what another process asks of the driver, and its answer (``requests.py``)
    restarts/<time>  why the job was started again (``restart_log.py``)
    restored/        state from a savepoint, until the first micro-batch has taken it over
    spark/           Spark's own checkpoint; spark-<n>/ its n-th generation (``generations.py``)

All but the last eight, except requests and restarts, are objects in an ``ObjectStore``.
"""

from __future__ import annotations

import os
import posixpath
import re
import string
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256

from headrace.common._storage.file_store import FileStore
from headrace.common._storage.file_system import FileSystem
from headrace.common._storage.folder_store import FolderStore
from headrace.common._storage.locations import (
    file_system_of,
    is_url,
    location_of,
    remove_folder_of_spark,
)
from headrace.common._storage.object_store import ObjectStore
from headrace.common._storage.remote import RemoteFiles
from headrace.errors import ConfigurationError
from headrace.runners.temporary_files import new_subfolder

JOB = "job"
BEGUN = "begun"
OWNERS = "owners"
LEASES = "leases"
COMMITTING = "committing"
SPLITS = "splits"
PROBES = "probes"
PINS = "pins"
REQUESTS = "requests"
RESTARTS = "restarts"
DATAFRAME = "dataframe-"
"""How the names of folders with a batch DataFrame begin."""
RETAINED = "retained"
RESTORING = "restoring"
_SPARK = "spark"
_RESTORED = "restored"
RESTORED = -1
"""Stands for a generation's number: state from a savepoint."""

_GENERATION = re.compile(f"{_SPARK}(?:-([1-9][0-9]*))?")
_KEPT_WHEN_CLEARED = (OWNERS, LEASES, COMMITTING)

URL_ESCAPED = frozenset(' "<>\\^`{|}%')
"""Characters that Spark's state data source escapes in a path, and then does not find (4.3.0)."""

_LITERAL = frozenset(string.ascii_letters + string.digits + "-_.")
_MAX_NAME_CHARS = 120


@dataclass(frozen=True)
class CheckpointFolder:
    """The folder of a job's checkpoint.

    A temporary one is removed after the run, and never synced.
    """

    directory: str
    temporary: bool = False

    @classmethod
    def of_job(cls, base: str | None, name: str) -> CheckpointFolder:
        """Return the folder of a job below ``base``; a temporary one if ``base`` is None."""
        if base is None:
            return cls(str(new_subfolder("checkpoint-")), True)
        place = posixpath.join(location_of(base), folder_name(name))
        return cls(place if is_url(place) else os.path.realpath(place))

    @property
    def store(self) -> ObjectStore:
        """The object store, whose writes are durable: they survive a power cut."""
        return self._store(durable=not self.temporary)

    @property
    def signals(self) -> ObjectStore:
        """The same objects without durable writes, for signals between running processes."""
        return self._store(durable=False)

    def _store(self, durable: bool) -> ObjectStore:
        files = self.files
        if isinstance(files, RemoteFiles):
            return FileStore(self.directory, files)
        return FolderStore(self.directory, durable)

    @property
    def files(self) -> FileSystem:
        """The file system of the folder."""
        return file_system_of(self.directory)

    def spark(self, generation: int) -> str:
        """Return the path of a generation of Spark's checkpoint, or of restored state."""
        if generation == RESTORED:
            return posixpath.join(self.directory, _RESTORED)
        return posixpath.join(self.directory, f"{_SPARK}-{generation}" if generation else _SPARK)

    def check_name(self) -> None:
        """Check that Spark can read state in the folder: it can link to a local one only.

        Raises:
            ConfigurationError: it cannot.
        """
        found = URL_ESCAPED.intersection(self.directory)
        if found and is_url(self.directory):
            characters = " ".join(map(repr, sorted(found)))
            raise ConfigurationError(
                f"a checkpoint on remote storage cannot have {characters} in its path",
                where={"checkpoint": self.directory},
                hint="Spark does not find its state there again; set"
                " execution.checkpointing.dir to another folder",
            )

    def generations(self) -> list[int]:
        """Return the generations, and ``RESTORED``, that have a folder."""
        names = self.files.names(self.directory)
        numbers = [int(each[1] or 0) for each in map(_GENERATION.fullmatch, names) if each]
        return sorted([*numbers, *([RESTORED] if _RESTORED in names else [])])

    def of_source(self, source: int | str) -> str:
        """Return the path of the folder for a source's enumerator."""
        return posixpath.join(self.directory, f"source-{folder_name(str(source))}")

    def clear(self, keep: Collection[str] = ()) -> None:
        """Remove everything except the owners, and the names in ``keep``.

        The job object is removed first: after a crash in between, the rest is no checkpoint.
        """
        self.store.delete(JOB)
        self.store.tidy()  # durable: the job must not reappear after a power cut
        for name in self.files.names(self.directory):
            if name not in _KEPT_WHEN_CLEARED and name not in keep:
                self.remove_part(posixpath.join(self.directory, name))

    def remove_part(self, path: str) -> None:
        """Remove a file, or a folder with all in it; a link is removed, not what it leads to."""
        if self.files.is_folder(path) and not os.path.islink(path):
            remove_folder_of_spark(path)
        else:
            self.files.remove(path)

    def remove(self) -> None:
        """Remove a temporary folder; another one stays."""
        if self.temporary:
            with suppress(OSError):
                self.files.remove_folder(self.directory)


def is_restored(folder: str) -> bool:
    """Return whether a folder has restored state, not a generation."""
    return posixpath.basename(folder) == _RESTORED


def folder_name(name: str) -> str:
    """Return the folder name for a job's name; different names have different folders.

    ASCII letters, digits, ``-``, ``_`` and ``.`` are kept. Each other byte in UTF-8 becomes ``+``
    and two hex digits. A name with capitals, or a long one, ends with ``~`` and a hash, since file
    systems may ignore case and limit lengths.
    """
    quoted = "".join(
        chr(byte) if chr(byte) in _LITERAL else f"+{byte:02x}"
        for byte in name.encode("utf-8", "surrogatepass")
    )
    if quoted[:1] in ("", "."):
        quoted = "+2e" + quoted[1:] if quoted else "+"
    if quoted == quoted.lower() and len(quoted) <= _MAX_NAME_CHARS:
        return quoted
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{quoted[:_MAX_NAME_CHARS]}~{digest}"
