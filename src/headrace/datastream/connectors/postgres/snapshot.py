"""A bounded source: a table as it was at one moment, read in ranges of its primary key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from itertools import pairwise
from typing import Any

from headrace.common.arguments import non_empty
from headrace.common.types import Row
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
from headrace.datastream.connectors.postgres.client import (
    PostgresConnection,
    identifier,
    psycopg,
    table_name,
)
from headrace.datastream.connectors.postgres.held_snapshots import HELD
from headrace.datastream.connectors.postgres.keys import between, columns_of, key_of
from headrace.errors import CheckpointError, PlanError

SPLIT = "rows"
RANGE_ROWS = 5000
CHUNK_ROWS = 1000
_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


@dataclass(frozen=True, repr=False)
class PostgresSnapshotSource(Source):
    """The rows of a table, as they were when the job began; a bounded source.

    Fields:
        connection: ``postgresql://user@host:port/database``, or ``key=value`` pairs as for libpq.
        table: with its schema, if it is not on the search path.
        columns: those that are read; all unless given.
        key: the columns of a unique index without nulls; the primary key unless given.
        password: in place of one in ``connection``.
        type_info: the type of the records, for the stream after it.

    Records are ``Row`` with the columns' names. All tasks read in one snapshot, which the driver
    keeps open: a job that is started again after its driver has ended cannot go on reading, and
    says so.

    Raises:
        PlanError: an argument is no name.
        MissingExtraError: psycopg is not installed.
    """

    connection: str | PostgresConnection
    table: str
    columns: Sequence[str] = field(default=(), kw_only=True)
    key: Sequence[str] = field(default=(), kw_only=True)
    password: InitVar[str | None] = field(default=None, kw_only=True)
    type_info: Any = field(default=None, kw_only=True)

    def __post_init__(self, password: str | None) -> None:
        non_empty(self.table, "the table")
        for name in ("columns", "key"):
            given = getattr(self, name)
            if isinstance(given, str) or not all(isinstance(each, str) for each in given):
                raise PlanError(f"{name} are a list of names, not {given!r}")
            object.__setattr__(self, name, tuple(given))
        if not isinstance(self.connection, PostgresConnection):
            made = PostgresConnection.of(self.connection, password=password)
            object.__setattr__(self, "connection", made)

    @property
    def bounded(self) -> bool:
        """True: it ends after the last row."""
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
        """The type that was given."""
        return self.type_info

    @property
    def database(self) -> PostgresConnection:
        """How to reach it."""
        assert isinstance(self.connection, PostgresConnection)
        return self.connection

    def __repr__(self) -> str:
        return f"PostgresSnapshotSource({self.locator!r})"

    def enumerator(self, directory: str) -> SplitEnumerator:
        """A new enumerator; it writes nothing."""
        return SnapshotEnumerator(self)

    def reader(self) -> SplitReader:
        """A new reader, with a connection of its own."""
        return SnapshotReader(self)


class SnapshotEnumerator(SplitEnumerator):
    """Cuts the table into ranges of its key.

    A position is JSON: the name of the snapshot, the columns of the key with their types, the last
    key of what was planned (as texts), the keys at which the last step cut, and whether it is the
    end.
    """

    def __init__(self, source: PostgresSnapshotSource) -> None:
        self._source = source
        self._first: dict[str, JsonValue] | None = None
        self._names: set[str] = set()

    def initial(self, now_ms: int) -> Mapping[str, JsonValue]:
        """The only split, in a snapshot that is taken now."""
        if self._first is None:
            name = HELD.take(self._source.database)
            self._names.add(name)
            key = key_of(self._connection(name), self._source.table, self._source.key)
            self._first = {"snapshot": name, "key": key, "at": None, "cuts": [], "end": False}
        return {SPLIT: self._first}

    def advance(
        self,
        positions: Mapping[str, JsonValue],
        budget: Budget,
        now_ms: int,
        paused: frozenset[str],
    ) -> Progress:
        """As many rows as the budget allows."""
        if SPLIT not in positions:
            return Progress({}, ended=True)
        position = positions[SPLIT]
        if SPLIT in paused:
            return Progress({SPLIT: position})
        connection = self._connection(position["snapshot"])
        at, left = position["at"], max(budget.max_records, 1)
        cuts: list[list[str]] = []
        while left > 0:
            step = min(left, RANGE_ROWS)
            at = self._after(connection, position["key"], at, step)
            if at is None:
                end = {**position, "at": None, "cuts": cuts, "end": True}
                return Progress({}, {SPLIT: end}, ended=True)
            cuts.append(at)
            left -= step
        return Progress({SPLIT: {**position, "at": at, "cuts": cuts}})

    def ranges(
        self, start: Mapping[str, JsonValue], end: Mapping[str, JsonValue], finished: frozenset[str]
    ) -> Sequence[SplitRange]:
        """The rows between two keys each; the last range of all has no upper one."""
        if SPLIT not in start or start[SPLIT] == end[SPLIT]:
            return []
        last = end[SPLIT]
        cuts = [start[SPLIT]["at"], *last["cuts"], *([None] if last["end"] else [])]
        payload = (last["snapshot"], last["key"])
        return [SplitRange(SPLIT, above, to, payload, RANGE_ROWS) for above, to in pairwise(cuts)]

    def close(self) -> None:
        """Let the snapshots go, after a while."""
        for name in self._names:
            HELD.release(self._source.database, name)

    def _connection(self, name: str) -> Any:
        found = HELD.connection(self._source.database, name)
        if found is None:
            raise _lost(self._source)
        self._names.add(name)
        return found

    def _after(self, connection: Any, key: Any, at: Any, step: int) -> list[str] | None:
        """The key of the row so many rows further; None where the table ends before."""
        where, values = between(key, at, None)
        columns = columns_of(key)
        texts = ", ".join(f"{identifier(name)}::text" for name, _ in key)
        sql = (
            f"SELECT {texts} FROM {table_name(self._source.table)} {where} "
            f"ORDER BY {columns} OFFSET %s LIMIT 1"
        )
        row = connection.execute(sql, (*values, step - 1)).fetchone()
        return None if row is None else list(row)


class SnapshotReader(SplitReader):
    """Reads ranges in the snapshot that the enumerator keeps."""

    def __init__(self, source: PostgresSnapshotSource) -> None:
        self._source = source
        self._connection: Any = None

    def read(self, split_range: SplitRange) -> Iterator[Chunk]:
        """The rows of a range, in the order of the key.

        Raises:
            CheckpointError: the snapshot is no more.
        """
        snapshot, key = split_range.payload
        where, values = between(key, split_range.start, split_range.end)
        read = ", ".join(map(identifier, self._source.columns)) or "*"
        table = table_name(self._source.table)
        sql = f"SELECT {read} FROM {table} {where} ORDER BY {columns_of(key)}"
        connection = self._begun(snapshot)
        try:
            with connection.cursor("headrace") as cursor:
                cursor.execute(sql, values)
                names = [column.name for column in cursor.description]
                while rows := cursor.fetchmany(CHUNK_ROWS):
                    yield Chunk([_row(names, row) for row in rows])
        finally:
            if not connection.closed:
                connection.rollback()

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()

    def _begun(self, snapshot: str) -> Any:
        if self._connection is None or self._connection.closed:
            self._connection = self._source.database.open()
        connection = self._connection
        connection.rollback()  # a reading that was given up may have left its transaction
        connection.execute(_BEGIN)
        try:
            connection.execute(f"SET TRANSACTION SNAPSHOT '{snapshot}'")
        except psycopg().Error as error:
            connection.rollback()
            if error.sqlstate in ("22023", "42704"):  # invalid or unknown
                raise _lost(self._source) from None
            raise
        return connection


def _lost(source: PostgresSnapshotSource) -> CheckpointError:
    return CheckpointError(
        "the snapshot that the job began to read has ended, and the table may have changed since",
        where={"source": source.locator},
        hint="PostgreSQL keeps it as long as the driver runs; begin with an empty checkpoint",
    )


def _row(names: list[str], values: Sequence[Any]) -> Row:
    row = Row(*values)
    row.set_field_names(names)
    return row
