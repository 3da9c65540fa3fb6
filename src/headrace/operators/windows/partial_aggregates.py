"""What is sent in place of records: what many keys of one key group hold, as one record."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from headrace.runtime.block import pickled_plain
from headrace.runtime.detached import RecordLayout, detached, restored
from headrace.runtime.keys.key_groups import KeyGroups
from headrace.runtime.operator import NodeProgram
from headrace.runtime.plain import all_plain


@dataclass(frozen=True, repr=False)
class PartialAggregates:
    """Stands for ``count`` records of several keys of one key group.

    It is sent by one of the keys. ``at``: where the window or pane starts (ms) that all of the
    records lie in. ``content``: the other keys, and what all of them hold, in bytes
    (``content_of``); or, for one key alone, a tuple with what it holds.
    """

    at: int
    count: int
    content: bytes | tuple[Any]

    def __repr__(self) -> str:
        return f"{self.count} combined records of keys of one key group"


@dataclass(frozen=True)
class AccumulatorBatch:
    """What keys hold, and more about each that nobody can change; all lists are as long."""

    keys: list[Any]
    about: tuple[list[Any], ...]
    values: list[Any]


def by_key_group(held: AccumulatorBatch, groups: KeyGroups) -> Iterable[AccumulatorBatch]:
    """What is held, by key group. A key without a stable hash comes alone: it has another form."""
    if groups.count == 1 and _STABLE.issuperset(map(type, held.keys)):
        return (held,)
    found: dict[Any, AccumulatorBatch] = {}
    for key, *about, value in zip(held.keys, *held.about, held.values, strict=True):
        try:
            group = groups[key]
        except TypeError:
            group = None, len(found)  # type: ignore[assignment]
        own = found.get(group)
        if own is None:
            own = found[group] = AccumulatorBatch([], tuple([] for _ in about), [])
        own.keys.append(key)
        own.values.append(value)
        for kept, one in zip(own.about, about, strict=True):
            kept.append(one)
    return found.values()


_STABLE = frozenset({int, str, bytes})
"""Types of keys that have a stable hash in any case."""


def content_of(node: NodeProgram, held: AccumulatorBatch) -> bytes:
    """What keys of one group hold, in bytes. No two keys share anything that can be changed.

    Raises:
        TypeError, pickle.PicklingError, AttributeError: it cannot be pickled.
    """
    others = held.keys[1:]
    if all_plain(held.values):
        whole = others, held.about, held.values, None
        return pickled_plain(whole, (*held.keys[-1:], *held.values[:1]))
    layouts: dict[RecordLayout, int] = {}
    apart = []
    for key, kept in zip(held.keys, held.values, strict=True):  # noqa: B007  for ``annotate``
        apart.append(detached(kept, layouts))
    return pickle.dumps((others, held.about, apart, [*layouts]), 5)


def held_in(key: Any, combined: PartialAggregates) -> Iterator[tuple[Any, ...]]:
    """For each key: the key, what ``AccumulatorBatch.about`` says of it, and what it holds.

    ``key``: the first of the keys, as the exchange has it.
    """
    if not isinstance(combined.content, bytes):
        return iter(((key, *combined.content),))
    keys, about, values, layouts = pickle.loads(combined.content)
    if layouts is not None:
        values = restored(values, layouts)
    return zip((key, *keys), *about, values, strict=True)


def runs_of_combined(values: list[Any]) -> Iterator[tuple[slice, bool]]:
    """Where what was combined, and where single records lie, in their order."""
    kinds = set(map(type, values))
    if PartialAggregates not in kinds or len(kinds) == 1:
        yield slice(None), PartialAggregates in kinds
        return
    start = 0
    for are_combined, run in groupby(type(value) is PartialAggregates for value in values):
        stop = start + sum(1 for _ in run)
        yield slice(start, stop), are_combined
        start = stop
