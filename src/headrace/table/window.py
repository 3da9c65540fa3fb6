"""Windows of ``Table.window()``: ``Tumble``, ``Slide`` and ``Session``; ``Over`` is refused."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from headrace.errors import SqlValidationError
from headrace.table._api.windows import CountWindow, GroupWindowSpec
from headrace.table._expressions.trees import tree_of
from headrace.table.expression import Expression

__all__ = ["GroupWindow", "Over", "OverWindow", "Session", "Slide", "Tumble"]


class GroupWindow:
    """A window that ``Table.window()`` takes."""

    def __init__(self, spec: GroupWindowSpec | CountWindow) -> None:
        self._spec = spec


class _Lengths:
    """A window's lengths, in the order of the function in GROUP BY."""

    def __init__(self, kind: str, *lengths: exp.Expr) -> None:
        self._kind = kind
        self._lengths = lengths


class _OnTime:
    """A window without its name."""

    def __init__(self, kind: str, time: Any, lengths: tuple[exp.Expr, ...]) -> None:
        self._kind = kind
        self._time = tree_of(time)
        self._lengths = lengths

    def alias(self, alias: str) -> GroupWindow:
        """Return the window with the name that ``group_by`` and ``select`` use."""
        counts = [rows for rows in map(_rows, self._lengths) if rows is not None]
        if len(counts) == len(self._lengths):
            return GroupWindow(CountWindow(self._time, counts[-1], counts[0], alias))
        if counts:
            raise SqlValidationError("a window's size and slide are both times, or both rows")
        return GroupWindow(GroupWindowSpec(self._kind, self._time, self._lengths, alias))


class TumbleWithSizeOnTime(_OnTime):
    """A tumbling window without its name."""


class TumbleWithSize(_Lengths):
    """A tumbling window without its time."""

    def on(self, time_field: Expression[Any]) -> TumbleWithSizeOnTime:
        """Return the window over a time attribute."""
        return TumbleWithSizeOnTime(self._kind, time_field, self._lengths)


class Tumble:
    """Windows of equal length, one after the other."""

    @classmethod
    def over(cls, size: Expression[Any]) -> TumbleWithSize:
        """Return windows of a length such as ``lit(10).minutes``."""
        return TumbleWithSize("TUMBLE", _length(size))


class SlideWithSizeAndSlideOnTime(_OnTime):
    """A sliding window without its name."""


class SlideWithSizeAndSlide(_Lengths):
    """A sliding window without its time."""

    def on(self, time_field: Expression[Any]) -> SlideWithSizeAndSlideOnTime:
        """Return the window over a time attribute."""
        return SlideWithSizeAndSlideOnTime(self._kind, time_field, self._lengths)


class SlideWithSize(_Lengths):
    """A sliding window without its slide."""

    def every(self, slide: Expression[Any]) -> SlideWithSizeAndSlide:
        """Return windows that begin so often."""
        return SlideWithSizeAndSlide(self._kind, _length(slide), *self._lengths)


class Slide:
    """Windows of equal length that overlap."""

    @classmethod
    def over(cls, size: Expression[Any]) -> SlideWithSize:
        """Return windows of a length."""
        return SlideWithSize("HOP", _length(size))


class SessionWithGapOnTime(_OnTime):
    """A session window without its name."""


class SessionWithGap(_Lengths):
    """A session window without its time."""

    def on(self, time_field: Expression[Any]) -> SessionWithGapOnTime:
        """Return the window over a time attribute."""
        return SessionWithGapOnTime(self._kind, time_field, self._lengths)


class Session:
    """Windows that end when no row comes for a time."""

    @classmethod
    def with_gap(cls, gap: Expression[Any]) -> SessionWithGap:
        """Return windows that end after a gap."""
        if _rows(tree_of(gap)) is not None:
            raise SqlValidationError("the gap of a session is a time, not a number of rows")
        return SessionWithGap("SESSION", _length(gap))


def _rows(tree: exp.Expr) -> int | None:
    """Return the number of ``row_interval()``; None: the tree is none."""
    if not isinstance(tree, exp.Anonymous) or tree.this != "$rows":
        return None
    (count,) = tree.expressions
    if not isinstance(count, exp.Literal) or not count.name.isdecimal() or count.name == "0":
        raise SqlValidationError(f"row_interval() takes a positive number of rows, not {count}")
    return int(count.name)


def _length(value: Expression[Any]) -> exp.Expr:
    tree = tree_of(value)
    if _rows(tree) is None and not isinstance(tree, exp.Interval):
        raise SqlValidationError(
            f"a window's length is an interval, not {value}",
            hint="lit(10).minutes, or row_interval(10)",
        )
    return tree


class OverWindow:
    """A window of ``over_window()``, which is refused."""

    def __init__(self, partition: tuple[Any, ...], order: Any, name: str = "") -> None:
        self._partition = partition
        self._order = order
        self._name = name


class OverWindowPartitionedOrderedPreceding(OverWindow):
    """An OVER window with its start."""

    def alias(self, alias: str) -> OverWindow:
        """Return the window with a name."""
        return OverWindow(self._partition, self._order, alias)

    def following(self, following: Expression[Any]) -> OverWindowPartitionedOrderedPreceding:
        """Return the window with its end."""
        return self


class OverWindowPartitionedOrdered(OverWindow):
    """An OVER window with its order."""

    def alias(self, alias: str) -> OverWindow:
        """Return the window with a name."""
        return OverWindow(self._partition, self._order, alias)

    def preceding(self, preceding: Expression[Any]) -> OverWindowPartitionedOrderedPreceding:
        """Return the window with its start."""
        return OverWindowPartitionedOrderedPreceding(self._partition, self._order)


class OverWindowPartitioned:
    """An OVER window with its keys."""

    def __init__(self, partition: tuple[Any, ...]) -> None:
        self._partition = partition

    def order_by(self, order_by: Expression[Any]) -> OverWindowPartitionedOrdered:
        """Return the window with its order."""
        return OverWindowPartitionedOrdered(self._partition, order_by)


class Over:
    """Windows around each row; ``over_window()`` refuses them."""

    @classmethod
    def order_by(cls, order_by: Expression[Any]) -> OverWindowPartitionedOrdered:
        """Return a window with its order."""
        return OverWindowPartitionedOrdered((), order_by)

    @classmethod
    def partition_by(cls, *partition_by: Expression[Any]) -> OverWindowPartitioned:
        """Return a window with its keys."""
        return OverWindowPartitioned(partition_by)
