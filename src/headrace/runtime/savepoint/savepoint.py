"""A savepoint: a manifest, and the records of each part."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from headrace.errors import CheckpointError
from headrace.runtime.block import ALL_GROUPS
from headrace.runtime.savepoint.manifest import (
    ChecksumCounter,
    Manifest,
    PartChecksum,
    verify_records,
)
from headrace.runtime.savepoint.read import assign_key_groups, redistribute_list_elements
from headrace.runtime.savepoint.records import StateRecord, TimerRecord


def part_name(table: str, operator: str | None = None, key_group: int | None = None) -> str:
    """Return the name of a part: ``table``, or ``table/operator/key group``."""
    return table if operator is None else f"{table}/{operator}/{key_group}"


def split_part_name(name: str) -> tuple[str, str | None, int | None]:
    """Return the table, the operator and the key group of a part."""
    table, _, rest = name.partition("/")
    if not rest:
        return table, None, None
    operator, _, key_group = rest.rpartition("/")
    return table, operator, int(key_group)


class PartWriter:
    """Collects the parts of a savepoint; ``checksums``: by part name, for the manifest."""

    def __init__(self) -> None:
        self.records: dict[str, list[Any]] = {}
        self.checksums: dict[str, PartChecksum] = {}

    def put(self, name: str, records: Iterable[Any]) -> None:
        """Write a part, unless it has no records."""
        counter = ChecksumCounter()
        found = list(counter.count_records(records))
        if found:
            self.records[name], self.checksums[name] = found, counter.part_checksum


class Savepoint(ABC):
    """All state of a job, as records in the parts that the manifest names."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest

    @abstractmethod
    def read(self, name: str) -> Iterator[Any]:
        """Yield the records of a part; none if the manifest does not have the part.

        Raises:
            CheckpointError: the part is missing, or its records differ from those written.
        """

    def read_keyed_state(
        self, operator_id: str, key_groups: int, instances: bool = False
    ) -> dict[int, list[StateRecord | TimerRecord]]:
        """Return an operator's states, then its timers, by key group of the current program.

        ``key_groups``: their current number. ``instances``: the groups are subtasks with operator
        state, among which list elements are redistributed.
        """
        entry = self.manifest.operator(operator_id)
        before = range(0 if entry is None else entry.key_groups)
        groups: dict[int, list[StateRecord | TimerRecord]] = {}
        states = chain.from_iterable(
            self.read(part_name("states", operator_id, group)) for group in before
        )
        now = (
            redistribute_list_elements(states, len(before), key_groups)
            if instances
            else assign_key_groups(states, key_groups)
        )
        for state in now:
            groups.setdefault(state.key_group, []).append(state)
        timers: Iterator[TimerRecord] = chain.from_iterable(
            self.read(part_name("timers", operator_id, group)) for group in before
        )
        for timer in sorted(assign_key_groups(timers, key_groups), key=_firing_order):
            groups.setdefault(timer.key_group, []).append(timer)
        return groups

    def read_broadcast_state(self, operator_id: str) -> Iterator[StateRecord]:
        """Return the broadcast state of an operator, which all its tasks share.

        Its records have the key group ``ALL_GROUPS``.
        """
        return self.read(part_name("states", operator_id, ALL_GROUPS))


class MemorySavepoint(Savepoint):
    """A savepoint in memory; ``parts``: the records by the names in the manifest."""

    def __init__(self, manifest: Manifest, parts: Mapping[str, list[Any]]) -> None:
        super().__init__(manifest)
        self.parts = dict(parts)

    def add(self, name: str, records: Iterable[Any]) -> None:
        """Add a part, unless it has no records."""
        writer = PartWriter()
        writer.put(name, records)
        self.parts |= writer.records
        parts = {**self.manifest.parts, **writer.checksums}
        self.manifest = replace(self.manifest, parts=parts)

    def read(self, name: str) -> Iterator[Any]:
        part = self.manifest.parts.get(name)
        if part is None:
            return iter(())
        if name not in self.parts:
            raise CheckpointError(
                f"part {name!r} of the savepoint is missing",
                hint="this savepoint is incomplete; restore from another savepoint",
            )
        return verify_records(self.parts[name], part, name)


def _firing_order(timer: TimerRecord) -> tuple[int, int]:
    return timer.time_ms, timer.order
