"""A day's feeds as messages for Kafka, in sending order."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from headrace.common.serialization import SerializationSchema
from headrace.demo.trades import beta, fix, gamma, job
from headrace.demo.trades.events import DecodedEvent
from headrace.demo.trades.kafka.topics import ALPHA, BETA, GAMMA
from headrace.errors import DecodeError

_MAYBE = frozenset(gamma.COLUMNS) - {"seq", "time", "type", "isin"}


class Message(NamedTuple):
    """A message to send. ``key``: the symbol. An invalid message has no key and no ``event_id``."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes
    event_id: str | None


def day_messages(
    directory: Path, partitions: int, gamma_avro: SerializationSchema
) -> list[Message]:
    """Return all messages of a folder of feeds.

    Each topic keeps its feed's order. Topics are merged by event time, so that they arrive as on
    that day. ``gamma_avro`` encodes GAMMA's records.
    """
    feeds = (
        _read_messages(ALPHA, _read_lines(directory, "alpha.fix"), fix.decode, partitions),
        _read_messages(BETA, _read_lines(directory, "beta.jsonl"), beta.decode, partitions),
        _read_gamma_messages(directory, partitions, gamma_avro),
    )
    return [message for _, _, message in heapq.merge(*feeds, key=lambda timed: timed[:2])]


def ends(messages: Iterable[Message]) -> Counter[tuple[str, int]]:
    """Return the end offset of each partition, if the topics were empty before."""
    return Counter((message.topic, message.partition) for message in messages)


_Timed = tuple[int, str, Message]


def _read_messages(
    topic: str,
    lines: Iterable[bytes],
    decode: Callable[[bytes], DecodedEvent],
    partitions: int,
    write: Callable[[bytes], bytes] = bytes,
) -> Iterator[_Timed]:
    """Yield the messages of a feed, each with the feed's latest event time so far."""
    latest_ms = 0
    for line in lines:
        try:
            event = decode(line)
        except DecodeError:
            key, event_id = None, None
        else:
            latest_ms = max(latest_ms, event.event_time_ms)
            key, event_id = event.symbol.encode(), event.event_id
        value = write(line)
        partition = crc32(value if key is None else key) % partitions
        yield latest_ms, topic, Message(topic, partition, key, value, event_id)


def _read_gamma_messages(
    directory: Path, partitions: int, avro: SerializationSchema
) -> Iterator[_Timed]:
    def write(line: bytes) -> bytes:
        record = gamma_record(line)
        return line if record is None else avro.serialize(record)

    decode = gamma.Decoder().decode
    lines = _read_lines(directory, "gamma.csv", in_usual_columns=True)
    return _read_messages(GAMMA, lines, decode, partitions, write)


def gamma_record(line: bytes) -> dict[str, object] | None:
    """Return the Avro record that GAMMA sends instead of a line.

    Return None if no record can represent the line.

    Invalid values of fields are kept. A line without the right fields is sent unchanged: it is no
    valid Avro either.
    """
    try:
        cells = gamma.header(line)
    except DecodeError:
        return None
    if len(cells) != len(gamma.COLUMNS) or not (cells[0].isascii() and cells[0].isdigit()):
        return None
    record: dict[str, object] = dict(zip(gamma.COLUMNS, cells, strict=True))
    if len(cells[0]) > 18:
        return None
    record["seq"] = int(cells[0])
    for name in _MAYBE:
        record[name] = record[name] or None
    return record


def _read_lines(directory: Path, feed: str, in_usual_columns: bool = False) -> Iterator[bytes]:
    """Yield the lines of a feed's files, without empty lines and headers."""
    for path in job.feed_paths(directory, feed):
        with path.open("rb") as file:
            if in_usual_columns and job.has_header(path):
                file.readline()
            for line in file:
                if line.strip():
                    yield line.rstrip(b"\r\n")
