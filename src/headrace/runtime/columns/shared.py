"""One Arrow message for several blocks: those of the key groups of one partition.

A message costs as much as some thousand rows, and a key group often has fewer. So blocks of one
packet that are slices of one whole become ``Part``s of one ``Message``. Pickled together, they hold
it once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from headrace.runtime.block import Block, as_plain, encode, from_plain
from headrace.runtime.columns.batch import Columns, from_buffer, pickled, to_buffer
from headrace.runtime.columns.keys import ColumnKeys
from headrace.runtime.columns.shapes import Shape


class Message:
    """The rows of several blocks as bytes, read when the first of them is."""

    __slots__ = ("_columns", "_given")

    def __init__(self, data: Any, shape: Shape, row_kind: str | None, timed: bool) -> None:
        self._given = data, shape, row_kind, timed
        self._columns: Columns | None = None

    @classmethod
    def of(cls, columns: Columns) -> Message:
        """The message of columns."""
        timed = columns.times is not None
        return cls(to_buffer(columns), columns.shape, columns.row_kind, timed)

    def columns(self) -> Columns:
        """The rows, in the memory of the bytes."""
        if self._columns is None:
            self._columns = from_buffer(*self._given)
        return self._columns

    @property
    def nbytes(self) -> int:
        """How many bytes it takes."""
        return len(self._given[0])

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        data, *others = self._given
        return Message, (pickled(data, protocol), *others)


class Part:
    """A block whose rows are some of a message's: from ``start``, before ``stop``.

    ``nbytes``: its share of the message. ``plain``: what else the block holds.
    """

    __slots__ = ("message", "nbytes", "plain", "start", "stop")

    def __init__(
        self, message: Message, start: int, stop: int, nbytes: int, plain: tuple[Any, ...]
    ) -> None:
        self.message, self.start, self.stop = message, start, stop
        self.nbytes, self.plain = nbytes, plain

    def block(self) -> Block:
        """The block."""
        names, _, _, *rest = from_plain(self.plain)
        others: Any = rest
        columns = self.message.columns()[self.start : self.stop]
        keys = None if names is None else ColumnKeys(columns, (*names,))
        return Block(keys, columns, columns.timestamps, *others)

    def alone(self) -> bytes:
        """The bytes of the block without the rest of the message."""
        return encode(self.block())

    def __reduce__(self) -> tuple[Any, ...]:
        return Part, (self.message, self.start, self.stop, self.nbytes, self.plain)


def has_columns(payload: Any) -> bool:
    """Whether a payload is a block that holds columns."""
    return isinstance(payload, Block) and isinstance(payload.values, Columns)


def share(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """The same rows, whose last field is a payload; blocks of columns become parts of messages.

    Blocks that follow each other in the rows and in one whole share a message.
    """
    for whole, found in groupby(rows, _whole_of):
        if whole is None:
            yield from found
        else:
            yield from _parts([*found])


def _whole_of(row: tuple[Any, ...]) -> int | None:
    payload = row[-1]
    return id(payload.values.whole) if has_columns(payload) else None


def _parts(rows: list[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    blocks: list[Block] = [row[-1] for row in rows]
    slices: list[Any] = [block.values for block in blocks]
    whole = slices[0].whole
    first = min(columns.start for columns in slices)
    end = max(columns.start + len(columns) for columns in slices)
    message = Message.of(whole[first:end])
    for row, block, columns in zip(rows, blocks, slices, strict=True):
        keys: Any = block.keys
        start = columns.start - first
        share = message.nbytes * len(columns) // max(end - first, 1)
        others: Any = block[3:]
        plain = as_plain(Block(None if keys is None else keys.names, [], None, *others))
        yield (*row[:-1], Part(message, start, start + len(columns), share, plain))
