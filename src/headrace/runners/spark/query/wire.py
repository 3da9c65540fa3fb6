"""The rows between Spark's operators: packets of envelopes.

Each row costs Python about 10 µs on its way into or out of transformWithState (Spark 4.3), and each
group of rows costs a few more calls. So tasks send few rows, each a packet of envelopes, and a
keyed stage is called once per partition: for a **bucket**, the key groups whose numbers have the
same remainder. Packets for a later stage, or for a sink, pass the stages in between unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import pandas
import pyarrow as pa

from headrace.common._murmur3 import murmur3
from headrace.runners.spark.failures import raise_encoded
from headrace.runners.spark.query.packets import PacketWriter, encode_payload, make_packet
from headrace.runtime.block import ALL_GROUPS, Envelope

WIRE_DDL = "bucket int, key_group int, sender long, seq long, stage int, payload binary"
"""The columns of a row, which is a packet for one stage.

``key_group``, ``sender`` and ``seq`` sort packets of a single envelope. ``key_group`` is
``ALL_GROUPS`` for all tasks of a later stage.
"""

_ARROW = pa.schema(
    [
        ("bucket", pa.int32()),
        ("key_group", pa.int32()),
        ("sender", pa.int64()),
        ("seq", pa.int64()),
        ("stage", pa.int32()),
        ("payload", pa.binary()),
    ]
)


class Row(NamedTuple):
    """A packet, as a row of Spark (see ``WIRE_DDL``)."""

    bucket: int
    key_group: int
    sender: int
    seq: int
    stage: int
    payload: bytes


_PACKET_BYTES = 4 << 20
_MAX_WAITING_BYTES = 32 << 20
"""For all partitions together, as a cluster has hundreds of them."""
_ROWS_PER_ARROW_BATCH = 256


@lru_cache
def bucket_keys(partitions: int) -> tuple[int, ...]:
    """Return one number per partition that Spark's hash partitioning assigns to it."""
    numbers: dict[int, int] = {}
    number = 0
    while len(numbers) < partitions:
        numbers.setdefault(_spark_hash(number) % partitions, number)
        number += 1
    return tuple(numbers[partition] for partition in range(partitions))


def _spark_hash(number: int) -> int:
    """Return Spark's hash of an int, by which its hash partitioning goes: of one word, signed."""
    value = murmur3(number.to_bytes(4, "little"))
    return value - (1 << 32) if value >> 31 else value


def target_partitions(envelope: Envelope, partitions: int, reader: int) -> Sequence[int]:
    """Return the partitions that get an envelope, if ``reader`` is the next stage.

    An envelope for all tasks goes to all partitions of its stage; up to there it is sent once.
    """
    if envelope.group != ALL_GROUPS:
        return (envelope.group % partitions,)
    if envelope.stage == reader:
        return range(partitions)
    return (envelope.sender % partitions,)


def pack(envelopes: Iterable[Envelope | Row], partitions: int, reader: int = 1) -> Iterator[Row]:
    """Pack envelopes into packets of a few megabytes, each for one bucket and stage.

    A packet keeps the order of its envelopes. Rows among the envelopes are packets of other tasks,
    which are forwarded. ``reader``: the next stage.

    For n envelopes there is at least one row for each bucket and stage that gets an envelope, and
    at most one per envelope and bucket. At most 32 MB of payloads are buffered.
    """
    keys = bucket_keys(partitions)
    waiting: dict[tuple[int, int, int], PacketWriter] = {}
    waiting_bytes = 0
    for envelope in envelopes:
        if isinstance(envelope, Row):
            yield from forward_packet(envelope, partitions, reader)
            continue
        targets = target_partitions(envelope, partitions, reader)
        group = 0
        if envelope.group == ALL_GROUPS:
            if envelope.stage > reader:
                group = ALL_GROUPS
            if len(targets) > 1:
                envelope = encode_payload(envelope)
        for index in targets:
            packet_key = index, envelope.stage, group
            writer = waiting.get(packet_key)
            if writer is None:
                writer = waiting[packet_key] = PacketWriter()
            waiting_bytes += writer.add(envelope)
            if writer.size_bytes < _PACKET_BYTES:
                if waiting_bytes < _MAX_WAITING_BYTES:
                    continue
                packet_key = max(waiting, key=lambda each: waiting[each].size_bytes)
            writer = waiting.pop(packet_key)
            waiting_bytes -= writer.size_bytes
            yield _make_row(keys, packet_key, writer)
    for packet_key, writer in waiting.items():
        yield _make_row(keys, packet_key, writer)


def _make_row(keys: Sequence[int], packet_key: tuple[int, int, int], writer: PacketWriter) -> Row:
    index, stage, group = packet_key
    return Row(keys[index], group, 0, 0, stage, writer.finish())


def forward_packet(row: Row, partitions: int, reader: int) -> Iterator[Row]:
    """Forward a packet of an earlier task to a later stage; ``reader`` is the next stage."""
    if row.key_group != ALL_GROUPS or row.stage != reader:
        yield row
    else:
        for bucket in bucket_keys(partitions):
            yield row._replace(bucket=bucket)


def pack_singly(
    envelopes: Iterable[Envelope | Row], partitions: int, reader: int = 1
) -> Iterator[Row]:
    """Pack each envelope into its own packet, for a stage whose rows are sorted by Spark.

    Envelopes for all groups of a partition are sorted first. Rows and ``reader`` as in ``pack``.
    """
    keys = bucket_keys(partitions)
    for envelope in envelopes:
        if isinstance(envelope, Row):
            yield from forward_packet(envelope, partitions, reader)
            continue
        _, group, _, _, sender, seq, _ = envelope
        data = make_packet([envelope])
        for index in target_partitions(envelope, partitions, reader):
            yield Row(keys[index], group, sender, seq, envelope.stage, data)


def rows_of(batch: pa.RecordBatch) -> Iterator[Row]:
    """Return the rows of a record batch."""
    return map(Row._make, zip(*(column.to_pylist() for column in batch.columns), strict=True))


def to_arrow(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    """Convert rows to record batches of some megabytes."""
    return map(_record_batch, _in_batches(rows))


def frames(rows: Iterable[Row]) -> Iterator[pandas.DataFrame]:
    """Convert rows to DataFrames of some megabytes."""
    for piece in _in_batches(rows):
        yield pandas.DataFrame(piece, columns=_ARROW.names)


def _in_batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    waiting: list[Row] = []
    size = 0
    for row in rows:
        waiting.append(row)
        size += len(row.payload)
        if len(waiting) >= _ROWS_PER_ARROW_BATCH or size >= _PACKET_BYTES:
            yield waiting
            waiting, size = [], 0
    if waiting:
        yield waiting


def _record_batch(rows: list[Row]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, _ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)


def empty_batch() -> pa.RecordBatch:
    """Return a record batch without rows."""
    return pa.RecordBatch.from_pylist([], schema=_ARROW)


def encode_errors(rows: Iterator[Row]) -> Iterator[Row]:
    """Yield the same rows, with exceptions encoded for the driver."""
    try:
        yield from rows
    except GeneratorExit:
        raise  # Spark stopped reading
    except BaseException as error:
        raise_encoded(error)
