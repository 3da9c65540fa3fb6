"""The progress of a query, from the logs in Spark's checkpoint.

``offsets/<n>`` is written when a micro-batch is planned, ``commits/<n>`` when it is completed.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Collection, Mapping
from typing import Any

from headrace.common._storage.locations import file_system_of, remove_folder_of_spark
from headrace.errors import CheckpointError
from headrace.runners.spark.checkpoint.generations import QueryLog
from headrace.runners.spark.checkpoint.spark_files import (
    check_sources,
    damaged_error,
    file_of_checksum,
    missing_error,
    verify_checksum,
)
from headrace.runtime.coordination.offset import Offset, source_key


def all_sources_ended(
    spark_folder: str, batch: int, sources: Collection[str] | None = None
) -> bool:
    """Return whether a planned micro-batch reads the end of each source.

    ``sources``: the ids of the sources that count; one that the micro-batch does not read has not
    ended.
    """
    offset = _read_source_offset(_log_file(spark_folder, "offsets", batch))
    return offset is not None and have_ended(offset, sources)


def have_ended(offset: Mapping[str, Any], sources: Collection[str] | None = None) -> bool:
    """Return whether an offset is at the end of each source; ``sources`` as above."""
    read = offset["sources"]
    keys = read if sources is None else map(source_key, sources)
    return all(key in read and read[key]["ended"] for key in keys)


def have_been_read(offset: Mapping[str, Any], sources: Collection[str]) -> bool:
    """Return whether nothing is left to do: all sources have ended, and none has only stopped."""
    read = offset["sources"]
    stopped = any(read[key].get("suspended") for key in map(source_key, sources) if key in read)
    return have_ended(offset, sources) and not stopped


def is_suspended(spark_folder: str) -> bool:
    """Return whether a source stopped in the last micro-batch and may be continued."""
    last = max(_list_batches(spark_folder, "offsets"), default=-1)
    if last < 0:
        return False
    return any(
        read.get("suspended")
        for read in _read_required_offset(spark_folder, last)["sources"].values()
    )


def sources_of(spark_folder: str) -> frozenset[str]:
    """Return the ids of the sources in the last planned micro-batch."""
    last = max(_list_batches(spark_folder, "offsets"), default=-1)
    return (
        frozenset(_read_required_offset(spark_folder, last)["sources"])
        if last >= 0
        else frozenset()
    )


def is_committed(spark_folder: str, batch: int) -> bool:
    """Return whether Spark has completed a micro-batch."""
    file = _log_file(spark_folder, "commits", batch)
    return file_system_of(spark_folder).size(file) is not None


def is_finished(spark_folder: str, sources: Collection[str]) -> bool:
    """Return whether a job with the given sources has read all input."""
    last = max(_list_batches(spark_folder, "offsets"), default=-1)
    if last < 0 or not is_committed(spark_folder, last):
        return False
    return have_been_read(_read_required_offset(spark_folder, last), sources)


def has_planned(spark_folder: str) -> bool:
    """Return whether a micro-batch was planned, with which Spark would continue."""
    return bool(_list_batches(spark_folder, "offsets"))


def has_committed(spark_folder: str) -> bool:
    """Return whether Spark has completed a micro-batch."""
    return bool(_list_batches(spark_folder, "commits"))


def remove_unplanned(spark_folder: str) -> None:
    """Remove what a killed driver left before its first micro-batch was planned.

    Spark refuses to start in such a folder.
    """
    files = file_system_of(spark_folder)
    if files.exists(posixpath.join(spark_folder, "offsets")) and not has_planned(spark_folder):
        remove_folder_of_spark(spark_folder)


def log_of(spark_folder: str) -> QueryLog:
    """Return the last planned and committed micro-batches of the query.

    Raises:
        CheckpointError: the offset of a micro-batch is missing or damaged.
    """
    committed = max(_list_batches(spark_folder, "commits"), default=-1)
    planned = max(_list_batches(spark_folder, "offsets"), default=-1)
    return QueryLog(
        committed,
        _read_required_offset(spark_folder, committed) if committed >= 0 else None,
        _read_required_offset(spark_folder, planned) if planned > committed else None,
    )


def check_logs(spark_folder: str, epoch: int) -> int:
    """Check that Spark's logs are complete, and return the last committed micro-batch.

    Spark does not notice that the end of a log is missing, and would report another file as missing
    later. ``epoch``: the last micro-batch that sinks have published, which must be in the log.

    Raises:
        CheckpointError: a file of a log is missing or damaged.
    """
    planned = max(_list_batches(spark_folder, "offsets"), default=-1)
    committed = max(_list_batches(spark_folder, "commits"), default=-1)
    if planned < committed:
        file = _log_file(spark_folder, "offsets", committed)
        raise missing_error("the offset of a micro-batch in Spark's log", file)
    if committed < planned - 1:
        file = _log_file(spark_folder, "commits", planned - 1)
        raise missing_error("the commit of a micro-batch in Spark's log", file)
    last = -1
    for batch in range(max(planned - 1, 0), planned + 1):
        last = _read_required_offset(spark_folder, batch)["epoch"]
    if planned >= 0:
        file = _log_file(spark_folder, "offsets", planned)
        check_sources(spark_folder, _read_lines(file)[2:])
    missing = [batch for batch in _missing_files(spark_folder, "offsets") if batch > planned]
    if missing or last < epoch:
        file = _log_file(spark_folder, "offsets", max(missing, default=planned + 1))
        raise missing_error("the offset of a micro-batch in Spark's log", file)
    return committed


def _missing_files(spark_folder: str, log: str) -> list[int]:
    """Return the numbers of files that are missing although their checksums exist."""
    names = {*file_system_of(spark_folder).names(posixpath.join(spark_folder, log))}
    described = {found for name in names if (found := file_of_checksum(name)) is not None}
    return [int(name) for name in described - names if name.isdigit()]


def _read_required_offset(spark_folder: str, batch: int) -> dict[str, Any]:
    """Return the offset of a micro-batch, from Spark's offset log.

    Raises:
        CheckpointError: the file is missing or damaged.
    """
    file = _log_file(spark_folder, "offsets", batch)
    offset = _read_source_offset(file)
    if offset is None:
        raise missing_error("the offset of a micro-batch in Spark's log", file)
    try:
        Offset.from_json(offset)
    except CheckpointError as error:
        error.where = {"file": file, **error.where}
        raise
    return offset


def _log_file(spark_folder: str, log: str, batch: int) -> str:
    """Return the path of a micro-batch's file in a log of Spark."""
    return posixpath.join(spark_folder, log, str(batch))


def _list_batches(spark_folder: str, log: str) -> list[int]:
    names = file_system_of(spark_folder).names(posixpath.join(spark_folder, log))
    return [int(name) for name in names if name.isdigit()]


def _read_lines(path: str) -> list[str]:
    data = file_system_of(path).read(path)
    if data is None:
        raise missing_error("the offset of a micro-batch in Spark's log", path)
    return data.decode().splitlines()


def _read_source_offset(path: str) -> dict[str, Any] | None:
    """Return the offset of Headrace's source from a file of Spark's offset log; None without file.

    Format of the file: a version, a line with Spark's metadata as JSON, and a line per source,
    mostly JSON.

    Raises:
        CheckpointError: the file is damaged, or has no offset of Headrace.
    """
    data = file_system_of(path).read(path)
    if data is None:
        return None
    try:
        verify_checksum(path, data)
        for line in data.decode().splitlines():
            if line.startswith("{"):
                offset: dict[str, Any] = json.loads(line)
                if "epoch" in offset and "sources" in offset:
                    return offset
    except (OSError, ValueError) as error:
        raise damaged_error("Spark's log of offsets is damaged", path, str(error)) from error
    raise damaged_error("Spark's log of offsets is damaged", path, "it has no offset of Headrace")
