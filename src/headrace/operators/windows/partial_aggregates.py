"""What is sent in place of records: what many keys of one key group hold, as one record."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from headrace.runtime.block import pickle_immutable
from headrace.runtime.immutability import all_immutable
from headrace.runtime.keys.key_groups import KeyGroups
from headrace.runtime.operator import NodeProgram
from headrace.runtime.record_copies import RecordLayout, deserialize_records, serialize_record


@dataclass(frozen=True, repr=False)
class PartialAggregates:
    """Partial aggregates of several keys of one key group, which stand for ``count`` records.

    It is sent under the first of the keys. ``start_ms``: the start of the window or pane that all
    the records are in. ``content``: the other keys and all accumulators, pickled by
    ``encode_partials``; or, for one key alone, a tuple with its accumulator.
    """

    start_ms: int
    count: int
    content: bytes | tuple[Any]

    def __repr__(self) -> str:
        return f"{self.count} combined records of keys of one key group"


@dataclass(frozen=True)
class AccumulatorBatch:
    """What keys hold, and more about each that nobody can change; all lists are as long."""

    keys: list[Any]
    attributes: tuple[list[Any], ...]
    values: list[Any]


def split_by_key_group(batch: AccumulatorBatch, groups: KeyGroups) -> Iterable[AccumulatorBatch]:
    """What is held, by key group. A key without a stable hash comes alone: it has another form."""
    if groups.count == 1 and _STABLE.issuperset(map(type, batch.keys)):
        return (batch,)
    batches: dict[Any, AccumulatorBatch] = {}
    for key, *attributes, value in zip(batch.keys, *batch.attributes, batch.values, strict=True):
        try:
            group = groups[key]
        except TypeError:
            group = None, len(batches)  # type: ignore[assignment]
        group_batch = batches.get(group)
        if group_batch is None:
            group_batch = batches[group] = AccumulatorBatch([], tuple([] for _ in attributes), [])
        group_batch.keys.append(key)
        group_batch.values.append(value)
        for column, one in zip(group_batch.attributes, attributes, strict=True):
            column.append(one)
    return batches.values()


_STABLE = frozenset({int, str, bytes})
"""Types of keys that have a stable hash in any case."""


def encode_partials(node: NodeProgram, batch: AccumulatorBatch) -> bytes:
    """What keys of one group hold, in bytes. No two keys share anything that can be changed.

    Raises:
        TypeError, pickle.PicklingError, AttributeError: it cannot be pickled.
    """
    others = batch.keys[1:]
    if all_immutable(batch.values):
        plain_content = others, batch.attributes, batch.values, None
        return pickle_immutable(plain_content, (*batch.keys[-1:], *batch.values[:1]))
    layouts: dict[RecordLayout, int] = {}
    detached_values = []
    for key, value in zip(batch.keys, batch.values, strict=True):  # noqa: B007  for ``annotate``
        detached_values.append(serialize_record(value, layouts))
    return pickle.dumps((others, batch.attributes, detached_values, [*layouts]), 5)


def decode_partials(key: Any, partial: PartialAggregates) -> Iterator[tuple[Any, ...]]:
    """For each key: the key, what ``AccumulatorBatch.attributes`` says of it, and what it holds.

    ``key``: the first of the keys, as the exchange has it.
    """
    if not isinstance(partial.content, bytes):
        return iter(((key, *partial.content),))
    keys, attributes, values, layouts = pickle.loads(partial.content)
    if layouts is not None:
        values = deserialize_records(values, layouts)
    return zip((key, *keys), *attributes, values, strict=True)


def partial_runs(values: list[Any]) -> Iterator[tuple[slice, bool]]:
    """Where what was combined, and where single records lie, in their order."""
    kinds = set(map(type, values))
    if PartialAggregates not in kinds or len(kinds) == 1:
        yield slice(None), PartialAggregates in kinds
        return
    start = 0
    for are_partial, run in groupby(type(value) is PartialAggregates for value in values):
        stop = start + sum(1 for _ in run)
        yield slice(start, stop), are_partial
        start = stop
