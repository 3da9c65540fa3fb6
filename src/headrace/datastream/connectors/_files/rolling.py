"""Settings of a file sink: the folder of a record, and the size, age and names of files."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headrace.common._unsupported import unsupported_method
from headrace.common.time import TimeAmount, milliseconds_of
from headrace.errors import PlanError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class BucketAssigner(ABC):
    """Chooses the folder of each record, relative to the sink's base path.

    Custom assigners inherit from it. They run in the tasks, so they must not read a clock.
    """

    @abstractmethod
    def get_bucket_id(self, value: Any, timestamp: int | None) -> str | None:
        """Return the folder, relative to the base path, possibly nested; empty for the base path.

        If it returns None, ``bucket_at`` chooses the folder when the micro-batch is committed.
        """

    def bucket_at(self, now_ms: int) -> str:
        """Return, at commit time, the folder of records whose ``get_bucket_id`` is None."""
        raise PlanError(f"{type(self).__name__} gave no folder for a record")

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """Return an assigner without folders: all files are in the base path."""
        return BasePathBucketAssigner()

    @staticmethod
    def date_time_bucket_assigner(
        format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None
    ) -> BucketAssigner:
        """Return an assigner with a folder per hour, or as the format says (default time zone UTC).

        The time is the record's timestamp. Records without timestamps go to the folder of the time
        at which their micro-batch is committed.
        """
        return DateTimeBucketAssigner(format_str, timezone_id)


@dataclass(frozen=True)
class BasePathBucketAssigner(BucketAssigner):
    """No folders."""

    def get_bucket_id(self, value: Any, timestamp: int | None) -> str | None:
        """Return the base path."""
        return ""


@dataclass(frozen=True)
class DateTimeBucketAssigner(BucketAssigner):
    """A folder by time; the format has Java's letters: yyyy, yy, MM, dd, HH, mm, ss, SSS."""

    format_str: str = "yyyy-MM-dd--HH"
    timezone_id: str | None = None

    def __post_init__(self) -> None:
        _to_text(self.format_str, _EPOCH)
        self._parse_time_zone()

    def get_bucket_id(self, value: Any, timestamp: int | None) -> str | None:
        """Return the folder of the record's time."""
        return None if timestamp is None else self.bucket_at(timestamp)

    def bucket_at(self, now_ms: int) -> str:
        """Return the folder of a time."""
        moment = (_EPOCH + timedelta(milliseconds=now_ms)).astimezone(self._parse_time_zone())
        return _to_text(self.format_str, moment)

    def _parse_time_zone(self) -> Any:
        if self.timezone_id is None:
            return UTC
        try:
            return ZoneInfo(self.timezone_id)
        except (ZoneInfoNotFoundError, ValueError) as error:
            raise PlanError(f"there is no time zone {self.timezone_id!r}") from error


_TOKENS = re.compile(r"'(?:[^']|'')*'|([A-Za-z])\1*|[^A-Za-z']+")
_FORMATS = {
    "yyyy": "%Y",
    "uuuu": "%Y",
    "yy": "%y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
}


def _to_text(pattern: str, moment: datetime) -> str:
    parts = []
    end = 0
    for token in _TOKENS.finditer(pattern):
        text, start = token.group(), token.start()
        if start != end:
            break
        end = token.end()
        if text.startswith("'"):
            parts.append(text[1:-1].replace("''", "'") or "'")
        elif token.group(1) is None:
            parts.append(text)
        elif text == "SSS":
            parts.append(f"{moment.microsecond // 1000:03d}")
        elif text in _FORMATS:
            parts.append(moment.strftime(_FORMATS[text]))
        else:
            raise PlanError(
                f"the letters {text!r} of the time format {pattern!r} are not supported",
                hint=f"use {', '.join(_FORMATS)}, SSS, and other text in single quotes",
            )
    if end != len(pattern):
        raise PlanError(f"the time format {pattern!r} has an unclosed single quote")
    return "".join(parts)


class RollingPolicy:
    """Decides when a part file is complete."""

    @staticmethod
    def default_rolling_policy(
        part_size: int = 128 * 1024 * 1024,
        rollover_interval: TimeAmount = 60_000,
        inactivity_interval: TimeAmount = 60_000,
    ) -> RollingPolicy:
        """Complete a file at ``part_size`` bytes, at an age, or after a time without records.

        Until a file is complete its records are safe, but not visible. Intervals are in ms, or any
        amount of time. Defaults: 128 MiB, 60 s, 60 s.
        """
        return DefaultRollingPolicy(
            part_size,
            milliseconds_of(rollover_interval, "rollover_interval", at_least=1),
            milliseconds_of(inactivity_interval, "inactivity_interval", at_least=1),
        )

    @staticmethod
    def on_checkpoint_rolling_policy() -> RollingPolicy:
        """Complete all files at each micro-batch: one file per task and folder with records."""
        return OnCheckpointRollingPolicy()


@dataclass(frozen=True)
class DefaultRollingPolicy(RollingPolicy):
    """Completes a file by its size, its age, or a time without records.

    With ``batches``, also by the number of micro-batches.
    """

    part_size_bytes: int
    rollover_interval_ms: int | None = None
    inactivity_interval_ms: int | None = None
    batches: int | None = None

    def __post_init__(self) -> None:
        if self.part_size_bytes < 1:
            raise PlanError(f"the part size is {self.part_size_bytes}: it must be above 0")


@dataclass(frozen=True)
class OnCheckpointRollingPolicy(RollingPolicy):
    """Completes all files at each micro-batch."""


@dataclass(frozen=True)
class OutputFileConfig:
    """The prefix and the suffix of file names; by default ``part`` and nothing."""

    part_prefix: str = "part"
    part_suffix: str = ""

    def __post_init__(self) -> None:
        for text in (self.part_prefix, self.part_suffix):
            if "/" in text:
                raise PlanError(f"the part of a file name {text!r} holds a '/'")

    @staticmethod
    def builder() -> OutputFileConfig.OutputFileConfigBuilder:
        """Return a new builder."""
        return OutputFileConfig.OutputFileConfigBuilder()

    def get_part_prefix(self) -> str:
        """Return the prefix of file names (default ``part``)."""
        return self.part_prefix

    def get_part_suffix(self) -> str:
        """Return the suffix of file names (default empty)."""
        return self.part_suffix

    class OutputFileConfigBuilder:
        """Builds an ``OutputFileConfig``."""

        def __init__(self) -> None:
            self._prefix, self._suffix = "part", ""

        def with_part_prefix(self, prefix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Set the prefix of file names."""
            self._prefix = prefix
            return self

        def with_part_suffix(self, suffix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Set the suffix of file names, for example ``.jsonl``."""
            self._suffix = suffix
            return self

        def build(self) -> OutputFileConfig:
            """Return the configuration."""
            return OutputFileConfig(self._prefix, self._suffix)


@dataclass(frozen=True)
class FileCompactStrategy:
    """Decides when the small files of several micro-batches are merged into one."""

    batches: int | None = None
    size_threshold_bytes: int | None = None

    get_java_object = unsupported_method("Headrace has no Flink JVM")

    @staticmethod
    def builder() -> FileCompactStrategy.Builder:
        """Return a new builder."""
        return FileCompactStrategy.Builder()

    class Builder:
        """Builds a ``FileCompactStrategy``; the first condition that is met completes a file."""

        def __init__(self) -> None:
            self._batches: int | None = None
            self._size: int | None = None

        def enable_compaction_on_checkpoint(
            self, num_checkpoints_before_compaction: int
        ) -> FileCompactStrategy.Builder:
            """Complete a file after this number of micro-batches."""
            if num_checkpoints_before_compaction < 1:
                raise PlanError("compaction needs at least one checkpoint")
            self._batches = num_checkpoints_before_compaction
            return self

        def set_size_threshold(self, size_threshold: int) -> FileCompactStrategy.Builder:
            """Complete a file when it has reached this size in bytes."""
            self._size = size_threshold
            return self

        def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategy.Builder:
            """Check that the number is 1 or more; it has no effect: one thread merges files."""
            if num_compact_threads < 1:
                raise PlanError("compaction needs at least one thread")
            return self

        def build(self) -> FileCompactStrategy:
            """Return the strategy.

            Raises:
                PlanError: neither a size nor a number of micro-batches is set.
            """
            if self._batches is None and self._size is None:
                raise PlanError("a compaction strategy needs a size or a number of checkpoints")
            return FileCompactStrategy(self._batches, self._size)


@dataclass(frozen=True)
class FileCompactor:
    """Decides how files are merged: they are concatenated, or each one is left as it is."""

    concatenates: bool = True
    delimiter: bytes = b""

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """Return a compactor that concatenates files, with the delimiter between them."""
        return FileCompactor(True, file_delimiter or b"")

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Return a compactor that leaves each file as it is."""
        return FileCompactor(False)
