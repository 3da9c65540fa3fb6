"""A log in SQLite as source and sink, exactly once: the worked example of a connector.

Splits are the log's partitions, positions the ids of records. The sink commits by task: records
and marker in one transaction.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from headrace.connector import (
    Budget,
    Chunk,
    CommitBy,
    CommitterContext,
    JsonValue,
    Progress,
    Sink,
    SinkWriter,
    Source,
    SplitEnumerator,
    SplitRange,
    SplitReader,
    WriterContext,
)

Positions = Mapping[str, JsonValue]
CHUNK_RECORDS = 1000
TABLES = """
    CREATE TABLE log (id INTEGER PRIMARY KEY AUTOINCREMENT, part TEXT, value TEXT);
    CREATE TABLE read_up_to (part TEXT PRIMARY KEY, id INTEGER);
    CREATE TABLE marker (sink TEXT, task INTEGER, batch INTEGER, PRIMARY KEY (sink, task));
"""
AHEAD = """
    SELECT max(id), count(*) FROM
    (SELECT id FROM log WHERE part = ? AND id >= ? ORDER BY id LIMIT ?)
"""
RANGE = "SELECT value FROM log WHERE part = ? AND id >= ? AND id < ? ORDER BY id"
LAST = "SELECT coalesce(max(batch), -1) FROM marker WHERE sink = ?"


def connect(path: str) -> sqlite3.Connection:
    """A connection in which every statement is a transaction unless BEGIN says otherwise."""
    return sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)


@dataclass(frozen=True)
class SqliteLogSource(Source):
    """The records of a log from the id ``first`` on; if ``bounded``, those that are there."""

    path: str
    first: int = 1
    bounded: bool = True

    def enumerator(self, directory: str) -> SplitEnumerator:
        return SqliteLogEnumerator(self, connect(self.path))

    def reader(self) -> SplitReader:
        return SqliteLogReader(self.path)


@dataclass
class SqliteLogEnumerator(SplitEnumerator):
    source: SqliteLogSource
    client: sqlite3.Connection

    def initial(self, now_ms: int) -> Positions:
        return dict.fromkeys(self._partitions(), self.source.first)

    def advance(
        self, positions: Positions, budget: Budget, now_ms: int, paused: frozenset[str]
    ) -> Progress:
        new = [] if self.source.bounded else set(self._partitions()) - positions.keys()
        started = dict.fromkeys(sorted(new), self.source.first)
        after: dict[str, JsonValue] = {**positions, **started}
        finished: dict[str, JsonValue] = {}
        active = sorted(after.keys() - paused)
        take = max(budget.max_records // max(len(active), 1), 1)
        for split in active:
            last, count = self.client.execute(AHEAD, (split, after[split], take)).fetchone()
            if count:
                after[split] = last + 1
            if self.source.bounded and count < take:
                finished[split] = after.pop(split)
        return Progress(after, finished, self.source.bounded and not after, started)

    def ranges(
        self, start: Positions, end: Positions, finished: frozenset[str]
    ) -> Sequence[SplitRange]:
        both = [(split, start[split], to) for split, to in sorted(end.items())]
        return [SplitRange(split, at, to, records=to - at) for split, at, to in both if at < to]

    def committed(self, positions: Positions) -> None:
        with self.client:
            self.client.execute("BEGIN IMMEDIATE")
            self.client.executemany("REPLACE INTO read_up_to VALUES (?, ?)", positions.items())

    def close(self) -> None:
        self.client.close()

    def _partitions(self) -> list[str]:
        return [part for (part,) in self.client.execute("SELECT DISTINCT part FROM log ORDER BY 1")]


@dataclass
class SqliteLogReader(SplitReader):
    path: str

    def read(self, split_range: SplitRange) -> Iterator[Chunk]:
        with closing(connect(self.path)) as client:
            rows = client.execute(RANGE, (split_range.split, split_range.start, split_range.end))
            while values := [json.loads(value) for (value,) in islice(rows, CHUNK_RECORDS)]:
                yield Chunk(values)


@dataclass(frozen=True)
class SqliteLogSink(Sink):
    """Appends records to a log; the tasks are its partitions."""

    path: str
    commits = CommitBy.TASK

    def writer(self, context: WriterContext) -> SinkWriter:
        return SqliteLogWriter(context, context.shared("client", lambda: connect(self.path)))

    def last_batch(self, context: CommitterContext) -> int:
        with closing(connect(self.path)) as client:
            last: int = client.execute(LAST, (context.sink_id,)).fetchone()[0]
        return last


@dataclass
class SqliteLogWriter(SinkWriter):
    context: WriterContext
    client: sqlite3.Connection
    rows: list[tuple[str, str]] = field(default_factory=list)

    def write(self, values: Sequence[Any], timestamps: Sequence[int | None]) -> None:
        part = str(self.context.partition)
        self.rows += [(part, json.dumps(value)) for value in values]

    def prepare_commit(self) -> None:
        sink, task, batch = self.context.sink_id, self.context.partition, self.context.batch_id
        with self.client:
            self.client.execute("BEGIN IMMEDIATE")  # no other attempt may look or write now
            marker = "SELECT batch FROM marker WHERE sink = ? AND task = ?"
            last = self.client.execute(marker, (sink, task)).fetchone()
            if last is None or last[0] < batch:
                self.client.executemany("INSERT INTO log (part, value) VALUES (?, ?)", self.rows)
                self.client.execute("REPLACE INTO marker VALUES (?, ?, ?)", (sink, task, batch))
