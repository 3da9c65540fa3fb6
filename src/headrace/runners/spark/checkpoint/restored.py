"""Restored state: records for Spark's state stores, in one Parquet file that is not Spark's own.

It is there from the moment a checkpoint is made of a neutral form until its first micro-batch has
taken the state over.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from headrace.common.objects.sealed import ObjectFormat, get_json, missing, put_json
from headrace.runners.spark.checkpoint.layout import RESTORED, Place
from headrace.runners.spark.checkpoint.spark_files import damaged

FILE = "part-0.parquet"

_FORMAT = ObjectFormat("restored state")
_ABOUT = "restored/_about"  # Spark does not read a file whose name begins with "_"


def complete(place: Place) -> None:
    """Say that the file is whole, and what it must be; it is on disk after that."""
    path = _path(place)
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
    put_json(place.store, _ABOUT, _FORMAT, {"sha256": _digest(path)})


def check(place: Place) -> None:
    """Whether the file is what was written.

    Raises:
        CheckpointError: it is missing or damaged.
    """
    path, about = _path(place), get_json(place.store, _ABOUT, _FORMAT)
    if about is None:
        raise missing("what says that the restored state is whole", place.store.location(_ABOUT))
    if not path.exists():
        raise missing("the restored state", str(path))
    if _digest(path) != about["sha256"]:
        raise damaged("the restored state is damaged", path)


def _path(place: Place) -> Path:
    return Path(place.spark(RESTORED)) / FILE


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
