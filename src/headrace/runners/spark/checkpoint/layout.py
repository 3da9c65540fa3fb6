"""Where a job's checkpoint lies, and what is in it.

<execution.checkpointing.dir>/<folder of the job's name>/
    job              whose it is: name, shape, shuffle partitions, scope of the sinks
    begun            there once a sink may have published something
    owners/<n>       which driver took the checkpoint as its n-th owner; the highest counts
    leases/<n>       that the n-th owner is alive, or has given the checkpoint back
    committing/<n>   a commit of the n-th owner goes on
    splits/<epoch>   what splits remember at the end of an epoch
    source-<n>/      what a source's enumerator keeps
    dataframe-<n>/   a batch DataFrame, as files
    restored/        state from a savepoint, until the first micro-batch has taken it over
    spark/           Spark's own checkpoint; spark-<n>/ its n-th generation (``generations.py``)

All but the last four are objects in an ``ObjectStore``.
"""

from __future__ import annotations

import os
import re
import shutil
import string
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256

from headrace.common._storage.folder_store import FolderStore
from headrace.common._storage.local_files import local_path
from headrace.common._storage.object_store import ObjectStore
from headrace.runners.temporary_files import new_subfolder

JOB = "job"
BEGUN = "begun"
OWNERS = "owners"
LEASES = "leases"
COMMITTING = "committing"
SPLITS = "splits"
_SPARK = "spark"
_RESTORED = "restored"
RESTORED = -1
"""Instead of a generation's number: state that comes from a savepoint."""

_GENERATION = re.compile(f"{_SPARK}(?:-([1-9][0-9]*))?")
_KEPT_WHEN_CLEARED = (OWNERS, LEASES, COMMITTING)

_LITERAL = frozenset(string.ascii_letters + string.digits + "-_.")
_MAX_NAME_CHARS = 120


@dataclass(frozen=True)
class CheckpointFolder:
    """A job's checkpoint; a temporary one goes with its run, so nothing of it is synced to disk."""

    directory: str
    temporary: bool = False

    @classmethod
    def of_job(cls, base: str | None, name: str) -> CheckpointFolder:
        """The place of a job of this name below a folder; a temporary one where none is given."""
        if base is None:
            return cls(str(new_subfolder("checkpoint-")), True)
        return cls(os.path.realpath(os.path.join(local_path(base), folder_name(name))))

    @property
    def store(self) -> ObjectStore:
        """What must be there after a power cut."""
        return FolderStore(self.directory, durable=not self.temporary)

    @property
    def signals(self) -> ObjectStore:
        """The same objects; what is stored through it matters only while processes run."""
        return FolderStore(self.directory, durable=False)

    def spark(self, generation: int) -> str:
        """The folder for a generation of Spark's own checkpoint, or for restored state."""
        if generation == RESTORED:
            return os.path.join(self.directory, _RESTORED)
        return os.path.join(self.directory, f"{_SPARK}-{generation}" if generation else _SPARK)

    def generations(self) -> list[int]:
        """The generations of Spark's own checkpoint, and ``RESTORED``, that have a folder."""
        with suppress(FileNotFoundError):
            names = os.listdir(self.directory)
            found = [int(each[1] or 0) for each in map(_GENERATION.fullmatch, names) if each]
            return sorted([*found, *([RESTORED] if _RESTORED in names else [])])
        return []

    def of_source(self, source: int | str) -> str:
        """The folder for a source's enumerator."""
        return os.path.join(self.directory, f"source-{folder_name(str(source))}")

    def clear(self) -> None:
        """Remove everything but who owns the place.

        Whose it is goes first: what a crash leaves of the rest is then no checkpoint.
        """
        self.store.delete(JOB)
        self.store.tidy()  # it must not be there again after a power cut
        with suppress(FileNotFoundError):
            for entry in os.scandir(self.directory):
                if entry.name in _KEPT_WHEN_CLEARED:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path)
                else:
                    os.unlink(entry.path)

    def remove(self) -> None:
        """Remove a temporary place; another one stays."""
        if self.temporary:
            shutil.rmtree(self.directory, ignore_errors=True)


def is_restored(folder: str) -> bool:
    """True for a folder with restored state, False for one of Spark's."""
    return os.path.basename(folder) == _RESTORED


def folder_name(name: str) -> str:
    """The folder of a job's name; two names never have the same one.

    Letters of ASCII, digits, ``-``, ``_`` and ``.`` stay, everything else is ``+`` and the hex
    digits of its bytes in UTF-8. A file system may take capitals for small letters, and does not
    take names of any length: a name with capitals, or a long one, ends in ``~`` and a hash.
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
