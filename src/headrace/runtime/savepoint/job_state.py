"""All of a run's state as a savepoint, and back into the backends of another run.

The other run may have other key groups, other stages, and another runner.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from headrace.connector import Committer
from headrace.errors import CheckpointError
from headrace.runtime.block import ALL_GROUPS
from headrace.runtime.program import JobProgram, VertexProgram, input_watermarks_key
from headrace.runtime.savepoint.header import export_headers, import_header
from headrace.runtime.savepoint.manifest import Manifest, OperatorEntry
from headrace.runtime.savepoint.read import StoredStates, import_backend
from headrace.runtime.savepoint.records import (
    SplitRecord,
    TaskRecord,
    WatermarkRecord,
    decode,
    encode,
)
from headrace.runtime.savepoint.savepoint import (
    MemorySavepoint,
    PartWriter,
    Savepoint,
    part_name,
)
from headrace.runtime.savepoint.sinks import export_sinks
from headrace.runtime.savepoint.write import export_states, export_timers
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.evolution import change_of
from headrace.runtime.state.fields import (
    SeenFields,
    add_fields,
    changed_classes,
    current_fields,
)
from headrace.runtime.state.kinds import StateKind
from headrace.runtime.tasks.source_task import SplitState

Backends = Mapping[tuple[str, int], StateBackend]
"""The backends of a run, by vertex id and key group."""

Splits = Mapping[tuple[str, str], SplitState]

Convert = Callable[[VertexProgram, int, StateBackend], None]

GetBackend = Callable[[VertexProgram, int], StateBackend]
"""Returns the backend of a vertex's key group, or of ``ALL_GROUPS``."""


@dataclass(frozen=True)
class GroupSummary:
    """What a savepoint needs of a key group beside its records: its header, and its states."""

    header: Mapping[str, Any]
    states: StoredStates

    @classmethod
    def of(cls, backend: StateBackend) -> Self:
        """Return the summary of a backend."""
        return cls(dict(backend.header), StoredStates.of(backend))


def create_savepoint(
    program: JobProgram,
    backends: Backends,
    splits: Splits,
    offset: Mapping[str, Any],
    batch_id: int,
    committers: Mapping[str, Committer] | None = None,
    convert: Convert | None = None,
) -> MemorySavepoint:
    """Create a savepoint: all state of a run after the micro-batch ``batch_id``.

    ``convert`` converts what a vertex's key group stored under an earlier program.
    """
    summaries = {at: GroupSummary.of(backend) for at, backend in backends.items()}
    if convert is not None and mixed_states(summaries):
        for (id_, group), backend in backends.items():
            convert(program.vertex(id_), group, backend)
        summaries = {at: GroupSummary.of(backend) for at, backend in backends.items()}
    parts = PartWriter()
    for (id_, group), backend in sorted(backends.items(), key=lambda item: item[0]):
        parts.put(part_name("states", id_, group), export_states(id_, backend, group))
        if group != ALL_GROUPS:
            parts.put(part_name("timers", id_, group), export_timers(id_, backend, group))
    operators, watermarks, tasks = describe_operators(program, summaries)
    parts.put("watermarks", watermarks)
    parts.put("tasks", tasks)
    parts.put("splits", export_splits(splits))
    parts.put("sinks", export_sinks(committers or {}))
    manifest = make_manifest(program, operators, offset, batch_id)
    return MemorySavepoint(replace(manifest, parts=parts.checksums), parts.records)


def make_manifest(
    program: JobProgram,
    operators: Iterable[OperatorEntry],
    offset: Mapping[str, Any],
    batch_id: int,
) -> Manifest:
    """Return the manifest of a program's savepoint, without its parts."""
    return Manifest(
        program.name,
        max((vertex.groups for stage in program.stages for vertex in stage), default=1),
        batch_id,
        tuple(operators),
        json.loads(json.dumps(offset)),
        {},
        scope=program.scope,
    )


def describe_operators(
    program: JobProgram, groups: Mapping[tuple[str, int], GroupSummary]
) -> tuple[list[OperatorEntry], list[WatermarkRecord], list[TaskRecord]]:
    """Return the operators' entries for the manifest, and the records of their headers.

    ``groups``: by vertex id and key group.

    Raises:
        CheckpointError: values of a state have several types.
    """
    check_one_program(groups)
    by_vertex: dict[str, dict[int, GroupSummary]] = {}
    for (id_, group), summary in groups.items():
        by_vertex.setdefault(id_, {})[group] = summary
    operators, watermarks, tasks = [], [], []
    for vertex in (vertex for stage in program.stages for vertex in stage):
        found = by_vertex.get(vertex.id, {})
        shared = found.pop(ALL_GROUPS, None)
        marks, others = export_headers(vertex.id, [found[group].header for group in sorted(found)])
        watermarks += marks
        tasks += others
        operators.append(_make_entry(vertex, found.values(), shared))
    return operators, watermarks, tasks


def export_splits(splits: Splits) -> Iterator[SplitRecord]:
    """Yield the records of split states."""
    for (source, split), state in splits.items():
        yield SplitRecord(source, split, state.watermark, encode(dict(state.nodes)))


def _make_entry(
    vertex: VertexProgram, groups: Iterable[GroupSummary], shared: GroupSummary | None
) -> OperatorEntry:
    node = vertex.chain.nodes[vertex.chain.root]
    return OperatorEntry(
        vertex.id,
        node.spec.kind if node.spec is not None else "",
        node.name,
        node.uid,
        vertex.groups,
        **merged_states(groups, shared),
        removes_after_ms=() if node.spec is None else node.spec.removes_after_ms,
        pattern=() if node.spec is None else node.spec.pattern,
        description=node.description,
    )


def merged_states(
    groups: Iterable[GroupSummary], shared: GroupSummary | None
) -> dict[str, dict[str, Any]]:
    """Return what an ``OperatorEntry`` has of the states of key groups, and of broadcast state."""
    states: dict[str, StateKind] = {}
    namespaced: dict[str, StateKind] = {}
    tables: dict[str, StateKind] = {}
    fields: dict[str, dict[str, list[str]]] = {}
    for group in groups:
        states.update(group.states.states)
        namespaced.update(group.states.namespaced)
        tables.update(group.states.tables)
        for state, seen in group.states.fields.items():
            add_fields(fields.setdefault(state, {}), seen)
    if shared is not None:
        fields |= {state: dict(seen) for state, seen in shared.states.fields.items()}
    return {
        "states": states,
        "namespaced": namespaced,
        "tables": tables,
        "shared": {} if shared is None else dict(shared.states.states),
        "fields": fields,
    }


def mixed_states(groups: Mapping[tuple[str, int], GroupSummary]) -> frozenset[tuple[str, str]]:
    """Return the states (vertex id, name) of which key groups may have values of several programs.

    Some groups have not been used since the program's types or classes changed.
    """
    return _differing(groups, _class_signature)


def check_one_program(groups: Mapping[tuple[str, int], GroupSummary]) -> None:
    """Raise CheckpointError if values of a state have several types."""
    for id_, state in _differing(groups, _stored_signature):
        raise CheckpointError(
            f"some values of the state {state!r} have the type of an earlier program",
            where={"operator": id_},
            hint="the job's next savepoint converts them, if the program asks for the state in"
            " open(); otherwise they are converted with their key group's next record",
        )


Signature = Callable[[SeenFields], Mapping[str, Hashable]]
"""Returns what must be equal in all key groups, by class."""


def _stored_signature(seen: SeenFields) -> Mapping[str, Hashable]:
    """Return the stored fields of the classes that have to be converted; None for others."""
    changed = {each.name: each.stored for each in changed_classes(seen, {})}
    return {name: changed.get(name) for name in seen}


def _class_signature(seen: SeenFields) -> Mapping[str, Hashable]:
    """Return also the fields that are gone: a state may know them under other names."""
    now = current_fields(seen)
    changed = _stored_signature(seen)
    gone = {name: frozenset(seen[name]).difference(now[name]) for name in seen}
    return {name: (changed[name], gone[name]) for name in seen}


def _differing(
    groups: Mapping[tuple[str, int], GroupSummary], signature: Signature
) -> frozenset[tuple[str, str]]:
    found = set()
    kinds: dict[tuple[str, str], StateKind] = {}
    classes: dict[tuple[str, str, str], Hashable] = {}
    for (id_, _), summary in groups.items():
        for state, kind in summary.states.kinds().items():
            if not _is_same(kinds.setdefault((id_, state), kind), kind):
                found.add((id_, state))
        for state, seen in summary.states.fields.items():
            for name, value in signature(seen).items():
                if classes.setdefault((id_, state, name), value) != value:
                    found.add((id_, state))
    return frozenset(found)


def _is_same(one: StateKind, other: StateKind) -> bool:
    try:
        same = one == other or change_of("", one, other, {}) is None
    except CheckpointError:
        return False
    return same and one.version == other.version


def restore_savepoint(
    savepoint: Savepoint,
    program: JobProgram,
    get_backend: GetBackend,
) -> None:
    """Import a savepoint into new backends of a program."""
    for vertex in (vertex for stage in program.stages for vertex in stage):
        restore_operator(savepoint, vertex, get_backend)


def restore_operator(
    savepoint: Savepoint,
    vertex: VertexProgram,
    get_backend: GetBackend,
    *,
    broadcast_only: bool = False,
) -> None:
    """Import the state of one operator, if the savepoint has it.

    ``broadcast_only``: without the state by key group.
    """
    entry = savepoint.manifest.operator(vertex.id)
    if entry is None:
        return
    if vertex.broadcast:
        records = savepoint.read_broadcast_state(vertex.id)
        import_backend(records, get_backend(vertex, ALL_GROUPS), entry.shared_states)
    if broadcast_only:
        return
    header = header_of(savepoint, vertex, entry)
    keyed = savepoint.read_keyed_state(vertex.id, vertex.groups, vertex.has_operator_state)
    for group in range(vertex.groups):
        backend = get_backend(vertex, group)
        backend.header.update(pickle.loads(header))
        import_backend(keyed.get(group, ()), backend, entry.keyed_states)


def header_of(savepoint: Savepoint, vertex: VertexProgram, entry: OperatorEntry) -> bytes:
    """Return the initial header of each key group of an operator, pickled."""
    tasks = [record for record in savepoint.read("tasks") if record.operator == vertex.id]
    if entry.key_groups != vertex.groups:
        tasks = _without_chain_watermarks(tasks, vertex)
    watermarks = [record for record in savepoint.read("watermarks") if record.operator == vertex.id]
    return pickle.dumps(import_header(watermarks, tasks, vertex.input_channels))


def _without_chain_watermarks(
    tasks: Iterable[TaskRecord], vertex: VertexProgram
) -> list[TaskRecord]:
    """Drop the watermarks that operators inside the chain assigned.

    They belong to single key groups, and the number of key groups has changed.
    """
    timed = vertex.chain.nodes_with_new_watermarks()
    gone = {encode(name) for node in timed for name in (node, input_watermarks_key(node))}
    return [task for task in tasks if task.name not in gone]


def read_split_states(savepoint: Savepoint) -> dict[tuple[str, str], SplitState]:
    """Return the split states of a savepoint."""
    return {
        (record.source, record.split): SplitState(record.watermark_ms, decode(record.nodes))
        for record in savepoint.read("splits")
    }
