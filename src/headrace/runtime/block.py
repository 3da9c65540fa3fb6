"""A block: the records that one sender has for one group, and the marks between them.

Records never travel one by one. What is emitted is final: of a record that could still be changed
by its owner (a dict, a list, an object) the block holds what it was the moment it was emitted, so a
state object that is yielded and later mutated arrives as it was. Plain values (numbers, strings,
tuples and frozen dataclasses of them) need no such care.
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
from headrace.runtime.detached import RecordLayout, detached, restored
from headrace.runtime.plain import ATOMS, all_plain, is_plain, only_atoms

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


class Mark(NamedTuple):
    """A statement on time that stands between two records of a block.

    ``position``: how many records of the block come before it. ``channel``: whose watermark.
    ``watermark`` in ms. ``idle``: the channel does not hold others back until its next mark.
    """

    position: int
    channel: Channel
    watermark: int
    idle: bool = False


class Block(NamedTuple):
    """Shapes: ``keys`` is None (no key) or as long as ``values``; so is ``timestamps``.

    In place of lists a block may hold columns (``runtime.columns``): ``Columns``, ``ColumnKeys``
    and ``Timestamps`` have a length and slices, and to go through them gives what the lists hold.
    ``isolated``: every value is detached from its owner (``detached``), in one of ``layouts``.
    ``first_watermark_ms``: for blocks of a keyed stage, that stage's watermark when the first
    record was emitted (it orders blocks of several senders); None for blocks of sources.
    ``now_ms``: the processing time of the micro-batch. ``merged_channel``: the channel whose marks
    are common to all senders, or None.
    ``checked``: the values are isolated, or nobody will change them; else they are for ``encode``
    or ``own``. ``openings``: from which position on records belong to which channel, where a sender
    has several channels (``Mark.channel``). ``input``: by which of its inputs an operator that has
    several gets the records.
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
"""The group of an envelope that each task of its target gets, for all of its groups."""


class Envelope(NamedTuple):
    """An addressed payload: one row on the wire.

    ``stage``: the stage that shall read it (sinks and the driver stand behind the last).
    ``group``: the key group or subtask, or ``ALL_GROUPS``. ``target``: the id of the vertex or
    sink.
    ``sender``, ``seq``: the order in which the receiver reads, whatever a shuffle did.
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
        """With so many records the buffer is weighed: looked at how many bytes they take."""
        self.weighed = 0
        """How many records were there when it was weighed last."""
        self.openings: list[tuple[int, Channel]] = []

    def opens(self, channel: Channel) -> None:
        """From now on records belong to this channel."""
        position = len(self.values)
        if self.openings and self.openings[-1][0] == position:
            self.openings.pop()
        self.openings.append((position, channel))

    def isolate(self) -> None:
        """From now on every value is kept as it is when it comes."""
        self.values = [detached(value, self.layouts) for value in self.values]
        self.isolated = True

    def append(self, other: BlockBuffer) -> None:
        """Put another's records behind these; both have the same layouts."""
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
    """The block for a receiver in the same process: its records are nobody else's."""
    values = block.values
    if block.checked or not isinstance(values, list) or all_plain(values):
        return block
    return _isolated(block)


def _isolated(block: Block) -> Block:
    layouts: dict[RecordLayout, int] = {}
    values = []
    for value in block.values:
        try:
            values.append(detached(value, layouts))
        except Exception as error:
            error.add_note(f"record:   {repr(value)[:500]}")
            raise
    return block._replace(values=values, isolated=True, checked=True, layouts=(*layouts,))


def values_of(block: Block) -> list[Any]:
    """The records of a block, fresh objects where they were isolated or lay in columns."""
    values = block.values
    if not isinstance(values, list):
        return values.rows()
    return restored(values, block.layouts) if block.isolated else values


def encode(block: Block) -> bytes:
    """The bytes of a block.

    Where nobody has looked at the records and the first could be changed, each is isolated: that
    keeps what a record holds twice.

    Raises:
        TypeError, pickle.PicklingError, AttributeError: a record cannot be pickled.
    """
    if not isinstance(block.values, list):
        return pickle.dumps(as_plain(block), 5)
    if not block.checked and block.values:
        first = block.values[0]
        if not is_plain(first) or not _is_bare(first):
            block = own(block)
    try:
        samples = [
            values[0]
            for values in (block.values, block.keys)
            if isinstance(values, list) and values
        ]
        return pickled_plain(as_plain(block), samples)
    except (ValueError, RecursionError):
        if block.isolated:
            raise
        return encode(_isolated(block))  # a record that holds itself


def pickled_plain(value: Any, samples: Iterable[Any]) -> bytes:
    """Pickled as is fastest for what the samples are like; nothing in it can be changed.

    Without looking objects up among those written before it takes a third of the time off writing
    and reading numbers and texts, but every object of a class is written with its class's name, and
    takes twice the time.
    """
    if all(map(_is_bare, samples)):
        return pickled_flat(value)
    return pickle.dumps(value, 5)


def _is_bare(value: Any) -> bool:
    """True when no object of a class is in a value."""
    kind = type(value)
    if kind is dict:
        return all(map(_is_bare, chain.from_iterable(value.items())))
    if kind is tuple or kind is list:
        return only_atoms(map(type, value)) or all(map(_is_bare, value))
    return kind in ATOMS


def pickled_flat(value: Any) -> bytes:
    """Pickled without looking objects up among those written before; none may hold itself."""
    out = io.BytesIO()
    pickler = pickle.Pickler(out, 5)
    pickler.fast = True
    pickler.dump(value)
    return out.getvalue()


def as_plain(block: Block) -> tuple[Any, ...]:
    """The block without classes of ours: each channel once, and its number where it is spoken of.

    Many marks speak of few channels, and pickled flat each would be written out.
    """
    numbers: dict[Channel, int] = {}

    def number(channel: Channel) -> int:
        return numbers.setdefault(channel, len(numbers))

    plain: dict[str, Any] = {
        "marks": [(at, number(channel), *rest) for at, channel, *rest in block.marks],
        "openings": [(at, number(channel)) for at, channel in block.openings],
        "merged_channel": block.merged_channel and number(block.merged_channel),
        "checked": True,
    }
    return (*block._replace(**plain), [(*channel,) for channel in numbers])


def decode(data: bytes) -> Block:
    """The block of its bytes."""
    return from_plain(pickle.loads(data))


def from_plain(plain: tuple[Any, ...]) -> Block:
    """The block of what ``as_plain`` gives."""
    *fields, named = plain
    if len(fields) < len(Block._fields):  # one from before a field was added
        fields = [*Block(*fields)]
    block: Any = _block(fields)
    channels = [*map(Channel._make, named)]
    made: Block = block._replace(
        marks=[_mark((at, channels[number], *rest)) for at, number, *rest in block.marks],
        openings=tuple((at, channels[number]) for at, number in block.openings),
    )
    if block.merged_channel is None:
        return made
    return made._replace(merged_channel=channels[block.merged_channel])


_mark = partial(tuple.__new__, Mark)  # twice as fast as Mark(...)
_block = partial(tuple.__new__, Block)
