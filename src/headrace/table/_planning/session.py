"""What statements mean in one environment: its tables, its options, and the jobs that it starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common._options import catalogue as options
from headrace.common._options.table import MINI_BATCH, STATE_TTL, TIME_ZONE
from headrace.common.changelog_mode import ChangelogMode
from headrace.common.types import row_of
from headrace.datastream.data_stream import DataStream
from headrace.errors import SqlValidationError, UnsupportedError
from headrace.sql import statements as parsed
from headrace.sql.assignment import is_assignable
from headrace.sql.calls import cast
from headrace.sql.catalog.execute import Types, execute
from headrace.sql.catalog.manager import CatalogManager
from headrace.sql.catalog.objects import CatalogTable, CatalogView, ObjectPath, PlanView
from headrace.sql.explain import explain
from headrace.sql.expressions import Literal
from headrace.sql.parsing import parse
from headrace.sql.refusals import refuse
from headrace.sql.rel import Calc, Column, Columns, Rel, StreamScan, reference
from headrace.sql.resolve.query import QueryResolver, renamed
from headrace.sql.resolve.scope import Scope, Source
from headrace.sql.resolve.tables import read_columns, table_plan, written_columns
from headrace.sql.rules.windows import with_window_aggregates
from headrace.sql.types import BIGINT, BOOLEAN, STRING, SqlType
from headrace.table._connectors.connector import TableRequest
from headrace.table._connectors.registry import find_connector
from headrace.table._planning.lower import Lowering
from headrace.table._planning.streams import TableStreams
from headrace.table.result_kind import ResultKind
from headrace.table.table_result import TableResult, content_of, done, text_result

if TYPE_CHECKING:
    from sqlglot import exp

    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
    from headrace.table.table_descriptor import TableDescriptor


@dataclass(frozen=True)
class Target:
    """A table that is written; ``path`` None: it is in no catalog."""

    path: ObjectPath | None
    definition: CatalogTable

    @property
    def name(self) -> str:
        """The name without its catalog and database."""
        return "anonymous" if self.path is None else self.path.name

    @property
    def full_name(self) -> str:
        """The name of the result's column."""
        return "anonymous" if self.path is None else ".".join(self.path)


PlannedInsert = tuple[Rel, Target, bool]
"""A plan, the table that its rows are written into, and whether they replace what is there."""


def parsed_path(text: str) -> parsed.Path:
    """Return the names of a path such as ``database.table``, with backticks where needed."""
    (statement,) = parse(f"DESCRIBE {text}")
    if not isinstance(statement, parsed.Describe):
        raise SqlValidationError(f"{text!r} is no path of a table")
    return statement.path


class SqlSession:
    """Runs statements in one environment."""

    def __init__(
        self,
        env: StreamExecutionEnvironment,
        *,
        batch: bool,
        catalog: str = "default_catalog",
        database: str = "default_database",
    ) -> None:
        self.env = env
        self.batch = batch
        self.catalogs = CatalogManager(catalog, database)
        self._program_streams: list[DataStream] = []
        self._unnamed = 0
        self._shared: Lowering | None = None

    @property
    def time_zone(self) -> str:
        """The time zone of TIMESTAMP_LTZ."""
        zone = options.read(self.env._configuration, TIME_ZONE)
        return "UTC" if zone == "default" else zone

    # Tables of queries

    def resolver(self, database: tuple[str, str] | None = None) -> QueryResolver:
        """Return a resolver of queries whose names are those of a database; None: the current."""
        current = (self.catalogs.current_catalog, self.catalogs.current_database)
        return QueryResolver(_Relations(self, database or current), self.batch, self.time_zone)

    def relation(self, path: ObjectPath, hints: Mapping[str, str]) -> Rel:
        """Return the plan of a table or a view."""
        relation = self.catalogs.relation(path).relation
        match relation:
            case PlanView():
                return relation.plan
            case CatalogView():
                return self._view(relation)
        return table_plan(path, relation, hints, self.resolver().converter, self.batch)

    def _view(self, view: CatalogView) -> Rel:
        return renamed(self.resolver(view.database).query(view.query), view.columns)

    # Tables of the program

    def resolve(self, tree: exp.Expr) -> Rel:
        """Return the plan of a query's tree."""
        return self.resolver().query(tree)

    def add_stream(self, stream: DataStream, columns: Columns) -> Rel:
        """Return the relation of a stream, whose records are rows with the columns' names."""
        self._program_streams.append(stream)
        return StreamScan(len(self._program_streams) - 1, columns)

    def add_values(self, columns: Columns, rows: Sequence[Sequence[Any]]) -> Rel:
        """Return the relation of rows that are known, with values as Arrow gives them."""
        names = tuple(column.name for column in columns)
        return self.add_stream(
            self.env.from_collection([row_of(names, [*row]) for row in rows]), columns
        )

    def register_unnamed(self, rel: Rel) -> str:
        """Register a relation under a new name, and return the name."""
        name = f"UnnamedTable${self._unnamed}"
        self._unnamed += 1
        self.catalogs.create_relation((name,), PlanView(rel), temporary=True)
        return name

    def register_table(self, table: CatalogTable) -> str:
        """Register a table under a new name, and return the name."""
        name = f"UnnamedTable${self._unnamed}"
        self._unnamed += 1
        self.catalogs.create_relation((name,), table, temporary=True)
        return name

    def target(self, given: str | TableDescriptor) -> Target:
        """Return the table of a path or a description, to be written."""
        if not isinstance(given, str):
            return Target(None, given._definition())
        path = parsed_path(given)
        return Target(self.catalogs.qualify(path), self.catalogs.table(path))

    # Statements

    def query(self, text: str) -> Rel:
        """Return the plan of a query."""
        (statement,) = parse(text)
        if not isinstance(statement, parsed.Query):
            raise SqlValidationError("sql_query() takes a query; run others by execute_sql()")
        return self.resolver().resolve(statement.tree)

    def execute(self, text: str) -> TableResult:
        """Run one statement."""
        statements = parse(text)
        if len(statements) != 1:
            raise SqlValidationError(f"execute_sql() takes one statement, not {len(statements)}")
        return self.run(statements[0])

    def run(self, statement: parsed.Statement) -> TableResult:
        """Run a statement that was parsed."""
        match statement:
            case parsed.Query():
                return self.collect(self.resolver().resolve(statement.tree))
            case parsed.Insert():
                return self._insert([statement])
            case parsed.StatementSet():
                return self._insert(statement.inserts)
            case parsed.SetOption() if statement.key is not None:
                self.env._configuration.set_string(statement.key, statement.value or "")
                return done()
            case parsed.Explain():
                return text_result(self._explain(statement))
            case parsed.Unsupported():
                raise UnsupportedError(f"{statement.name} is not supported: {statement.reason}")
            case parsed.CreateTable() if statement.query is not None:
                refuse("CREATE TABLE AS")
            case (
                parsed.CreateTable()
                | parsed.CreateView()
                | parsed.CreateFunction()
                | parsed.CreateDatabase()
                | parsed.CreateCatalog()
                | parsed.Drop()
                | parsed.Alter()
                | parsed.Use()
                | parsed.Show()
                | parsed.Describe()
            ):
                return self._define(statement)
        refuse(type(statement).__name__)

    def _define(self, statement: parsed.Statement) -> TableResult:
        types = Types(
            of_query=lambda tree: self.resolver().resolve(tree).columns,
            of_view=lambda view: self._view(view).columns,
            of_computed=self._computed_type,
        )
        listing = execute(statement, self.catalogs, types)
        if listing is None:
            return done()
        columns = tuple(
            Column(
                name,
                BOOLEAN if any(isinstance(row[place], bool) for row in listing.rows) else STRING,
            )
            for place, name in enumerate(listing.names)
        )
        return content_of(columns, [[*row] for row in listing.rows])

    def _computed_type(self, table: CatalogTable, column: parsed.ComputedColumn) -> SqlType:
        given = read_columns(table)
        scope = Scope((Source(None, tuple(each.name for each in given), given),))
        return self.resolver().converter(scope).expression(column.expression).type

    # Jobs

    def collect(self, rel: Rel) -> TableResult:
        """Return the rows of a plan, of a job that starts when they are taken."""
        lowering = self._lowering()
        stream = lowering.lower(with_window_aggregates(rel))
        return TableResult(
            rel.columns,
            ResultKind.SUCCESS_WITH_CONTENT,
            lambda: stream.execute_and_collect("collect"),  # type: ignore[arg-type,return-value]
            changes=not self.batch,
            time_zone=self.time_zone,
        )

    def _insert(self, inserts: Sequence[parsed.Insert]) -> TableResult:
        return self.insert([self.planned(each) for each in inserts])

    def planned(self, insert: parsed.Insert) -> PlannedInsert:
        """Return what an INSERT writes, and where."""
        if insert.partition:
            refuse("PARTITION in INSERT")
        target = Target(self.catalogs.qualify(insert.target), self.catalogs.table(insert.target))
        rel = self.resolver().resolve(insert.query)
        columns = written_columns(target.definition)
        rel = fitted(rel, columns, insert.columns, insert.target[-1])
        return rel, target, insert.overwrite

    def insert(self, inserts: Sequence[PlannedInsert]) -> TableResult:
        """Start one job that writes rows into tables."""
        names = self.add_sinks(inserts)
        job = self.env.execute_async(f"insert-into_{','.join(names)}")
        columns = tuple(Column(name, BIGINT) for name in names)
        result = content_of(columns, [[-1] * len(names)])
        result._job = job
        return result

    def add_sinks(self, inserts: Sequence[PlannedInsert]) -> list[str]:
        """Add sinks to the job, and return the names of the tables."""
        lowering = self._lowering()
        for rel, target, overwrite in inserts:
            self._add_sink(rel, target, overwrite, lowering)
        return [target.full_name for _, target, _ in inserts]

    def _add_sink(self, rel: Rel, target: Target, overwrite: bool, lowering: Lowering) -> None:
        name = target.name
        if overwrite:
            refuse("INSERT OVERWRITE")
        definition = target.definition
        columns = written_columns(definition)
        rel = with_window_aggregates(fitted(rel, columns, (), name))
        required = tuple(
            wanted.name
            for wanted, one in zip(columns, rel.columns, strict=True)
            if one.type.nullable and not wanted.type.nullable
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
        stream = lowering.lower_required(rel, required, name)
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

    def stream_of(self, rel: Rel) -> tuple[DataStream, ChangelogMode]:
        """Return the rows of a plan, and which kinds they have.

        Streams of one program share operators: equal plans are one stream.
        """
        rel = with_window_aggregates(rel)
        if self._shared is None:
            self._shared = self._lowering()
        return self._shared.lower(rel), self._shared.mode(rel)

    def _explain(self, explained: parsed.Explain) -> str:
        statement = explained.statement
        match statement:
            case parsed.Query():
                rel = self.resolver().resolve(statement.tree)
            case parsed.Insert():
                rel = self.resolver().resolve(statement.query)
            case _:
                refuse("EXPLAIN of this statement")
        return self.explain(rel, explained.details)

    def explain_text(self, text: str, details: Sequence[str]) -> str:
        """Return the plan of a statement."""
        (statement,) = parse(text)
        return self._explain(parsed.Explain(text=text, statement=statement, details=tuple(details)))

    def explain(self, rel: Rel, details: Sequence[str] = ()) -> str:
        """Return the plan of a relation, and of its job."""
        rel = with_window_aggregates(rel)
        lowering = self._lowering()
        with_kinds = "CHANGELOG_MODE" in details
        plan = explain(rel, lowering.mode if with_kinds else None)
        return f"== Plan ==\n{plan}\n\n== Job ==\n{lowering.lower(rel).explain()}"

    def _lowering(self) -> Lowering:
        configuration = self.env._configuration
        if options.read(configuration, STATE_TTL):
            refuse(f"the option {STATE_TTL.key}")
        streams = TableStreams(
            self.env, self._program_streams, batch=self.batch, time_zone=self.time_zone
        )
        return Lowering(
            streams,
            batch=self.batch,
            time_zone=self.time_zone,
            mini_batch=options.read(self.env._configuration, MINI_BATCH),
        )


class _Relations:
    """The tables and views that the names of a query mean in a database."""

    def __init__(self, session: SqlSession, database: tuple[str, str]) -> None:
        self._session = session
        self._database = database

    def find(self, path: Sequence[str], hints: Mapping[str, str]) -> Rel:
        """Return the plan of a table or a view."""
        if not 1 <= len(path) <= 3:
            raise SqlValidationError(f"{'.'.join(path)} is no name of a table")
        full = ObjectPath(*self._database[: 3 - len(path)], *path)
        return self._session.relation(full, hints)


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
    for one, column in zip(given, wanted, strict=True):
        if not is_assignable(one.type, column.type):
            raise SqlValidationError(
                f"column {column.name!r} of table {table!r} is {column.type}, and the query gives"
                f" {one.type}",
                hint=f"CAST({one.name} AS {column.type.summary})",
            )
    sources = {
        column.name: cast(reference(one), column.type.with_nullable(one.type.nullable))
        for one, column in zip(given, wanted, strict=True)
    }
    expressions = []
    for column in columns:
        found = sources.get(column.name)
        if found is None and not column.type.nullable:
            raise SqlValidationError(f"column {column.name!r} of {table!r} cannot be NULL")
        expressions.append(Literal(column.type, None) if found is None else found)
    return Calc(rel, tuple(column.name for column in columns), tuple(expressions))
