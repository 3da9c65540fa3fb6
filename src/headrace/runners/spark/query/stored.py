"""Conversion between records of Spark's state stores and state backends."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from headrace.runners.spark.query.wire import bucket_keys
from headrace.runtime.block import ALL_GROUPS
from headrace.runtime.program import JobProgram, VertexProgram
from headrace.runtime.savepoint.job_state import Backends, create_savepoint, restore_savepoint
from headrace.runtime.savepoint.savepoint import Savepoint
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.pages.backend import HEADER, PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages

StoredRecord = tuple[int, str, bytes]
"""Bucket, name and data of a record."""


def vertex_of(name: str) -> str:
    """Return the vertex of a record ``<vertex>/<group>/<page>``."""
    return name.rsplit("/", 2)[0]


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
) -> list[tuple[int, int, str, bytes]]:
    """Redistribute the records of vertices with operator state to their number of instances.

    ``before``: the earlier numbers of instances. The records' stage is 0.
    """
    then = tuple(replace(vertex, groups=before[vertex.id]) for vertex in vertices)
    was, now = (replace(program, stages=(each,)) for each in (then, vertices))
    savepoint = create_savepoint(was, backends_of(was, stored), {}, {}, 0)
    return [(r["bucket"], 0, r["name"], r["data"]) for r in records_of(savepoint, now)]


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


def records_of(savepoint: Savepoint, program: JobProgram) -> Iterator[dict[str, Any]]:
    """Yield a savepoint as records of Spark's state stores, with stage and bucket."""
    keys, page_bytes = bucket_keys(program.partitions), program.settings.page_bytes
    stages = {vertex.id: vertex.stage for stage in program.stages for vertex in stage}
    pages: dict[tuple[str, int], MemoryPages] = {}

    def backend_of(vertex: VertexProgram, group: int) -> StateBackend:
        pages_of_group = pages[vertex.id, group] = MemoryPages()
        return PagedBackend(pages_of_group, vertex.max_parallelism_of(group), page_bytes)

    restore_savepoint(savepoint, program, backend_of)
    headers: dict[tuple[int, int], dict[str, bytes]] = {}
    for (vertex, group), pages_of_group in pages.items():
        stage = stages[vertex]
        for bucket in keys if group == ALL_GROUPS else [keys[group % len(keys)]]:
            for name, data in pages_of_group.records.items():
                if name == HEADER:
                    headers.setdefault((stage, bucket), {})[f"{vertex}/{group}/"] = data
                else:
                    record = f"{vertex}/{group}/{name}"
                    yield {"bucket": bucket, "stage": stage, "name": record, "data": data}
    for (stage, bucket), group_headers in headers.items():
        data = pickle.dumps(group_headers, 5)
        yield {"bucket": bucket, "stage": stage, "name": HEADER, "data": data}
