"""How far a query has come, read from Spark's own checkpoint; the one file that looks into it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from headrace.common.objects.sealed import missing
from headrace.errors import CheckpointError
from headrace.runners.spark.checkpoint.generations import Log


def all_sources_ended(spark_folder: str, batch: int) -> bool:
    """True when a micro-batch, planned already, reads the last of every source."""
    offset = _planned(Path(spark_folder) / "offsets" / str(batch))
    return offset is not None and all(source["ended"] for source in offset["sources"].values())


def is_committed(spark_folder: str, batch: int) -> bool:
    """True when Spark calls a micro-batch done."""
    return (Path(spark_folder) / "commits" / str(batch)).exists()


def is_finished(spark_folder: str) -> bool:
    """True when nothing is left to do for a job whose sources all end."""
    last = max(_batches(spark_folder, "offsets"), default=-1)
    return last >= 0 and is_committed(spark_folder, last) and all_sources_ended(spark_folder, last)


def has_planned(spark_folder: str) -> bool:
    """True when some micro-batch was planned: Spark would go on with it."""
    return bool(_batches(spark_folder, "offsets"))


def has_committed(spark_folder: str) -> bool:
    """True when Spark has called some micro-batch done."""
    return bool(_batches(spark_folder, "commits"))


def remove_unplanned(spark_folder: str) -> None:
    """Remove what a driver left that was killed before it had planned a micro-batch.

    Spark refuses to begin in such a folder, and nothing in it counts yet.
    """
    if (Path(spark_folder) / "offsets").exists() and not has_planned(spark_folder):
        shutil.rmtree(spark_folder)


def log_of(spark_folder: str) -> Log:
    """The last micro-batches in the folder.

    Raises:
        CheckpointError: the offset of one of them is missing or damaged.
    """
    committed = max(_batches(spark_folder, "commits"), default=-1)
    planned = max(_batches(spark_folder, "offsets"), default=-1)
    return Log(
        committed,
        _offset(spark_folder, committed) if committed >= 0 else None,
        _offset(spark_folder, planned) if planned > committed else None,
    )


def _offset(spark_folder: str, batch: int) -> dict[str, Any]:
    path = Path(spark_folder) / "offsets" / str(batch)
    offset = _planned(path)
    if offset is None:
        raise missing("the end of a micro-batch in Spark's log of offsets", str(path))
    return offset


def _batches(spark_folder: str, log: str) -> list[int]:
    folder = Path(spark_folder) / log
    if not folder.exists():
        return []
    return [int(path.name) for path in folder.iterdir() if path.name.isdigit()]


def _planned(path: Path) -> dict[str, Any] | None:
    """The offset of Headrace's source in one file of the log: one JSON text per source."""
    if not path.exists():
        return None
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("{"):
                found: dict[str, Any] = json.loads(line)
                if "epoch" in found and "sources" in found:
                    return found
    except ValueError as error:
        raise CheckpointError(
            "Spark's log of offsets is damaged",
            where={"file": str(path), "problem": str(error)},
            hint="bring this file back from a copy of the checkpoint, or start anew"
            " (`headrace run --fresh`)",
        ) from error
    return None
