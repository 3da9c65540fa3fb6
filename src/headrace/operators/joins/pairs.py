"""What the joins have in common: a pair's context, and records without a timestamp."""

from __future__ import annotations

from typing import Any

from headrace.errors import MissingWatermarksError


class PairContext:
    """What a ``ProcessJoinFunction`` sees: the timestamps (ms) of a pair and of its results."""

    __slots__ = ("left_ms", "result_ms", "right_ms")

    def __init__(self) -> None:
        self.left_ms = self.result_ms = 0
        self.right_ms: int | None = None

    def get_left_timestamp(self) -> int:
        """The timestamp (ms) of the left record."""
        return self.left_ms

    def get_right_timestamp(self) -> int | None:
        """The timestamp (ms) of the right record; None where there is none."""
        return self.right_ms

    def get_timestamp(self) -> int:
        """The timestamp (ms) of the results."""
        return self.result_ms


def no_timestamp(name: str, side: str, value: Any) -> MissingWatermarksError:
    """The error for a record that cannot be joined by time."""
    return MissingWatermarksError(
        f"{name} joins by event time, but a record of its {side} stream has no timestamp",
        where={"record": repr(value)[:120]},
        hint="the source sets no timestamps: add to the watermark strategy"
        " .with_timestamp_assigner(lambda record: <ms>)",
    )


def next_look_ms(moment_ms: int, grid_ms: int) -> int:
    """The first multiple of ``grid_ms`` at or after a moment: so that many keys share a timer's."""
    return -(-moment_ms // grid_ms) * grid_ms
