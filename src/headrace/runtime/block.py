"""A block: the records that one sender has for one group, and the marks between them.

Records are never sent one by one. An emitted record is final: if the user's function can still
change it, the block has a copy of its content at the time of emission. Dicts, lists and objects are
copied. Immutable values (numbers, strings, tuples and frozen dataclasses of them) are stored
without a copy.
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
    """The kind of an envelope's payload."""

    DATA = 0
    """A ``Block`` for an operator or a sink."""
    SOURCE_STATE = 1
    """What a source task remembers for the next micro-batch (see ``source_task``)."""
    METRICS = 2
    """Counters of one task, for the driver."""
    WRITTEN = 3
    """What a task that has written its records itself has for the commit."""
    OUTPUT = 4
    """Lines that functions have printed and logged in one task, for the driver."""
    PAGES = 5
    """Pages of state that one task has changed, for queries that the driver answers."""


class Mark(NamedTuple):
    """A watermark (ms) between two records of a block.

    ``position``: the number of the block's records before it. ``channel``: the channel whose
    watermark it is. ``idle``: the channel does not hold others back until its next mark.
    """

    position: int
    channel: Channel
    watermark: int
    idle: bool = False


class Block(NamedTuple):
    """The records that one sender has for one receiver, and the marks between them.

    ``keys``: None (no keys) or as long as ``values``. ``timestamps``: None or as long. In place of
    lists a block may have columns (``runtime.columns``): ``ColumnKeys``, ``Columns`` and
    ``Timestamps`` have a length and slices, and iterate like the lists. ``copied``: every value is
    a copy (``serialize_record``), in one of ``layouts``. ``immutable``: the values are copied, or
    will not be changed; if False, ``encode`` and ``isolate_for_receiver`` copy mutable values.

    ``first_watermark_ms``: in a block of a keyed stage, that stage's watermark when the first
    record was emitted, which orders blocks of several senders; None in a block of a source.
    ``now_ms``: the processing time of the micro-batch. ``merged_channel``: the channel whose marks
    are common to all senders, or None. ``channel_starts``: if a sender has several channels, pairs
    (position, channel): from that position on, records belong to the channel. ``input``: the number
    of the operator's input.
    """

    keys: ColumnKeys | list[Any] | None
    values: Columns | list[Any]
    timestamps: Sequence[int | None] | None
    copied: bool
    marks: list[Mark]
    first_watermark_ms: int | None
    now_ms: int
    merged_channel: Channel | None = None
    immutable: bool = True
    layouts: tuple[RecordLayout, ...] = ()
    channel_starts: tuple[tuple[int, Channel], ...] = ()
    input: int = 0


ALL_GROUPS = -1
"""The group of an envelope that goes to every task of its target, for all groups of the task."""


class Envelope(NamedTuple):
    """An addressed payload. On Spark, several envelopes are sent as a packet.

    ``stage``: the stage of the receiver; sinks and the driver come after the last stage. ``group``:
    the key group or subtask, or ``ALL_GROUPS``. ``target``: the id of the vertex or sink.
    ``sender``, ``seq``: the receiver sorts envelopes by these, as a shuffle may reorder them.
    """

    stage: int
    group: int
    target: str
    kind: int
    sender: int
    seq: int
    payload: Any


class BlockBuffer:
    """Buffers records and marks for one receiver, until they become a block."""

    __slots__ = (
        "channel_starts",
        "copied",
        "estimate_at",
        "estimated_count",
        "first_watermark_ms",
        "keys",
        "layouts",
        "marks",
        "timestamps",
        "values",
    )

    def __init__(
        self, first_watermark_ms: int | None, layouts: dict[RecordLayout, int] | None = None
    ) -> None:
        self.keys: list[Any] = []
        self.values: list[Any] = []
        self.timestamps: list[int | None] = []
        self.marks: list[Mark] = []
        self.copied = False
        self.layouts = {} if layouts is None else layouts
        self.first_watermark_ms = first_watermark_ms
        self.estimate_at = 1
        """At this number of records their bytes are estimated (``SendContext.estimate_size``)."""
        self.estimated_count = 0
        """How many records there were at the last estimate."""
        self.channel_starts: list[tuple[int, Channel]] = []

    def start_channel(self, channel: Channel) -> None:
        """Assign the following records to this channel."""
        position = len(self.values)
        if self.channel_starts and self.channel_starts[-1][0] == position:
            self.channel_starts.pop()
        self.channel_starts.append((position, channel))

    def copy_values(self) -> None:
        """Copy each of the following values when it is added."""
        self.values = [serialize_record(value, self.layouts) for value in self.values]
        self.copied = True

    def append(self, other: BlockBuffer) -> None:
        """Append the records of another buffer; both must have the same layouts."""
        if self.copied != other.copied:
            (self if other.copied else other).copy_values()
        self.keys += other.keys
        self.values += other.values
        self.timestamps += other.timestamps


def to_block(
    buffer: BlockBuffer,
    keyed: bool,
    now_ms: int,
    merged_channel: Channel | None,
    immutable: bool = True,
    input: int = 0,
) -> Block:
    """Return the block that a buffer holds; the buffer must not be used afterwards."""
    timestamps: Sequence[int | None] | None = buffer.timestamps
    if timestamps is not None and timestamps.count(None) == len(timestamps):
        timestamps = None
    return Block(
        buffer.keys if keyed else None,
        buffer.values,
        timestamps,
        buffer.copied,
        buffer.marks,
        buffer.first_watermark_ms,
        now_ms,
        merged_channel,
        immutable or buffer.copied,
        (*buffer.layouts,),
        (*buffer.channel_starts,),
        input,
    )


def isolate_for_receiver(block: Block) -> Block:
    """Return a block that shares no mutable record with others, for a receiver in this process."""
    values = block.values
    if block.immutable or not isinstance(values, list) or all_immutable(values):
        return block
    return _copy_records(block)


def _copy_records(block: Block) -> Block:
    layouts: dict[RecordLayout, int] = {}
    values = []
    for value in block.values:
        try:
            values.append(serialize_record(value, layouts))
        except Exception as error:
            error.add_note(f"record:   {repr(value)[:500]}")
            raise
    return block._replace(values=values, copied=True, immutable=True, layouts=(*layouts,))


def records_of(block: Block) -> list[Any]:
    """Return the records of a block: new objects if they were isolated, or are in columns."""
    values = block.values
    if not isinstance(values, list):
        return values.rows()
    return deserialize_records(values, block.layouts) if block.copied else values


def encode(block: Block) -> bytes:
    """Return the bytes of a block (see ``encode_into``)."""
    out = io.BytesIO()
    encode_into(block, out)
    return out.getvalue()


def encode_into(block: Block, out: io.BytesIO) -> None:
    """Append the bytes of a block to ``out``; if that fails, ``out`` is unchanged.

    If the block may have mutable records, and its first record is mutable, each record is first
    copied separately. So an object to which one record refers twice stays one object.

    Raises:
        TypeError, pickle.PicklingError, AttributeError: a record cannot be pickled.
    """
    if not isinstance(block.values, list):
        pickle.dump(to_plain_tuple(block), out, 5)
        return
    if not block.immutable and block.values:
        first = block.values[0]
        if not is_immutable(first) or not _has_no_objects(first):
            block = isolate_for_receiver(block)
    start = out.tell()
    try:
        samples = [
            values[0]
            for values in (block.values, block.keys)
            if isinstance(values, list) and values
        ]
        _pickle_plain(to_plain_tuple(block), samples, out)
    except BaseException as error:
        out.seek(start)
        out.truncate()
        if block.copied or not isinstance(error, ValueError | RecursionError):
            raise
        encode_into(_copy_records(block), out)  # a record that contains itself


def pickle_immutable(value: Any, samples: Iterable[Any]) -> bytes:
    """Return the value, pickled in the way that is fastest for values like the samples.

    Nothing in the value can be changed. Without pickle's memo, numbers and texts take a third less
    time to write and to read. But every object of a class is then written with the name of its
    class, which takes twice the time.
    """
    out = io.BytesIO()
    _pickle_plain(value, samples, out)
    return out.getvalue()


def _pickle_plain(value: Any, samples: Iterable[Any], out: io.BytesIO) -> None:
    pickler = pickle.Pickler(out, 5)
    pickler.fast = all(map(_has_no_objects, samples))
    pickler.dump(value)


def _has_no_objects(value: Any) -> bool:
    """Return True if no object of a class is in a value."""
    kind = type(value)
    if kind is dict:
        return all(map(_has_no_objects, chain.from_iterable(value.items())))
    if kind is tuple or kind is list:
        return all_atomic(map(type, value)) or all(map(_has_no_objects, value))
    return kind in ATOMIC_TYPES


def to_plain_tuple(block: Block) -> tuple[Any, ...]:
    """Return the block without classes of Headrace: each channel once, and in marks its number.

    Many marks belong to few channels. Pickled without a memo, each mark would hold its channel.
    """
    numbers: dict[Channel, int] = {}

    def number(channel: Channel) -> int:
        return numbers.setdefault(channel, len(numbers))

    (
        keys,
        values,
        timestamps,
        copied,
        marks,
        first,
        now_ms,
        merged,
        _,
        layouts,
        channel_starts,
        at,
    ) = block
    return (
        keys,
        values,
        timestamps,
        copied,
        [(place, number(channel), *rest) for place, channel, *rest in marks],
        first,
        now_ms,
        None if merged is None else number(merged),
        True,
        layouts,
        [(place, number(channel)) for place, channel in channel_starts],
        at,
        [(*channel,) for channel in numbers],
    )


def decode(data: bytes | memoryview) -> Block:
    """Decode a block from the bytes that ``encode`` returned."""
    return from_plain_tuple(pickle.loads(data))


def from_plain_tuple(plain: tuple[Any, ...]) -> Block:
    """Return the block that ``to_plain_tuple`` made this of."""
    keys, values, timestamps, copied, marks, *between, channel_starts, at, named = plain
    first, now_ms, merged, immutable, layouts = between
    channels = [*map(_channel, named)]
    return _block(
        (
            keys,
            values,
            timestamps,
            copied,
            [_mark((place, channels[number], *rest)) for place, number, *rest in marks],
            first,
            now_ms,
            None if merged is None else channels[merged],
            immutable,
            layouts,
            tuple([(place, channels[number]) for place, number in channel_starts]),
            at,
        )
    )


_mark = partial(tuple.__new__, Mark)  # twice as fast as Mark(...)
_block = partial(tuple.__new__, Block)
_channel = partial(tuple.__new__, Channel)
