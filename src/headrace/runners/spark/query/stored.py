"""Conversion between records of Spark's state stores and state backends."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from headrace.runners.spark.query.wire import bucket_keys
from headrace.runtime.block import ALL_GROUPS
from headrace.runtime.program import JobProgram, VertexProgram
from headrace.runtime.savepoint.job_state import Backends, create_savepoint, restore_operator
from headrace.runtime.savepoint.savepoint import Savepoint
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.pages.backend import HEADER, PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages

StoredRecord = tuple[int, str, bytes]
"""Bucket, name and data of a record."""


StateRow = tuple[int, int, str, bytes]
"""Bucket, stage, name and data of a record."""


def vertex_of(name: str) -> str:
    """Return the vertex of a record ``<vertex>/<group>/<page>``."""
    return name.rsplit("/", 2)[0]


def group_of(name: str) -> int:
    """Return the key group of a record ``<vertex>/<group>/<page>``."""
    return int(name.rsplit("/", 2)[1])


def records_of_vertices(
    stored: Iterable[StoredRecord], wanted: Collection[str]
) -> Iterator[StoredRecord]:
    """Yield the records of some vertices, with headers that contain only these vertices."""
    for bucket, name, data in stored:
        if name == HEADER:
            headers: Mapping[str, bytes] = pickle.loads(data)
            wanted_headers = {
                prefix: header for prefix, header in headers.items() if vertex_of(prefix) in wanted
            }
            if wanted_headers:
                yield bucket, name, pickle.dumps(wanted_headers, 5)
        elif vertex_of(name) in wanted:
            yield bucket, name, data


def redistribute(
    stored: Iterable[StoredRecord],
    program: JobProgram,
    vertices: tuple[VertexProgram, ...],
    before: Mapping[str, int],
) -> list[StateRow]:
    """Redistribute the records of vertices with operator state to their number of instances.

    ``before``: the earlier numbers of instances. The records' stage is 0.
    """
    then = tuple(replace(vertex, groups=before[vertex.id]) for vertex in vertices)
    was = replace(program, stages=(then,))
    savepoint = create_savepoint(was, backends_of(was, stored), {}, {}, 0)
    rows = records_of(savepoint, program, vertices)
    return [(bucket, 0, name, data) for bucket, _, name, data in rows]


def backends_of(program: JobProgram, stored: Iterable[tuple[int, str, bytes]]) -> Backends:
    """Return state backends with the records, by vertex and key group.

    Each bucket has a copy of broadcast state; the first one found is used.
    """
    pages: dict[tuple[str, int], MemoryPages] = {}
    of_bucket: dict[tuple[str, int], int] = {}

    def put(bucket: int, prefix: str, name: str, data: bytes) -> None:
        vertex, group = prefix.rsplit("/", 1)
        at = vertex, int(group)
        if of_bucket.setdefault(at, bucket) == bucket:
            pages.setdefault(at, MemoryPages()).put(name, data)

    for bucket, name, data in stored:
        if name == HEADER:
            headers: Mapping[str, bytes] = pickle.loads(data)
            for prefix, header in headers.items():
                put(bucket, prefix.removesuffix("/"), HEADER, header)
        else:
            prefix, _, page = name.rpartition("/")
            put(bucket, prefix, page, data)
    vertices = {vertex.id: vertex for stage in program.stages for vertex in stage}
    return {
        (at, group): PagedBackend(pages_of_group, vertices[at].max_parallelism_of(group))
        for (at, group), pages_of_group in pages.items()
        if at in vertices
    }


def records_of(
    savepoint: Savepoint,
    program: JobProgram,
    vertices: Iterable[VertexProgram],
    *,
    broadcast_only: bool = False,
) -> Iterator[StateRow]:
    """Yield a savepoint's state of some vertices as records of Spark's state stores.

    It passes through this process. ``broadcast_only``: without the state by key.
    """
    keys, page_bytes = bucket_keys(program.partitions), program.settings.page_bytes
    headers: dict[tuple[int, int], dict[str, bytes]] = {}
    for vertex in vertices:
        pages: dict[int, MemoryPages] = {}

        def backend_of(
            vertex: VertexProgram, group: int, pages: dict[int, MemoryPages] = pages
        ) -> StateBackend:
            pages_of_group = pages[group] = MemoryPages()
            return PagedBackend(pages_of_group, vertex.max_parallelism_of(group), page_bytes)

        restore_operator(savepoint, vertex, backend_of, broadcast_only=broadcast_only)
        for group, pages_of_group in pages.items():
            for bucket in keys if group == ALL_GROUPS else [keys[group % len(keys)]]:
                for name, data in pages_of_group.records.items():
                    if name == HEADER:
                        of_bucket = headers.setdefault((vertex.stage, bucket), {})
                        of_bucket[f"{vertex.id}/{group}/"] = data
                    else:
                        yield bucket, vertex.stage, f"{vertex.id}/{group}/{name}", data
    for (stage, bucket), group_headers in headers.items():
        yield bucket, stage, HEADER, pickle.dumps(group_headers, 5)
