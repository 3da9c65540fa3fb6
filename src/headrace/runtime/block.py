"""A block: the records that one sender has for one group, and the marks between them.

Records never travel one by one. What is emitted is final: if its owner (a user's function) can
still change a record, the block holds the record's content at the moment it was emitted. Dicts,
lists and objects can be changed. Plain values (numbers, strings, tuples and frozen dataclasses of
them) cannot, and are stored as they are.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable, Sequence
from enum import IntEnum
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.runtime.channel import Channel
from headrace.runtime.immutability import ATOMIC_TYPES, all_atomic, all_immutable, is_immutable
from headrace.runtime.record_copies import RecordLayout, deserialize_records, serialize_record

if TYPE_CHECKING:
    from headrace.runtime.columns.batch import Columns
    from headrace.runtime.columns.keys import ColumnKeys


class Kind(IntEnum):
    """What an envelope's payload is."""

    DATA = 0
    """A ``Block`` for an operator or a sink."""
    SOURCE_STATE = 1
    """What a source task remembers for the next micro-batch (see ``source_task``)."""
    METRICS = 2
    """Counters of one task, for the driver."""
    WRITTEN = 3
    """What a task that has written its records itself has for the commit."""


class Mark(NamedTuple):
    """A watermark that stands between two records of a block.

    ``position``: how many records of the block come before it. ``channel``: whose watermark.
    ``watermark`` in ms. ``idle``: the channel does not hold others back until its next mark.
    """

    position: int
    channel: Channel
    watermark: int
    idle: bool = False


class Block(NamedTuple):
    """The records that one sender has for one group, and the marks between them.

    Shapes:
        ``keys`` is None (no keys) or as long as ``values``. ``timestamps`` is None or as long.

    In place of lists a block may hold columns (``runtime.columns``): ``ColumnKeys``, ``Columns``
    and ``Timestamps`` have a length and slices, and iterating gives what the lists would hold.
    ``isolated``: every value is a copy (``serialize_record``), in one of ``layouts``.
    ``first_watermark_ms``: in a block of a keyed stage, that stage's watermark when the first
    record was emitted (it orders blocks of several senders); None in a block of a source.
    ``now_ms``: the processing time of the micro-batch. ``merged_channel``: the channel whose marks
    are common to all senders, or None.
    ``checked``: the values are isolated, or nobody will change them. Where it is False, ``encode``
    and ``own`` isolate values that may still change. ``openings``: pairs (position, channel), where
    a sender has several channels (``Mark.channel``): from the position on, records belong to the
    channel. ``input``: the number of the operator's input that gets the records.
    """

    keys: ColumnKeys | list[Any] | None
    values: Columns | list[Any]
    timestamps: Sequence[int | None] | None
    isolated: bool
    marks: list[Mark]
    first_watermark_ms: int | None
    now_ms: int
    merged_channel: Channel | None = None
    checked: bool = True
    layouts: tuple[RecordLayout, ...] = ()
    openings: tuple[tuple[int, Channel], ...] = ()
    input: int = 0


ALL_GROUPS = -1
"""The group of an envelope that goes to every task of its target, for all groups of the task."""


class Envelope(NamedTuple):
    """An addressed payload. On Spark, one or more envelopes travel as a packet.

    ``stage``: the stage that reads it (sinks and the driver come after the last stage).
    ``group``: the key group or subtask, or ``ALL_GROUPS``. ``target``: the id of the vertex or
    sink. ``sender``, ``seq``: the order in which the receiver reads, whatever a shuffle did.
    """

    stage: int
    group: int
    target: str
    kind: int
    sender: int
    seq: int
    payload: Any


class BlockBuffer:
    """Collects records and marks for one group until they are flushed as a block."""

    __slots__ = (
        "first_watermark_ms",
        "isolated",
        "keys",
        "layouts",
        "limit",
        "marks",
        "openings",
        "timestamps",
        "values",
        "weighed",
    )

    def __init__(
        self, first_watermark_ms: int | None, layouts: dict[RecordLayout, int] | None = None
    ) -> None:
        self.keys: list[Any] = []
        self.values: list[Any] = []
        self.timestamps: list[int | None] = []
        self.marks: list[Mark] = []
        self.isolated = False
        self.layouts = {} if layouts is None else layouts
        self.first_watermark_ms = first_watermark_ms
        self.limit = 1
        """At this number of records their bytes are estimated (``SendContext.weigh``)."""
        self.weighed = 0
        """How many records there were at the last estimate."""
        self.openings: list[tuple[int, Channel]] = []

    def opens(self, channel: Channel) -> None:
        """From now on records belong to this channel."""
        position = len(self.values)
        if self.openings and self.openings[-1][0] == position:
            self.openings.pop()
        self.openings.append((position, channel))

    def isolate(self) -> None:
        """From now on every value is copied when it comes."""
        self.values = [serialize_record(value, self.layouts) for value in self.values]
        self.isolated = True

    def append(self, other: BlockBuffer) -> None:
        """Add another buffer's records after these; both must have the same layouts."""
        if self.isolated != other.isolated:
            (self if other.isolated else other).isolate()
        self.keys += other.keys
        self.values += other.values
        self.timestamps += other.timestamps


def take(
    buffer: BlockBuffer,
    keyed: bool,
    now_ms: int,
    merged_channel: Channel | None,
    checked: bool = True,
    input: int = 0,
) -> Block:
    """The block that a buffer holds; the buffer must not be used afterwards."""
    timestamps: Sequence[int | None] | None = buffer.timestamps
    if timestamps is not None and timestamps.count(None) == len(timestamps):
        timestamps = None
    return Block(
        buffer.keys if keyed else None,
        buffer.values,
        timestamps,
        buffer.isolated,
        buffer.marks,
        buffer.first_watermark_ms,
        now_ms,
        merged_channel,
        checked or buffer.isolated,
        (*buffer.layouts,),
        (*buffer.openings,),
        input,
    )


def own(block: Block) -> Block:
    """The block for a receiver in the same process, who shares no changeable record with others."""
    values = block.values
    if block.checked or not isinstance(values, list) or all_immutable(values):
        return block
    return _isolated(block)


def _isolated(block: Block) -> Block:
    layouts: dict[RecordLayout, int] = {}
    values = []
    for value in block.values:
        try:
            values.append(serialize_record(value, layouts))
        except Exception as error:
            error.add_note(f"record:   {repr(value)[:500]}")
            raise
    return block._replace(values=values, isolated=True, checked=True, layouts=(*layouts,))


def values_of(block: Block) -> list[Any]:
    """The records of a block: new objects if they were isolated, or are in columns."""
    values = block.values
    if not isinstance(values, list):
        return values.rows()
    return deserialize_records(values, block.layouts) if block.isolated else values


def encode(block: Block) -> bytes:
    """The bytes of a block (see ``encode_into``)."""
    out = io.BytesIO()
    encode_into(block, out)
    return out.getvalue()


def encode_into(block: Block, out: io.BytesIO) -> None:
    """Write the bytes of a block after what is in ``out``; nothing is written if that fails.

    If nobody has checked the records, and the first one could be changed, each is isolated. That
    keeps an object that a record holds twice as one object.

    Raises:
        TypeError, pickle.PicklingError, AttributeError: a record cannot be pickled.
    """
    if not isinstance(block.values, list):
        pickle.dump(as_plain(block), out, 5)
        return
    if not block.checked and block.values:
        first = block.values[0]
        if not is_immutable(first) or not _is_bare(first):
            block = own(block)
    start = out.tell()
    try:
        samples = [
            values[0]
            for values in (block.values, block.keys)
            if isinstance(values, list) and values
        ]
        _pickle_plain(as_plain(block), samples, out)
    except BaseException as error:
        out.seek(start)
        out.truncate()
        if block.isolated or not isinstance(error, ValueError | RecursionError):
            raise
        encode_into(_isolated(block), out)  # a record that contains itself


def pickled_plain(value: Any, samples: Iterable[Any]) -> bytes:
    """The value, pickled in the way that is fastest for values like the samples.

    Nothing in the value can be changed. Without pickle's memo, numbers and texts take a third less
    time to write and to read. But every object of a class is then written with the name of its
    class, which takes twice the time.
    """
    out = io.BytesIO()
    _pickle_plain(value, samples, out)
    return out.getvalue()


def _pickle_plain(value: Any, samples: Iterable[Any], out: io.BytesIO) -> None:
    pickler = pickle.Pickler(out, 5)
    pickler.fast = all(map(_is_bare, samples))
    pickler.dump(value)


def _is_bare(value: Any) -> bool:
    """True when no object of a class is in a value."""
    kind = type(value)
    if kind is dict:
        return all(map(_is_bare, chain.from_iterable(value.items())))
    if kind is tuple or kind is list:
        return all_atomic(map(type, value)) or all(map(_is_bare, value))
    return kind in ATOMIC_TYPES


def as_plain(block: Block) -> tuple[Any, ...]:
    """The block without classes of Headrace: each channel once, and in marks its number.

    Many marks belong to few channels. Pickled without a memo, each mark would hold its channel.
    """
    numbers: dict[Channel, int] = {}

    def number(channel: Channel) -> int:
        return numbers.setdefault(channel, len(numbers))

    keys, values, timestamps, isolated, marks, first, now_ms, merged, _, layouts, openings, at = (
        block
    )
    return (
        keys,
        values,
        timestamps,
        isolated,
        [(place, number(channel), *rest) for place, channel, *rest in marks],
        first,
        now_ms,
        None if merged is None else number(merged),
        True,
        layouts,
        [(place, number(channel)) for place, channel in openings],
        at,
        [(*channel,) for channel in numbers],
    )


def decode(data: bytes | memoryview) -> Block:
    """The block that ``encode`` made these bytes of."""
    return from_plain(pickle.loads(data))


def from_plain(plain: tuple[Any, ...]) -> Block:
    """The block that ``as_plain`` made this of."""
    keys, values, timestamps, isolated, marks, *between, openings, at, named = plain
    first, now_ms, merged, checked, layouts = between
    channels = [*map(_channel, named)]
    return _block(
        (
            keys,
            values,
            timestamps,
            isolated,
            [_mark((place, channels[number], *rest)) for place, number, *rest in marks],
            first,
            now_ms,
            None if merged is None else channels[merged],
            checked,
            layouts,
            tuple([(place, channels[number]) for place, number in openings]),
            at,
        )
    )


_mark = partial(tuple.__new__, Mark)  # twice as fast as Mark(...)
_block = partial(tuple.__new__, Block)
_channel = partial(tuple.__new__, Channel)
