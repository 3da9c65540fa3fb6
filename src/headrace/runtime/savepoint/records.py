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

from headrace.common._storage.pickles import loads
from headrace.runtime.keys.serialized_key import SerializedKey, to_internal_key

PICKLE = "pickle"

encode: Callable[[Any], bytes] = partial(pickle.dumps, protocol=5)
"""A key, namespace or value as bytes."""

decode: Callable[[bytes], Any] = loads


def encode_key(key: Any) -> bytes:
    """Return a key as bytes: those of its ``SerializedKey``, otherwise pickled."""
    return key.data if type(key) is SerializedKey else encode(key)


def decode_key(data: bytes) -> Any:
    """Return a key from its bytes, as tasks know it."""
    return to_internal_key(decode(data))


class StateRecord(NamedTuple):
    """The smallest piece of keyed state that can be read on its own.

    There is one per key (and namespace) of value, reducing and aggregating state; one per element
    of a list (``position``: its index); one per record of a time buffer; and one per item of a map
    (``item``: its key, ``position``: the order of insertion, if that is kept).

    ``kind``: see ``runtime.state.kinds``. ``namespace``: None for state of a key alone. Broadcast
    state has the key group ``ALL_GROUPS``; its ``key`` is the map key, and its value a pair with
    the order of the keys. ``stamp_ms``: the timestamp of a buffered record, or the time of the last
    use if there is a time-to-live.
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
    """The watermark of an operator's input channel; ``channel`` None: of the operator itself."""

    operator: str
    channel: bytes | None
    watermark_ms: int
    idle: bool


class TaskRecord(NamedTuple):
    """Other data of an operator's tasks: ``now``, ``finished``, and ``nodes`` one by one."""

    operator: str
    field: str
    name: bytes | None
    value: bytes


class SplitRecord(NamedTuple):
    """The state of a split that is not finished; ``nodes``: by node, pickled."""

    source: str
    split: str
    watermark_ms: int
    nodes: bytes


class SinkRecord(NamedTuple):
    """A piece of the snapshot of a sink's committer.

    ``position``: the index of the piece in the snapshot. ``pending``: data that the sink has not
    published yet, in the format of the sink.
    """

    sink: str
    position: int
    pending: bytes


class EnumeratorRecord(NamedTuple):
    """A file that a source's enumerator keeps; ``path``: below its folder."""

    source: str
    path: str
    data: bytes


TABLES: dict[str, type[Any]] = {
    "states": StateRecord,
    "timers": TimerRecord,
    "watermarks": WatermarkRecord,
    "tasks": TaskRecord,
    "splits": SplitRecord,
    "sinks": SinkRecord,
    "enumerators": EnumeratorRecord,
}
"""The records of each table."""

COLUMNS = {(SinkRecord, "pending"): "held"}
"""By record and field, the name of the stored column; other columns are named like the field."""
