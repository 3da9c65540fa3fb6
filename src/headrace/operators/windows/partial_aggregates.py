"""Partial aggregates of windows, as they are sent through a key exchange."""

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
    """Keys and their accumulators. ``attributes``: lists of immutable values, one for each key."""

    keys: list[Any]
    attributes: tuple[list[Any], ...]
    values: list[Any]


def split_by_key_group(batch: AccumulatorBatch, groups: KeyGroups) -> Iterable[AccumulatorBatch]:
    """Split a batch by key group. A key without a stable hash gets a batch of its own."""
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
"""Types whose values always have a stable hash."""


def encode_partials(node: NodeProgram, batch: AccumulatorBatch) -> bytes:
    """Pickle the keys (without the first), attributes and accumulators of a batch.

    Accumulators are copied apart, so that no two keys share a mutable object.

    Raises:
        TypeError, pickle.PicklingError, AttributeError: a value cannot be pickled.
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
    """Yield each key, its attributes and its accumulator.

    ``key``: the first key, under which the partial aggregates were sent.
    """
    if not isinstance(partial.content, bytes):
        return iter(((key, *partial.content),))
    keys, attributes, values, layouts = pickle.loads(partial.content)
    if layouts is not None:
        values = deserialize_records(values, layouts)
    return zip((key, *keys), *attributes, values, strict=True)


def partial_runs(values: list[Any]) -> Iterator[tuple[slice, bool]]:
    """Yield slices of ``values`` in order, and whether each has partial aggregates or records."""
    kinds = set(map(type, values))
    if PartialAggregates not in kinds or len(kinds) == 1:
        yield slice(None), PartialAggregates in kinds
        return
    start = 0
    for are_partial, run in groupby(type(value) is PartialAggregates for value in values):
        stop = start + sum(1 for _ in run)
        yield slice(start, stop), are_partial
        start = stop
