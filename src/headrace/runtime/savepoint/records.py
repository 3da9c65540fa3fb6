"""The records of the savepoint: tables with these columns, in any container.

Every record names its operator. Keys, namespaces and values are bytes in the encoding that the
record (or, for keys and namespaces, the manifest) names. So far there is one: ``pickle``, protocol
5, in which classes of users stand with their module, and no class of Headrace but its public
values, such as ``headrace.common.types.Row``.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from headrace.runtime.keys.serialized_key import SerializedKey, to_internal_key

PICKLE = "pickle"

encode: Callable[[Any], bytes] = partial(pickle.dumps, protocol=5)
"""A key, namespace or value as bytes."""

decode: Callable[[bytes], Any] = pickle.loads


def encode_key(key: Any) -> bytes:
    """Return a key as bytes; one that goes by its serialized form has them already."""
    return key.data if type(key) is SerializedKey else encode(key)


def decode_key(data: bytes) -> Any:
    """Return a key from its bytes, as tasks know it."""
    return to_internal_key(decode(data))


class StateRecord(NamedTuple):
    """A piece of keyed state that can be read alone.

    One per key (and namespace) of value, reducing and aggregating state, one per element of a list
    (``position`` is its index), one per record of a buffer by time, and one per item of a map
    (``item`` is its key, ``position`` is the order of insertion where that is kept). ``kind``: see
    ``runtime.state.kinds``. ``namespace`` is None for state of a key alone. State that all tasks of
    an operator share has the key group ``ALL_GROUPS``; ``key`` is that of its map, and the value is
    a pair with the order of the keys. ``stamp_ms`` is a buffered record's timestamp, or the time of
    the last use where there is a time-to-live.
    """

    operator: str
    state: str
    kind: str
    encoding: str
    key_group: int
    key: bytes
    namespace: bytes | None
    position: int
    item: bytes | None
    stamp_ms: int | None
    value: bytes


class TimerRecord(NamedTuple):
    """A timer. ``clock``: ``event`` or ``processing``.

    Timers of one moment and key group fire by their ``order``.
    """

    operator: str
    clock: str
    key_group: int
    time_ms: int
    order: int
    key: bytes
    namespace: bytes | None


class WatermarkRecord(NamedTuple):
    """The watermark of one input channel of an operator; of the operator itself under None."""

    operator: str
    channel: bytes | None
    watermark_ms: int
    idle: bool


class TaskRecord(NamedTuple):
    """What the tasks of an operator keep besides: ``now``, ``finished``, ``nodes`` (one by one)."""

    operator: str
    field: str
    name: bytes | None
    value: bytes


class SplitRecord(NamedTuple):
    """What is remembered of a split that is not read to its end. ``nodes``: by node, encoded."""

    source: str
    split: str
    watermark_ms: int
    nodes: bytes


class SinkRecord(NamedTuple):
    """A piece of the snapshot of a sink's committer, with its pending data, in the sink's format.

    ``position``: its index among the sink's pieces.
    """

    sink: str
    position: int
    held: bytes


Record = StateRecord | TimerRecord | WatermarkRecord | TaskRecord | SplitRecord | SinkRecord

TABLES: dict[str, type[Any]] = {
    "states": StateRecord,
    "timers": TimerRecord,
    "watermarks": WatermarkRecord,
    "tasks": TaskRecord,
    "splits": SplitRecord,
    "sinks": SinkRecord,
}
"""The records of each table."""
