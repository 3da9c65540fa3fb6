"""What a windowed stream says: how records are assigned, when windows fire, what comes of them."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.common._output_tag import OutputTag
from headrace.common._windows import Window
from headrace.errors import MissingWatermarksError, TypeMismatchError
from headrace.operators.windows.contents import Contents
from headrace.runtime.user_function import UserFunction


@dataclass(frozen=True)
class Windowing:
    """One windowed operation. All that is not ``contents`` says which records go together, when.

    Fields:
        assigner: its target is a ``WindowAssigner``, perhaps a merging one.
        trigger: its target is a ``Trigger``.
        contents: what is kept of a window's records, and what comes of it.
        evictor: its target is an ``Evictor``; then all records are kept.
        allowed_lateness_ms: how long after its end a window of event time takes records.
        late_tag: the side output of records that come later than that; None: they are counted.
        combined: records were combined before they were sent (``windows.combine``).
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
        """True when windows end by the watermark, and records can be late."""
        return bool(self.assigner.target.is_event_time())

    @property
    def merging(self) -> bool:
        """True when windows may grow together."""
        return hasattr(self.assigner.target, "merge_windows")

    @property
    def endless(self) -> bool:
        """True when no window ends by a clock."""
        return bool(getattr(self.assigner.target, "endless", False))


def missing_timestamp_error() -> MissingWatermarksError:
    """What to raise for a record without a timestamp."""
    return MissingWatermarksError(
        "a record without a timestamp came to windows of event time",
        hint="the source sets no timestamps: add to the watermark strategy"
        " .with_timestamp_assigner(lambda record: <ms>)",
    )


def window_out_of_range_error(window: Window) -> TypeMismatchError:
    """What to raise for a window that no watermark could end."""
    return TypeMismatchError(
        f"a record falls into {window!r}, which ends after the last moment, 2**63 - 1",
        hint="timestamps are milliseconds since the epoch: filter records out that are so far off",
    )
