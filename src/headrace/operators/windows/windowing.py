"""The description of a windowed operation: assigner, trigger, evictor and contents."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.common._output_tag import OutputTag
from headrace.common._windows import Window
from headrace.errors import MissingWatermarksError, TypeMismatchError
from headrace.operators.windows.contents import Contents
from headrace.runtime.user_function import UserFunction


@dataclass(frozen=True)
class Windowing:
    """A windowed operation.

    Fields:
        assigner: its target is a ``WindowAssigner``, perhaps a merging one.
        trigger: its target is a ``Trigger``.
        contents: what is stored of a window's records, and the window function.
        evictor: its target is an ``Evictor``; then all records are stored.
        allowed_lateness_ms: how long after its end an event-time window accepts records.
        late_tag: the side output of records that come even later; None: they are counted.
        combined: records were combined before they were sent (``windows.combining``).
    """

    assigner: UserFunction
    trigger: UserFunction
    contents: Contents
    evictor: UserFunction | None = None
    allowed_lateness_ms: int = 0
    late_tag: OutputTag | None = None
    combined: bool = False

    @property
    def event_time(self) -> bool:
        """Whether windows end by the watermark."""
        return bool(self.assigner.target.is_event_time())

    @property
    def merging(self) -> bool:
        """Whether windows may be merged."""
        return hasattr(self.assigner.target, "merge_windows")

    @property
    def endless(self) -> bool:
        """Whether windows never end by time."""
        return bool(getattr(self.assigner.target, "endless", False))


def missing_timestamp_error() -> MissingWatermarksError:
    """Return the error for a record without a timestamp."""
    return MissingWatermarksError(
        "a record without a timestamp came to windows of event time",
        hint="the source sets no timestamps: add to the watermark strategy"
        " .with_timestamp_assigner(lambda record: <ms>)",
    )


def window_out_of_range_error(window: Window) -> TypeMismatchError:
    """Return the error for a window whose end no watermark can reach."""
    return TypeMismatchError(
        f"a record falls into {window!r}, which ends after the last moment, 2**63 - 1",
        hint="timestamps are milliseconds since the epoch: filter records out that are so far off",
    )
