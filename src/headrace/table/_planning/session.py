"""What statements mean in one environment: its tables, its options, and the jobs that it starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headrace.common._options import catalogue as options
from headrace.common._options.table import MINI_BATCH, TIME_ZONE
from headrace.datastream.data_stream import DataStream
from headrace.errors import SqlValidationError, UnsupportedError
from headrace.sql import statements as parsed
from headrace.sql.calls import cast
from headrace.sql.convert import Converter
from headrace.sql.expressions import Literal
from headrace.sql.rel import Calc, Column, Columns, Rel
from headrace.sql.resolve.query import QueryResolver
from headrace.sql.resolve.scope import Scope, reference
from headrace.sql.resolve.tables import TableDefinition, table_plan, written_columns
from headrace.sql.types import BIGINT, STRING
from headrace.table._connectors.connector import TableRequest
from headrace.table._connectors.registry import find_connector
from headrace.table._planning.lower import Lowering
from headrace.table._planning.streams import TableStreams
from headrace.table.result_kind import ResultKind
from headrace.table.table_result import TableResult, content_of, done

if TYPE_CHECKING:
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment


class SqlSession:
    """Runs statements; it is also what a query finds its tables by."""

    def __init__(self, env: StreamExecutionEnvironment, *, batch: bool) -> None:
        self.env = env
        self.batch = batch
        self._tables: dict[str, TableDefinition | Rel] = {}

    @property
    def time_zone(self) -> str:
        """The time zone of TIMESTAMP_LTZ."""
        zone = options.read(self.env._configuration, TIME_ZONE)
        return "UTC" if zone == "default" else zone

    # Tables of queries

    def find(self, path: Sequence[str], hints: Mapping[str, str]) -> Rel:
        """Return the plan of a table or a view."""
        name = path[-1]
        found = self._tables.get(name)
        if found is None:
            raise SqlValidationError(
                f"object {'.'.join(path)!r} not found",
                where={"tables": ", ".join(self._tables) or "none"},
            )
        if isinstance(found, Rel):
            return found
        full = ("default_catalog", "default_database", name)
        return table_plan(full, found, hints, self._converter, self.batch)

    def _converter(self, scope: Scope) -> Converter:
        return QueryResolver(self, self.batch).converter(scope)

    # Statements

    def query(self, text: str) -> Rel:
        """Return the plan of a query."""
        (statement,) = parsed.parse(text)
        if not isinstance(statement, parsed.Query):
            raise SqlValidationError("sql_query() takes a query; run others by execute_sql()")
        return QueryResolver(self, self.batch).resolve(statement.tree)

    def execute(self, text: str) -> TableResult:
        """Run one statement."""
        statements = parsed.parse(text)
        if len(statements) != 1:
            raise SqlValidationError(f"execute_sql() takes one statement, not {len(statements)}")
        return self.run(statements[0])

    def run(self, statement: parsed.Statement) -> TableResult:
        """Run a statement that was parsed."""
        match statement:
            case parsed.Query():
                return self.collect(QueryResolver(self, self.batch).resolve(statement.tree))
            case parsed.Insert():
                return self._insert([statement])
            case parsed.StatementSet():
                return self._insert(statement.inserts)
            case parsed.CreateTable():
                self._tables[statement.path[-1]] = TableDefinition(
                    statement.columns,
                    statement.options,
                    statement.watermarks,
                    statement.primary_key,
                    statement.partitioned_by,
                    statement.comment,
                )
                return done()
            case parsed.CreateView():
                self._tables[statement.path[-1]] = QueryResolver(self, self.batch).resolve(
                    statement.query
                )
                return done()
            case parsed.SetOption() if statement.key is not None:
                self.env._configuration.set_string(statement.key, statement.value or "")
                return done()
            case parsed.Explain():
                text = self._explain(statement.statement)
                return content_of((Column("result", STRING),), [[text]])
        raise UnsupportedError(f"{type(statement).__name__} is not supported in SQL")

    # Jobs

    def collect(self, rel: Rel) -> TableResult:
        """Return the rows of a plan, of a job that starts when they are taken."""
        lowering = self._lowering()
        stream = lowering.lower(rel)
        return TableResult(
            rel.columns,
            ResultKind.SUCCESS_WITH_CONTENT,
            lambda: stream.execute_and_collect("collect"),  # type: ignore[arg-type,return-value]
            changes=not self.batch,
            time_zone=self.time_zone,
        )

    def _insert(self, inserts: Sequence[parsed.Insert]) -> TableResult:
        lowering = self._lowering()
        names = []
        for each in inserts:
            self._add_sink(each, lowering)
            names.append(".".join(("default_catalog", "default_database", each.target[-1])))
        job = self.env.execute_async(f"insert-into_{','.join(names)}")
        columns = tuple(Column(name, BIGINT) for name in names)
        result = content_of(columns, [[-1] * len(names)])
        result._job = job
        return result

    def _add_sink(self, insert: parsed.Insert, lowering: Lowering) -> DataStream:
        name = insert.target[-1]
        definition = self._tables.get(name)
        if not isinstance(definition, TableDefinition):
            raise SqlValidationError(
                f"there is no table {'.'.join(insert.target)!r} to insert into"
            )
        columns = written_columns(definition)
        rel = fitted(
            QueryResolver(self, self.batch).resolve(insert.query), columns, insert.columns, name
        )
        options = dict(definition.options)
        connector = find_connector(options.pop("connector", None))
        request = TableRequest(
            name,
            columns,
            options,
            primary_key=() if definition.primary_key is None else definition.primary_key.columns,
            partition_keys=definition.partitioned_by,
            batch=self.batch,
            time_zone=self.time_zone,
        )
        stream = lowering.lower(rel)
        sink = connector.sink(request).sink
        mode = lowering.mode(rel)
        if not mode.is_accepted_by(sink.accepts):
            raise SqlValidationError(
                f"table {name!r} does not take the changes of this query",
                where={"it takes": str(sink.accepts), "the query gives": str(mode)},
                hint="insert into a table that takes changes (upsert-kafka, print), or aggregate"
                " in windows",
            )
        stream.sink_to(sink)
        return stream

    def _explain(self, statement: parsed.Statement) -> str:
        if not isinstance(statement, parsed.Query):
            raise UnsupportedError("EXPLAIN of this statement is not supported in SQL")
        rel = QueryResolver(self, self.batch).resolve(statement.tree)
        return self._lowering().lower(rel).explain()

    def _lowering(self) -> Lowering:
        streams = TableStreams(self.env, batch=self.batch, time_zone=self.time_zone)
        return Lowering(
            streams,
            batch=self.batch,
            time_zone=self.time_zone,
            mini_batch=options.read(self.env._configuration, MINI_BATCH),
        )


def fitted(rel: Rel, columns: Columns, names: Sequence[str], table: str) -> Rel:
    """Return the rows of a query with the columns of a table, by their places.

    ``names``: those that the statement gives; the others are NULL.

    Raises:
        SqlValidationError: the numbers of columns differ, or a type does not fit.
    """
    given = rel.columns
    wanted = columns
    if names:
        by_name = {column.name: column for column in columns}
        unknown = [name for name in names if name not in by_name]
        if unknown:
            raise SqlValidationError(f"table {table!r} has no column {unknown[0]!r}")
        wanted = tuple(by_name[name] for name in names)
    if len(given) != len(wanted):
        raise SqlValidationError(
            f"the query gives {len(given)} columns, and table {table!r} takes {len(wanted)}",
            where={
                "query": ", ".join(f"{each.name} {each.type}" for each in given),
                "table": ", ".join(f"{each.name} {each.type}" for each in wanted),
            },
        )
    sources = {
        column.name: cast(reference(one), column.type)
        for one, column in zip(given, wanted, strict=True)
    }
    expressions = []
    for column in columns:
        found = sources.get(column.name)
        if found is None and not column.type.nullable:
            raise SqlValidationError(f"column {column.name!r} of {table!r} cannot be NULL")
        expressions.append(Literal(column.type, None) if found is None else found)
    return Calc(rel, tuple(column.name for column in columns), tuple(expressions))
