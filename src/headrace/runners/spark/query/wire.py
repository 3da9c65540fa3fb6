"""Envelopes as Spark's rows: packets.

Every row costs Python some 10 µs on its way into or out of transformWithState (Spark 4.3), and
every group of rows a few calls more. So what one task sends to one partition travels as few rows,
each a packet of envelopes, and a keyed stage is called once per partition: for a **bucket** of key
groups, those whose number leaves the same remainder.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import pandas
import pyarrow as pa

from headrace.runners.spark.failures import raise_encoded
from headrace.runtime.block import ALL_GROUPS, Block, Envelope, Kind, decode, encode
from headrace.runtime.columns.shared import Part, has_columns, share

WIRE_DDL = "bucket int, key_group int, sender long, seq long, payload binary"
"""A row: one packet. ``key_group``, ``sender`` and ``seq`` order those that hold one envelope."""

_ARROW = pa.schema(
    [
        ("bucket", pa.int32()),
        ("key_group", pa.int32()),
        ("sender", pa.int64()),
        ("seq", pa.int64()),
        ("payload", pa.binary()),
    ]
)
Row = tuple[int, int, int, int, bytes]

_BYTES_PER_PACKET = 4 << 20
_BYTES_WAITING = 32 << 20
"""For all partitions together, as a cluster has hundreds of them."""
_ROWS_PER_ARROW_BATCH = 256
_SPARK_SEED = 42
_WORD = 0xFFFFFFFF


@lru_cache
def bucket_keys(partitions: int) -> tuple[int, ...]:
    """For each partition a number that Spark's hash partitioning puts there."""
    found: dict[int, int] = {}
    number = 0
    while len(found) < partitions:
        found.setdefault(_spark_hash(number) % partitions, number)
        number += 1
    return tuple(found[partition] for partition in range(partitions))


def _spark_hash(number: int) -> int:
    """Spark's hash of an int: MurmurHash3 (x86, 32 bits) of one word, seed 42, as signed.

    Source: ``Murmur3_x86_32.hashInt`` of Spark 4.3, used by its hash partitioning.
    """
    word = number * 0xCC9E2D51 & _WORD
    word = _rotated(word, 15) * 0x1B873593 & _WORD
    value = _rotated(_SPARK_SEED ^ word, 13) * 5 + 0xE6546B64 & _WORD
    value ^= 4
    value = (value ^ value >> 16) * 0x85EBCA6B & _WORD
    value = (value ^ value >> 13) * 0xC2B2AE35 & _WORD
    value ^= value >> 16
    return value - (1 << 32) if value >> 31 else value


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & _WORD


def payload_bytes(envelope: Envelope) -> bytes:
    """An envelope's payload on the wire; one that only passes through is in that form already."""
    if isinstance(envelope.payload, bytes):
        return envelope.payload
    if isinstance(envelope.payload, Part):
        return envelope.payload.alone()
    if isinstance(envelope.payload, Block):
        return encode(envelope.payload)
    return pickle.dumps(envelope.payload, 5)


def payload_of(kind: int, data: bytes | Part) -> Any:
    """The payload from the wire."""
    if isinstance(data, Part):
        return data.block()
    return decode(data) if kind == Kind.DATA else pickle.loads(data)


def indexes(envelope: Envelope, partitions: int, reader: int) -> Sequence[int]:
    """The partitions that get an envelope, where stage ``reader`` is next to read.

    What is for all tasks goes to every partition of its stage; on the way there it is sent once.
    """
    if envelope.group != ALL_GROUPS:
        return (envelope.group % partitions,)
    if envelope.stage == reader:
        return range(partitions)
    return (envelope.sender % partitions,)


def packed(envelopes: Iterable[Envelope], partitions: int, reader: int = 1) -> Iterator[Row]:
    """Envelopes as packets of a few megabytes, each for one bucket, in the order of their seq.

    ``reader``: the stage that is next to read.

    Shapes:
        envelopes: n. Result: at least one row for each bucket that gets an envelope, at most one
        for each envelope and bucket; at most 32 MB of payloads wait at a time.
    """
    keys = bucket_keys(partitions)
    waiting: list[list[tuple[Any, ...]]] = [[] for _ in keys]
    sizes = [0] * partitions
    held = 0
    for envelope in envelopes:
        data, size = _packable(envelope)
        row = (*envelope[:6], data)
        for index in indexes(envelope, partitions, reader):
            waiting[index].append(row)
            sizes[index] += size
            held += size
            if sizes[index] < _BYTES_PER_PACKET:
                if held < _BYTES_WAITING:
                    continue
                index = max(range(partitions), key=sizes.__getitem__)
            yield keys[index], 0, 0, 0, _packet(waiting[index])
            held -= sizes[index]
            waiting[index], sizes[index] = [], 0
    for index, rows in enumerate(waiting):
        if rows:
            yield keys[index], 0, 0, 0, _packet(rows)


def _packable(envelope: Envelope) -> tuple[Any, int]:
    """What becomes part of a packet, and about how many bytes it takes there."""
    payload = envelope.payload
    if has_columns(payload):
        return payload, payload.values.nbytes
    if isinstance(payload, Part):
        return payload, payload.nbytes
    data = payload_bytes(envelope)
    return data, len(data)


def _packet(rows: list[tuple[Any, ...]]) -> bytes:
    return pickle.dumps([*share(rows)], 5)


def one_by_one(envelopes: Iterable[Envelope], partitions: int, reader: int = 1) -> Iterator[Row]:
    """Each envelope as a packet of its own, for a stage whose rows are sorted by Spark.

    What is for all groups of a partition comes first there. ``reader`` as in ``packed``.
    """
    keys = bucket_keys(partitions)
    for envelope in envelopes:
        data = pickle.dumps([(*envelope[:6], payload_bytes(envelope))], 5)
        for index in indexes(envelope, partitions, reader):
            yield keys[index], envelope.group, envelope.sender, envelope.seq, data


def unpacked(payload: bytes) -> list[Envelope]:
    """The envelopes of a packet; their payloads stay bytes, or parts of a message."""
    return list(map(Envelope._make, pickle.loads(payload)))


def to_arrow(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    """Rows in record batches of some megabytes at most, if a packet is no larger."""
    return map(_record_batch, _in_pieces(rows))


def frames(rows: Iterable[Row]) -> Iterator[pandas.DataFrame]:
    """Rows in DataFrames of some megabytes at most, if a packet is no larger."""
    for piece in _in_pieces(rows):
        yield pandas.DataFrame(piece, columns=_ARROW.names)


def _in_pieces(rows: Iterable[Row]) -> Iterator[list[Row]]:
    waiting: list[Row] = []
    size = 0
    for row in rows:
        waiting.append(row)
        size += len(row[4])
        if len(waiting) >= _ROWS_PER_ARROW_BATCH or size >= _BYTES_PER_PACKET:
            yield waiting
            waiting, size = [], 0
    if waiting:
        yield waiting


def _record_batch(rows: list[Row]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, _ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)


def empty_batch() -> pa.RecordBatch:
    """No rows, with the wire's columns."""
    return pa.RecordBatch.from_pylist([], schema=_ARROW)


def telling(rows: Iterator[Row]) -> Iterator[Row]:
    """The same rows; exceptions are encoded so that the driver can raise them again."""
    try:
        yield from rows
    except GeneratorExit:
        raise  # Spark wants no more of them
    except BaseException as error:
        raise_encoded(error)
