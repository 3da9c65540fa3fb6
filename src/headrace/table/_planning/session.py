"""What statements mean in one environment: its tables, its options, and the jobs that it starts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.common._options import catalogue as options
from headrace.common._options.table import (
    CATALOG_STORE,
    CATALOG_STORE_PATH,
    DML_SYNC,
    DUPLICATES,
    MAX_COLUMN_WIDTH,
    MINI_BATCH,
    NOT_NULL_ENFORCER,
    STATE_TTL,
    TIME_ZONE,
    UPSERT_MATERIALIZE,
)
from headrace.common.changelog_mode import ChangelogMode
from headrace.common.types import row_of
from headrace.datastream._build import execution
from headrace.datastream._streams.closeable_iterator import CloseableIterator
from headrace.datastream.data_stream import DataStream
from headrace.errors import (
    CatalogError,
    ConfigurationError,
    HeadraceError,
    SqlValidationError,
    UnsupportedError,
)
from headrace.sql import statements as parsed
from headrace.sql.catalog.execute import Types, create_table, execute
from headrace.sql.catalog.manager import CatalogManager, open_catalog
from headrace.sql.catalog.memory import Catalog
from headrace.sql.catalog.objects import (
    CatalogDescription,
    CatalogTable,
    CatalogView,
    ObjectPath,
    PlanView,
)
from headrace.sql.catalog.store import FileCatalogStore
from headrace.sql.explain import explain, explain_sink
from headrace.sql.parsing import parse
from headrace.sql.places import PLACED, not_too_deep, placed_by
from headrace.sql.python_function import PythonFunction
from headrace.sql.refusals import refuse
from headrace.sql.rel import Column, Columns, Rel, StreamRows, StreamScan
from headrace.sql.resolve.fitting import fitted_insert
from headrace.sql.resolve.query import QueryResolver, renamed
from headrace.sql.resolve.scope import Scope, Source
from headrace.sql.resolve.sources import options_of
from headrace.sql.resolve.tables import read_columns, table_plan
from headrace.sql.rules.advice import advice_of
from headrace.sql.rules.state_growth import growing_state
from headrace.sql.types import BIGINT, BOOLEAN, STRING, SqlType
from headrace.table._connectors.spark import catalog as spark
from headrace.table._functions.asynchronous import AsyncSettings
from headrace.table._functions.registry import definition_of
from headrace.table._planning.jobs import StartedJobs
from headrace.table._planning.lower import Lowering
from headrace.table._planning.overridden import with_functions_of_user
from headrace.table._planning.settings import SessionSettings
from headrace.table._planning.sinks import TableSinks, required_of_result
from headrace.table._planning.streams import TableStreams
from headrace.table._planning.targets import PlannedInsert, Target
from headrace.table._planning.windows import emit_options
from headrace.table.result_kind import ResultKind
from headrace.table.table_result import TableResult, content_of, done, text_result

if TYPE_CHECKING:
    from sqlglot import exp

    from headrace.common.configuration import Configuration
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
    from headrace.table.table_descriptor import TableDescriptor


def parsed_path(text: str) -> parsed.Path:
    """Return the names of a path such as ``database.table``, with backticks where needed.

    Reserved words need none, as in Flink.
    """
    if re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", text):
        return tuple(text.split("."))
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
        catalog: str = "default_catalog",
        database: str = "default_database",
    ) -> None:
        self.env = env
        store = _catalog_store(env._configuration)
        self.catalogs = CatalogManager(catalog, database, self._open_catalog, store)
        self.jobs = StartedJobs()
        self.settings = SessionSettings(env._configuration)
        self._statement_set: list[PlannedInsert | parsed.CreateTable] | None = None
        self._program_streams: list[DataStream] = []
        self._unnamed = 0
        self._shared: Lowering | None = None

    @property
    def batch(self) -> bool:
        """Whether statements run as batches."""
        return options.read(self.env._configuration, options.RUNTIME_MODE) == "BATCH"

    @property
    def time_zone(self) -> str:
        """The time zone of TIMESTAMP_LTZ."""
        zone = options.read(self.env._configuration, TIME_ZONE)
        return "UTC" if zone == "default" else zone

    # Tables of queries

    def resolver(self, database: tuple[str, str] | None = None) -> QueryResolver:
        """Return a resolver of queries whose names are those of a database; None: the current."""
        current = (self.catalogs.current_catalog, self.catalogs.current_database)
        names = database or current
        functions = _Functions(self.catalogs, names)
        return QueryResolver(
            _Relations(self, names), self.batch, self.time_zone, functions=functions
        )

    def relation(self, path: ObjectPath, hints: Mapping[str, str]) -> Rel:
        """Return the plan of a table or a view."""
        relation = self.catalogs.relation(path).relation
        if hints and not isinstance(relation, CatalogTable):
            raise SqlValidationError(f"{path} is a view, and OPTIONS are those of a table")
        match relation:
            case PlanView():
                return relation.plan
            case CatalogView():
                try:
                    return self._view(relation)
                except PLACED as error:
                    error.where.setdefault("view", str(path))
                    raise
        return table_plan(path, relation, hints, self.resolver().converter, self.batch)

    def _view(self, view: CatalogView) -> Rel:
        return renamed(self.resolver(view.database).query(view.query), view.columns)

    # Tables of the program

    def resolve(self, tree: exp.Expr) -> Rel:
        """Return the plan of a tree of the Table API."""
        resolver = self.resolver()
        return resolver.query(with_functions_of_user(tree, resolver.functions))

    def add_stream(
        self,
        stream: DataStream,
        columns: Columns,
        *,
        name: str = "",
        gives: StreamRows = "inserts",
        primary_key: tuple[str, ...] = (),
    ) -> Rel:
        """Return the relation of a stream, whose records are rows with the columns' names.

        ``name``: what says in later programs that it is the same stream; "": its number.
        """
        number = len(self._program_streams)
        self._program_streams.append(stream)
        return StreamScan(number, columns, name or str(number), gives, primary_key)

    def add_values(self, columns: Columns, rows: Sequence[Sequence[Any]]) -> Rel:
        """Return the relation of rows that are known, with values as Arrow gives them."""
        names = tuple(column.name for column in columns)
        with self.env._job_apart():
            stream = self.env.from_collection([row_of(names, [*row]) for row in rows])
        return self.add_stream(stream, columns)

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

    def target(self, given: str | TableDescriptor, columns: Columns) -> Target:
        """Return the table of a path or a description, to be written.

        ``columns``: those of the rows, which a description without a schema takes.
        """
        if not isinstance(given, str):
            return Target(None, given._definition(columns))
        path = parsed_path(given)
        return Target(self.catalogs.qualify(path), self.catalogs.table(path))

    # Statements

    def query(self, text: str) -> Rel:
        """Return the plan of a query."""
        (statement,) = parse(text)
        if not isinstance(statement, parsed.Query):
            raise SqlValidationError("sql_query() takes a query; run others by execute_sql()")
        with not_too_deep():
            return self.resolver().resolve(statement.tree)

    def execute(self, text: str) -> TableResult:
        """Run one statement."""
        statements = parse(text)
        if len(statements) != 1:
            raise SqlValidationError(f"execute_sql() takes one statement, not {len(statements)}")
        return self.run(statements[0])

    def run(self, statement: parsed.Statement) -> TableResult:
        """Run a statement that was parsed."""
        with placed_by(statement):
            return self._run(statement)

    def _run(self, statement: parsed.Statement) -> TableResult:
        if self._statement_set is not None:
            return self._add_to_set(self._statement_set, statement)
        match statement:
            case parsed.Query():
                return self.collect(self.resolver().resolve(statement.tree))
            case parsed.Insert():
                return self._insert([statement])
            case parsed.StatementSet():
                return self._insert(statement.inserts)
            case parsed.BeginStatementSet():
                self._statement_set = []
                return done()
            case parsed.EndStatementSet():
                raise SqlValidationError(
                    "there is no statement set to end", hint="BEGIN STATEMENT SET begins one"
                )
            case parsed.SetOption(key=None):
                return self.settings.show()
            case parsed.SetOption(key=str(key), value=value):
                return self.settings.set(key, value or "")
            case parsed.ResetOption():
                return self.settings.reset(statement.key)
            case parsed.Show(what="JOBS"):
                return self.jobs.show()
            case parsed.Describe(kind="JOB", path=(id_,)):
                return self.jobs.describe(id_)
            case parsed.StopJob():
                below = options.read(self.env._configuration, options.SAVEPOINT_DIR)
                return self.jobs.stop(statement, below)
            case parsed.Explain():
                return text_result(self._explain(statement))
            case parsed.Unsupported():
                raise UnsupportedError(f"{statement.name} is not supported: {statement.reason}")
            case parsed.CreateCatalog() if dict(statement.options).get("type") == spark.TYPE:
                return self._create_spark_catalog(statement)
            case parsed.CreateTable() if statement.query is not None:
                return self._insert_all([self._checked_create_as(statement, statement.query)])
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

    def _add_to_set(
        self, added: list[PlannedInsert | parsed.CreateTable], statement: parsed.Statement
    ) -> TableResult:
        """Add a statement to the set that was begun, or run the set at its END."""
        match statement:
            case parsed.Insert():
                added.append(self.planned(statement))
                return done()
            case parsed.CreateTable() if statement.query is not None:
                added.append(self._checked_create_as(statement, statement.query))
                return done()
            case parsed.EndStatementSet():
                self._statement_set = None
                return self._insert_all(added) if added else done()
        raise SqlValidationError(
            "a statement set has INSERT and CREATE TABLE AS only",
            hint="END runs the statement set that was begun",
        )

    def _create_spark_catalog(self, statement: parsed.CreateCatalog) -> TableResult:
        if statement.name not in self.catalogs.catalogs() or not statement.if_not_exists:
            made = self._open_catalog(statement.name, statement.options)
            description = CatalogDescription(statement.options, statement.comment)
            self.catalogs.register_catalog(statement.name, made, description)
        return done()

    def _open_catalog(self, name: str, options: parsed.Options) -> Catalog:
        if dict(options).get("type") != spark.TYPE:
            return open_catalog(name, options)
        others = [key for key, _ in options if key != "type"]
        if others:
            raise CatalogError(f"a catalog of Spark has no option '{others[0]}'")
        from headrace.runners.launch import spark_tables

        return spark.SparkCatalog(spark_tables(self.env._configuration))

    def _checked_create_as(
        self, statement: parsed.CreateTable, query: exp.Expr
    ) -> parsed.CreateTable:
        """Return CREATE TABLE AS; raise what is wrong before its table is made."""
        if statement.temporary:
            refuse("CREATE TEMPORARY TABLE AS")
        self.resolver().resolve(query)
        path = self.catalogs.qualify(statement.path)
        if statement.must_exist and self.catalogs.find(path) is None:
            raise CatalogError(f"there is no table {path}, which would be replaced")
        return statement

    def _insert_all(self, added: Sequence[PlannedInsert | parsed.CreateTable]) -> TableResult:
        """Create the tables of CREATE TABLE AS, and start the job that writes into all tables.

        If the job cannot be started, the catalogs are as they were.
        """
        undo: list[Callable[[], None]] = []
        try:
            return self.insert(
                [
                    each if isinstance(each, PlannedInsert) else self._create_as(each, undo)
                    for each in added
                ]
            )
        except HeadraceError:
            for each in reversed(undo):
                each()
            raise

    def _create_as(
        self, statement: parsed.CreateTable, undo: list[Callable[[], None]]
    ) -> PlannedInsert:
        """Create a table; return what writes a query's rows into it. ``undo``: drops the table."""
        query = statement.query
        assert query is not None
        path = self.catalogs.qualify(statement.path)
        before = self.catalogs.find(path)
        names = tuple(each.name for each in self.resolver().resolve(query).columns)
        if before is not None and statement.if_not_exists:
            names = ()  # the rows are written into the table that is there, as in Flink
        create_table(statement, self.catalogs, self._types)
        if before is None:
            undo.append(lambda: self.catalogs.drop_relation(path, "table"))
        else:
            undo.append(partial(self.catalogs.replace_relation, path, before.relation))
        insert = parsed.Insert(text=statement.text, target=path, query=query, columns=names)
        return self.planned(insert)

    @property
    def _types(self) -> Types:
        return Types(
            of_query=lambda tree: self.resolver().resolve(tree).columns,
            of_view=lambda view: self._view(view).columns,
            of_computed=self._computed_type,
            check=self._check_table,
            batch=self.batch,
        )

    def _define(self, statement: parsed.Statement) -> TableResult:
        listing = execute(statement, self.catalogs, self._types)
        if listing is None:
            return done()
        if isinstance(statement, parsed.Show) and statement.what.startswith("CREATE"):
            return text_result(listing.rows[0][0])
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

    def _check_table(self, table: CatalogTable) -> None:
        table_plan(("", "", ""), table, {}, self.resolver().converter, self.batch)

    # Jobs

    def collect(self, rel: Rel) -> TableResult:
        """Return the rows of a plan, of a job that starts when they are taken."""
        lowering = self._lowering()
        planned = lowering.planned(rel)
        drops = options.read(self.env._configuration, NOT_NULL_ENFORCER) == "DROP"
        required = required_of_result(planned)
        with self.env._job_apart():
            stream = lowering.lower_required(planned, required, "collect", drops)

        def rows() -> CloseableIterator:
            with self.env._job_apart():
                return stream.execute_and_collect(self._job_name("collect"))  # type: ignore[return-value]

        return TableResult(
            rel.columns,
            ResultKind.SUCCESS_WITH_CONTENT,
            rows,
            changes=not self.batch,
            time_zone=self.time_zone,
            max_width=options.read(self.env._configuration, MAX_COLUMN_WIDTH),
        )

    def _insert(self, inserts: Sequence[parsed.Insert]) -> TableResult:
        return self.insert([self.planned(each) for each in inserts])

    def planned(self, insert: parsed.Insert) -> PlannedInsert:
        """Return what an INSERT writes, and where."""
        with placed_by(insert):
            return self._planned(insert)

    def _planned(self, insert: parsed.Insert) -> PlannedInsert:
        target = Target(self.catalogs.qualify(insert.target), self.catalogs.table(insert.target))
        resolver = self.resolver()
        converter = resolver.converter(Scope(()))
        constants = {name: converter.expression(each) for name, each in insert.partition}
        rel = fitted_insert(
            resolver.resolve(insert.query),
            target.definition,
            insert.columns,
            constants,
            target.name,
        )
        hints = tuple(pair for each in insert.hints for pair in options_of(each).items())
        return PlannedInsert(rel, target, insert.overwrite, insert.on_conflict, hints)

    def insert(self, inserts: Sequence[PlannedInsert]) -> TableResult:
        """Start one job that writes rows into tables; ``table.dml-sync``: wait for its end."""
        with self.env._job_apart():
            names = self.add_sinks(inserts)
            job_name = self._job_name(f"insert-into_{','.join(names)}")
            job = self.env.execute_async(job_name)
        self.jobs.add(job_name, job)
        columns = tuple(Column(name, BIGINT) for name in names)
        result = content_of(columns, [[-1] * len(names)])
        result._job = job
        if options.read(self.env._configuration, DML_SYNC):
            try:
                result.wait()
            except KeyboardInterrupt:
                job.cancel().result()
                raise
        return result

    def _job_name(self, default: str) -> str:
        return options.read(self.env._configuration, options.PIPELINE_NAME) or default

    def add_sinks(self, inserts: Sequence[PlannedInsert]) -> list[str]:
        """Add sinks to the job, and return the names of the tables."""
        _add_sinks(self._sinks(self._lowering()), inserts)
        return [each.target.full_name for each in inserts]

    def attach(self, inserts: Sequence[PlannedInsert]) -> None:
        """Add sinks to the program, whose streams they share operators with."""
        _add_sinks(self._sinks(self._of_program()), inserts)

    def _of_program(self) -> Lowering:
        if self._shared is None:
            self._shared = self._lowering()
        return self._shared

    def _sinks(self, lowering: Lowering) -> TableSinks:
        configuration = self.env._configuration
        return TableSinks(
            lowering,
            batch=self.batch,
            time_zone=self.time_zone,
            materialize=options.read(configuration, UPSERT_MATERIALIZE),
            drops_nulls=options.read(configuration, NOT_NULL_ENFORCER) == "DROP",
        )

    def stream_of(self, rel: Rel) -> tuple[DataStream, ChangelogMode]:
        """Return the rows of a plan, and which kinds they have.

        Streams of one program share operators: equal plans are one stream.
        """
        lowering = self._of_program()
        rel = lowering.planned(rel)
        return lowering.lower(rel), lowering.mode(rel)

    def _explain(self, explained: parsed.Explain) -> str:
        statement = explained.statement
        match statement:
            case parsed.Query():
                rel = self.resolver().resolve(statement.tree)
            case parsed.Insert():
                return self.explain_inserts([self.planned(statement)], explained.details)
            case parsed.StatementSet(inserts=inserts):
                planned = [self.planned(each) for each in inserts]
                return self.explain_inserts(planned, explained.details)
            case _:
                refuse("EXPLAIN of this statement")
        return self.explain(rel, explained.details)

    def explain_text(self, text: str, details: Sequence[str]) -> str:
        """Return the plan of a statement."""
        (statement,) = parse(text)
        return self._explain(parsed.Explain(text=text, statement=statement, details=tuple(details)))

    def explain(self, rel: Rel, details: Sequence[str] = ()) -> str:
        """Return the plan of a relation, and of its job."""
        lowering = self._lowering()
        rel = lowering.planned(rel)
        plan = explain(rel, lowering.mode if _CHANGELOG_MODE in details else None)
        with self.env._job_apart():
            sinks = (lowering.lower(rel)._collecting_sink(),)
            return self._explained([plan], [rel], sinks, details)

    def explain_inserts(self, inserts: Sequence[PlannedInsert], details: Sequence[str] = ()) -> str:
        """Return the plans of INSERTs, and of the job that they are together."""
        mode = self._lowering().mode if _CHANGELOG_MODE in details else None
        rels = [self._sinks(self._lowering()).plan(each).rel for each in inserts]
        plans = [
            explain_sink(each.target.full_name, rel, mode)
            for each, rel in zip(inserts, rels, strict=True)
        ]
        with self.env._job_apart():
            self.add_sinks(inserts)
            return self._explained(plans, rels, self.env._list_sinks(), details)

    def _explained(
        self,
        plans: Sequence[str],
        rels: Sequence[Rel],
        sinks: execution.Sinks,
        details: Sequence[str],
    ) -> str:
        """Return the plans, warnings, the plan of the job, and what details ask for."""
        configuration = self.env._configuration
        title, shown = "Plan", [*plans]
        if "PLAN_ADVICE" in details:
            title = "Optimized Physical Plan With Advice"
            advice = [f"advice[{n}]: {each}" for n, each in enumerate(self._advice(rels), 1)]
            shown.append("\n".join(advice) or "No available advice...")
        parts = [(title, "\n\n".join(shown))]
        parts += [("Warning", each) for each in self._warnings(rels)]
        parts.append(("Job", execution.explain(sinks, configuration)))
        if "JSON_EXECUTION_PLAN" in details:
            plan = execution.execution_plan(sinks, configuration)
            parts.append(("Physical Execution Plan", plan))
        return "\n\n".join(f"== {name} ==\n{text}" for name, text in parts)

    def _advice(self, rels: Sequence[Rel]) -> list[str]:
        """Return what may make the plans faster."""
        if self.batch:
            return []
        mini_batch = options.read(self.env._configuration, MINI_BATCH)
        found = (each for rel in rels for each in advice_of(rel, mini_batch=mini_batch))
        return [*dict.fromkeys(found)]

    def _warnings(self, rels: Sequence[Rel]) -> list[str]:
        """Return what is to be known of state that grows without end."""
        if self.batch:
            return []
        ttl_ms = options.read(self.env._configuration, STATE_TTL)
        return [each for rel in rels for each in growing_state(rel, ttl_ms)]

    def _lowering(self) -> Lowering:
        streams = TableStreams(
            self.env, self._program_streams, batch=self.batch, time_zone=self.time_zone
        )
        return Lowering(
            streams,
            batch=self.batch,
            time_zone=self.time_zone,
            mini_batch=options.read(self.env._configuration, MINI_BATCH),
            duplicates=options.read(self.env._configuration, DUPLICATES),
            ttl_ms=options.read(self.env._configuration, STATE_TTL),
            async_settings=AsyncSettings.of(self.env._configuration),
            emit=emit_options(self.env._configuration),
        )


def _catalog_store(configuration: Configuration) -> FileCatalogStore | None:
    if options.read(configuration, CATALOG_STORE) != "file":
        return None
    path = options.read(configuration, CATALOG_STORE_PATH)
    if path is None:
        raise ConfigurationError(
            f"{CATALOG_STORE.key} is file, and {CATALOG_STORE_PATH.key} is missing"
        )
    return FileCatalogStore(path)


def _add_sinks(sinks: TableSinks, inserts: Sequence[PlannedInsert]) -> None:
    for each in inserts:
        sinks.add(each)


_CHANGELOG_MODE = "CHANGELOG_MODE"


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


class _Functions:
    """The functions of users that the names of a query mean in a database."""

    def __init__(self, catalogs: CatalogManager, database: tuple[str, str]) -> None:
        self._catalogs = catalogs
        self._database = database

    @property
    def current_database(self) -> str:
        """The session's database, also in a view of another one."""
        return self._catalogs.current_database

    def system_function(self, name: str) -> PythonFunction | None:
        """Return a temporary system function."""
        found = self._catalogs.system_function(name)
        return None if found is None else definition_of(found)

    def function(self, path: Sequence[str]) -> PythonFunction | None:
        """Return a function of a catalog."""
        if not 1 <= len(path) <= 3:
            return None
        found = self._catalogs.function(ObjectPath(*self._database[: 3 - len(path)], *path))
        return None if found is None else definition_of(found)
