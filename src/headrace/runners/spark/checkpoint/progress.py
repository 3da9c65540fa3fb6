"""How far a query has come, read from Spark's own log beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

OWNER_FILE = "owner"
"""In a checkpoint: the run whose commits count."""


def all_sources_ended(spark_folder: Path, batch: int) -> bool:
    """True when a micro-batch, planned already, reads the last of every source."""
    offset = _planned(spark_folder / "offsets" / str(batch))
    return offset is not None and all(source["ended"] for source in offset["sources"].values())


def is_committed(spark_folder: Path, batch: int) -> bool:
    """True when Spark calls a micro-batch done."""
    return (spark_folder / "commits" / str(batch)).exists()


def is_finished(spark_folder: Path) -> bool:
    """True when nothing is left to do for a job whose sources all end."""
    offsets = spark_folder / "offsets"
    if not offsets.exists():
        return False
    batches = [int(path.name) for path in offsets.iterdir() if path.name.isdigit()]
    last = max(batches, default=-1)
    return last >= 0 and is_committed(spark_folder, last) and all_sources_ended(spark_folder, last)


def _planned(path: Path) -> dict[str, Any] | None:
    """The offset of Headrace's source in one file of the log: one JSON text per source."""
    if not path.exists():
        return None
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("{"):
            found: dict[str, Any] = json.loads(line)
            if "epoch" in found and "sources" in found:
                return found
    return None
