"""All of a run's state as a savepoint, and back into the backends of another run.

The other run may have other key groups, other stages, and another runner.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from headrace.connector import Committer
from headrace.runtime.block import ALL_GROUPS
from headrace.runtime.program import JobProgram, VertexProgram, input_watermarks_key
from headrace.runtime.savepoint.header import export_headers, import_header
from headrace.runtime.savepoint.manifest import Manifest, OperatorEntry
from headrace.runtime.savepoint.read import import_backend
from headrace.runtime.savepoint.records import SplitRecord, TaskRecord, decode, encode
from headrace.runtime.savepoint.savepoint import PartWriter, Savepoint, part_name
from headrace.runtime.savepoint.sinks import export_sinks
from headrace.runtime.savepoint.write import export_states, export_timers
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.kinds import StateKind
from headrace.runtime.tasks.source_task import SplitState

Backends = Mapping[tuple[str, int], StateBackend]
"""The backends of a run, by vertex id and key group."""

Splits = Mapping[tuple[str, str], SplitState]


def create_savepoint(
    program: JobProgram,
    backends: Backends,
    splits: Splits,
    offset: Mapping[str, Any],
    batch_id: int,
    committers: Mapping[str, Committer] | None = None,
) -> Savepoint:
    """Create a savepoint: all state of a run after the micro-batch ``batch_id``."""
    parts, operators = PartWriter(), []
    watermarks, tasks = [], []
    for vertex in (vertex for stage in program.stages for vertex in stage):
        id_ = vertex.id
        groups = {group: backends[at, group] for at, group in backends if at == vertex.id}
        shared = groups.pop(ALL_GROUPS, None)
        if shared is not None:
            parts.put(part_name("states", id_, ALL_GROUPS), export_states(id_, shared, ALL_GROUPS))
        for group, backend in sorted(groups.items()):
            parts.put(part_name("states", id_, group), export_states(id_, backend, group))
            parts.put(part_name("timers", id_, group), export_timers(id_, backend, group))
        marks, others = export_headers(id_, [groups[group].header for group in sorted(groups)])
        watermarks += marks
        tasks += others
        operators.append(_make_entry(vertex, groups, shared))
    parts.put("watermarks", watermarks)
    parts.put("tasks", tasks)
    parts.put(
        "splits",
        [
            SplitRecord(source, split, state.watermark, encode(dict(state.nodes)))
            for (source, split), state in splits.items()
        ],
    )
    parts.put("sinks", export_sinks(committers or {}))
    manifest = Manifest(
        program.name,
        max((vertex.groups for stage in program.stages for vertex in stage), default=1),
        batch_id,
        tuple(operators),
        json.loads(json.dumps(offset)),
        parts.checksums,
    )
    return Savepoint(manifest, parts.records)


def _make_entry(
    vertex: VertexProgram, groups: Mapping[int, StateBackend], shared: StateBackend | None
) -> OperatorEntry:
    node = vertex.chain.nodes[vertex.chain.root]
    states: dict[str, StateKind] = {}
    namespaced: dict[str, StateKind] = {}
    tables: dict[str, StateKind] = {}
    for backend in groups.values():
        states.update(backend.kinds())
        namespaced.update(backend.in_namespaces.kinds())
        tables.update(backend.tables.kinds())
    kind = node.spec.kind if node.spec is not None else ""
    return OperatorEntry(
        vertex.id,
        kind,
        node.name,
        node.uid,
        vertex.groups,
        states,
        namespaced,
        tables,
        {} if shared is None else shared.kinds(),
    )


def restore_savepoint(
    savepoint: Savepoint,
    program: JobProgram,
    get_backend: Callable[[VertexProgram, int], StateBackend],
) -> None:
    """Import a savepoint into new backends of a program.

    ``get_backend`` returns the backend of a vertex's key group, or of ``ALL_GROUPS``.
    """
    for vertex in (vertex for stage in program.stages for vertex in stage):
        id_ = vertex.id
        entry = savepoint.manifest.operator(id_)
        if entry is None:
            continue
        tasks = [record for record in savepoint.read("tasks") if record.operator == id_]
        if entry.key_groups != vertex.groups:
            tasks = _without_chain_watermarks(tasks, vertex)
        header = pickle.dumps(
            import_header(
                [record for record in savepoint.read("watermarks") if record.operator == id_],
                tasks,
                vertex.input_channels,
            )
        )
        if vertex.broadcast:
            import_backend(
                savepoint.read_broadcast_state(id_), get_backend(vertex, ALL_GROUPS), entry.shared
            )
        keyed = savepoint.read_keyed_state(id_, vertex.groups, vertex.has_operator_state)
        for group in range(vertex.groups):
            backend = get_backend(vertex, group)
            backend.header.update(pickle.loads(header))
            import_backend(
                keyed.get(group, ()), backend, entry.states, entry.namespaced, entry.tables
            )


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
