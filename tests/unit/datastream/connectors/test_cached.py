"""The files of a cached stream, by the contract of sources and sinks."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from headrace.connector import Budget, CommitterContext, Sink, Source, WriterContext
from headrace.datastream.connectors import _cached as cached
from headrace.datastream.connectors._cached import CacheSink, CacheSource
from headrace.testing._contracts import SinkContract, SourceContract


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cached, "CHUNK_RECORDS", 7)


def keep(folder: Path, values: Sequence[Any], times: Sequence[int | None]) -> None:
    """Two micro-batches by two tasks each."""
    sink, half = CacheSink(str(folder)), len(values) // 2
    committer = sink.committer(CommitterContext("sink", "job"))
    for batch, piece in enumerate((slice(half), slice(half, None))):
        prepared = []
        for task in range(2):
            writer = sink.writer(WriterContext("sink", "job", batch, task, "a"))
            writer.write(values[piece][task::2], times[piece][task::2])
            prepared.append(writer.prepare_commit())
        committer.commit(batch, prepared)
    committer.finish()


class TestSource(SourceContract):
    def make_source(self, folder: Path) -> Source:
        keep(folder, range(100), [None] * 100)
        return CacheSource(str(folder))

    def expected(self) -> Sequence[Any]:
        return range(100)


class TestSink(SinkContract):
    def make_sink(self, folder: Path) -> Sink:
        return CacheSink(str(folder))

    def values(self, count: int) -> list[Any]:
        return [f"record {index}" for index in range(count)]

    def published(self, folder: Path) -> list[Any]:
        if not CacheSource(str(folder)).is_complete:
            return []
        found: list[Any] = []
        for name, chunks in json.loads((folder / cached.COMPLETE).read_text()):
            with open(folder / name, "rb") as file:
                found += (value for _ in chunks for value in pickle.load(file)[0])
        return found


def test_timestamps_are_kept_where_there_are_any(tmp_path: Path) -> None:
    values: list[Any] = [("a", 1), None, "b", {"c": 2}]
    keep(tmp_path, values, [5, None, 7, None])
    source = CacheSource(str(tmp_path))
    enumerator, reader = source.enumerator(""), source.reader()
    start = enumerator.initial(0)
    found = enumerator.advance(start, Budget(100, 100), 0, frozenset())
    ranges = enumerator.ranges(start, dict(found.finished), frozenset(found.finished))
    chunks = [chunk for one in ranges for chunk in reader.read(one)]
    assert [chunk.values for chunk in chunks] == [[value] for value in values]
    assert [chunk.timestamps for chunk in chunks] == [[5], None, [7], None]


def test_an_unfinished_job_leaves_nothing_to_read(tmp_path: Path) -> None:
    sink = CacheSink(str(tmp_path))
    writer = sink.writer(WriterContext("sink", "job", 0, 0, "a"))
    writer.write([1], [None])
    committer = sink.committer(CommitterContext("sink", "job"))
    committer.commit(0, [writer.prepare_commit()])
    assert not CacheSource(str(tmp_path)).is_complete
    committer.finish()
    assert CacheSource(str(tmp_path)).is_complete
