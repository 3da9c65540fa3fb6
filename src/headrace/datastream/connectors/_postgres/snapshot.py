"""A bounded source: a snapshot of a table, read in ranges of its key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from itertools import pairwise
from typing import Any

from headrace.common._arguments import require_non_empty
from headrace.connector import (
    Budget,
    Chunk,
    JsonValue,
    Progress,
    Source,
    SplitEnumerator,
    SplitRange,
    SplitReader,
)
from headrace.datastream.connectors._postgres.client import (
    PostgresConnection,
    identifier,
    named_row,
    table_name,
)
from headrace.datastream.connectors._postgres.keys import Key, between, columns_of, key_of
from headrace.datastream.connectors._postgres.shared_snapshot import (
    OPEN_SNAPSHOTS,
    Snapshot,
    SnapshotClient,
)
from headrace.errors import PlanError

SPLIT = "rows"
RANGE_ROWS = 5000
CHUNK_ROWS = 1000


@dataclass(frozen=True, repr=False)
class PostgresSnapshotSource(Source):
    """Reads the rows that a table has when the source is created; a bounded source.

    Fields:
        connection: ``postgresql://user@host:port/database``, or ``key=value`` pairs as for libpq.
        table: the table's name, with its schema if that is not on the search path.
        columns: the columns to read; by default all.
        key: the columns of a unique index without nulls; by default the primary key.
        password: the password, if ``connection`` does not contain it.
        type_info: the type of the records.

    Records are ``Row`` with the columns' names. All tasks read in one snapshot. The process that
    created the source keeps the snapshot, until the process ends or calls ``close``. Until then
    PostgreSQL's vacuum keeps the rows of the snapshot. Another process cannot continue reading: the
    job then fails with an error that explains this.

    Raises:
        PlanError: there is no such table or key.
        MissingExtraError: psycopg is not installed.
    """

    connection: str | PostgresConnection
    table: str
    columns: Sequence[str] = field(default=(), kw_only=True)
    key: Sequence[str] = field(default=(), kw_only=True)
    password: InitVar[str | None] = field(default=None, kw_only=True)
    type_info: Any = field(default=None, kw_only=True)
    snapshot: Snapshot = field(init=False)
    ranged_by: Key = field(init=False)

    def __post_init__(self, password: str | None) -> None:
        require_non_empty(self.table, "the table")
        for name in ("columns", "key"):
            given = getattr(self, name)
            if isinstance(given, str) or not all(isinstance(each, str) for each in given):
                raise PlanError(f"{name} must be a list of names, not {given!r}")
            object.__setattr__(self, name, tuple(given))
        if not isinstance(self.connection, PostgresConnection):
            made = PostgresConnection.of(self.connection, password=password)
            object.__setattr__(self, "connection", made)
        client = self.database.open()
        try:
            object.__setattr__(self, "ranged_by", key_of(client, self.table, self.key))
            object.__setattr__(self, "snapshot", OPEN_SNAPSHOTS.open_snapshot(client))
        except BaseException:
            client.close()
            raise

    def close(self) -> None:
        """Release the snapshot; call it after the jobs that read it."""
        OPEN_SNAPSHOTS.close_snapshot(self.snapshot)

    @property
    def bounded(self) -> bool:
        """True: the source ends after the last row."""
        return True

    @property
    def kind(self) -> str:
        return "postgres-snapshot"

    @property
    def locator(self) -> str:
        """The database and the table."""
        return f"{self.database.place} {self.table}"

    @property
    def record_type(self) -> Any | None:
        """The configured type, or None."""
        return self.type_info

    @property
    def database(self) -> PostgresConnection:
        """The connection settings."""
        assert isinstance(self.connection, PostgresConnection)
        return self.connection

    def __repr__(self) -> str:
        return f"PostgresSnapshotSource({self.locator!r})"

    def enumerator(self, directory: str) -> SplitEnumerator:
        """Return a new enumerator, which writes no files."""
        return SnapshotEnumerator(self)

    def reader(self) -> SplitReader:
        """Return a new reader, which opens a separate connection."""
        return SnapshotReader(self)


class SnapshotEnumerator(SplitEnumerator):
    """Splits the table into ranges of its key.

    A position is JSON: the snapshot, the key's columns with their types, the last planned key (as
    text), the keys between the last planned ranges, and whether the end is reached.
    """

    def __init__(self, source: PostgresSnapshotSource) -> None:
        self._source = source
        self._client = SnapshotClient(source.database)

    def initial(self, now_ms: int) -> Mapping[str, JsonValue]:
        """Return the only split, at its start."""
        snapshot, key = self._source.snapshot, self._source.ranged_by
        first = {"snapshot": [snapshot.name, snapshot.sees], "key": key}
        return {SPLIT: {**first, "at": None, "cuts": [], "end": False}}

    def advance(
        self,
        positions: Mapping[str, JsonValue],
        budget: Budget,
        now_ms: int,
        paused: frozenset[str],
    ) -> Progress:
        """Plan as many rows as the budget allows."""
        if SPLIT not in positions:
            return Progress({}, ended=True)
        position = positions[SPLIT]
        if SPLIT in paused:
            return Progress({SPLIT: position})
        connection = self._client.begin(Snapshot(*position["snapshot"]))
        try:
            after, ended = self._move_position(connection, position, max(budget.max_records, 1))
        finally:
            self._client.rollback()
        if ended:
            return Progress({}, {SPLIT: after}, ended=True)
        return Progress({SPLIT: after})

    def _move_position(self, connection: Any, position: Any, left: int) -> tuple[JsonValue, bool]:
        """Return the position ``left`` rows later, and True if the table ends before it."""
        at, cuts = position["at"], list[list[str]]()
        while left > 0:
            step = min(left, RANGE_ROWS)
            at = self._key_after(connection, position["key"], at, step)
            if at is None:
                return {**position, "at": None, "cuts": cuts, "end": True}, True
            cuts.append(at)
            left -= step
        return {**position, "at": at, "cuts": cuts}, False

    def ranges(
        self, start: Mapping[str, JsonValue], end: Mapping[str, JsonValue], finished: frozenset[str]
    ) -> Sequence[SplitRange]:
        """Return the rows between two keys each; the very last range has no upper key."""
        if SPLIT not in start or start[SPLIT] == end[SPLIT]:
            return []
        last = end[SPLIT]
        cuts = [start[SPLIT]["at"], *last["cuts"], *([None] if last["end"] else [])]
        payload = (Snapshot(*last["snapshot"]), last["key"])
        return [SplitRange(SPLIT, at, to, payload, RANGE_ROWS) for at, to in pairwise(cuts)]

    def close(self) -> None:
        """Close the connection; the snapshot belongs to the source."""
        self._client.close()

    def _key_after(self, connection: Any, key: Key, at: Any, step: int) -> list[str] | None:
        """Return the key of the row ``step`` rows further; None if the table ends before that."""
        where, values = between(key, at, None)
        texts = ", ".join(f"{identifier(name)}::text" for name, _ in key)
        sql = (
            f"SELECT {texts} FROM {table_name(self._source.table)} {where} "
            f"ORDER BY {columns_of(key)} OFFSET %s LIMIT 1"
        )
        row = connection.execute(sql, (*values, step - 1)).fetchone()
        return None if row is None else list(row)


class SnapshotReader(SplitReader):
    """Reads ranges in the program's snapshot."""

    def __init__(self, source: PostgresSnapshotSource) -> None:
        self._source = source
        self._client = SnapshotClient(source.database)

    def read(self, split_range: SplitRange) -> Iterator[Chunk]:
        """Yield the rows of a range, ordered by key.

        Raises:
            CheckpointError: the snapshot no longer exists.
        """
        snapshot, key = split_range.payload
        where, values = between(key, split_range.start, split_range.end)
        read = ", ".join(map(identifier, self._source.columns)) or "*"
        table = table_name(self._source.table)
        sql = f"SELECT {read} FROM {table} {where} ORDER BY {columns_of(key)}"
        connection = self._client.begin(snapshot)
        try:
            with connection.cursor("headrace") as cursor:
                cursor.execute(sql, values)
                names = [column.name for column in cursor.description]
                while rows := cursor.fetchmany(CHUNK_ROWS):
                    yield Chunk([named_row(names, row) for row in rows])
        finally:
            self._client.rollback()

    def close(self) -> None:
        """Close the connection."""
        self._client.close()
