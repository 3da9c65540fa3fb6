"""Runs the statements of one environment: its definitions, queries, jobs and options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.common._options import catalogue as options
from headrace.common._options.table import DML_SYNC, MAX_COLUMN_WIDTH
from headrace.common.job_client import JobClient
from headrace.datastream._streams.closeable_iterator import CloseableIterator
from headrace.errors import SqlValidationError, UnsupportedError
from headrace.sql import statements as parsed
from headrace.sql.catalog.execute import execute
from headrace.sql.catalog.objects import CatalogTable, PlanView
from headrace.sql.parsing import parse_one
from headrace.sql.places import not_too_deep, placed_by
from headrace.sql.refusals import refuse
from headrace.sql.rel import Column, Rel
from headrace.sql.types import BIGINT, BOOLEAN, STRING
from headrace.table._planning.catalogs import catalogs_of
from headrace.table._planning.create_as import Added, CreateTableAs
from headrace.table._planning.explained import PlanTexts
from headrace.table._planning.jobs import StartedJobs
from headrace.table._planning.options import is_batch
from headrace.table._planning.planner import Planner
from headrace.table._planning.queries import Queries
from headrace.table._planning.settings import SessionSettings
from headrace.table._planning.sinks import required_of_result
from headrace.table._planning.streams import ProgramStreams
from headrace.table._planning.targets import PlannedInsert
from headrace.table.result_kind import ResultKind
from headrace.table.table_result import TableResult, content_of, done, text_result

if TYPE_CHECKING:
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment


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
        self.catalogs = catalogs_of(env._configuration, catalog, database)
        self.queries = Queries(self.catalogs, env._configuration)
        self.streams = ProgramStreams(env)
        self.planner = Planner(env, self.streams)
        self.plan_texts = PlanTexts(env, self.planner)
        self.jobs = StartedJobs()
        self.settings = SessionSettings(env._configuration)
        self._create_as = CreateTableAs(self.catalogs, self.queries)
        self._statement_set: list[Added] | None = None
        self._unnamed = 0

    def register_unnamed(self, relation: CatalogTable | PlanView) -> str:
        """Register a table or view under a new name, and return the name."""
        name = f"UnnamedTable${self._unnamed}"
        self._unnamed += 1
        self.catalogs.create_relation((name,), relation, temporary=True)
        return name

    # Statements

    def query(self, text: str) -> Rel:
        """Return the plan of a query."""
        statement = parse_one(text, "sql_query()")
        if not isinstance(statement, parsed.Query):
            raise SqlValidationError("sql_query() takes a query; run others by execute_sql()")
        with not_too_deep():
            return self.queries.of_sql(statement.tree)

    def execute(self, text: str) -> TableResult:
        """Run one statement."""
        return self.run(parse_one(text, "execute_sql()"))

    def run(self, statement: parsed.Statement) -> TableResult:
        """Run a statement that was parsed."""
        with placed_by(statement):
            return self._run(statement)

    def _run(self, statement: parsed.Statement) -> TableResult:
        if self._statement_set is not None:
            return self._add_to_set(self._statement_set, statement)
        match statement:
            case parsed.Query():
                return self.collect(self.queries.of_sql(statement.tree))
            case parsed.Insert():
                return self.insert([self.queries.insert(statement)])
            case parsed.StatementSet():
                return self.insert([self.queries.insert(each) for each in statement.inserts])
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
                return text_result(self._explain(statement.statement, statement.details))
            case parsed.Unsupported():
                raise UnsupportedError(f"{statement.name} is not supported: {statement.reason}")
            case parsed.CreateTable() if statement.query is not None:
                self._create_as.check(statement)
                return self._insert_all([statement])
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

    def _add_to_set(self, added: list[Added], statement: parsed.Statement) -> TableResult:
        """Add a statement to the set that was begun, or run the set at its END."""
        match statement:
            case parsed.Insert():
                added.append(self.queries.insert(statement))
                return done()
            case parsed.CreateTable() if statement.query is not None:
                self._create_as.check(statement)
                added.append(statement)
                return done()
            case parsed.EndStatementSet():
                self._statement_set = None
                return self._insert_all(added) if added else done()
        raise SqlValidationError(
            "a statement set may have only INSERT and CREATE TABLE AS",
            hint="END runs the statement set that was begun",
        )

    def _define(self, statement: parsed.Statement) -> TableResult:
        listing = execute(statement, self.catalogs, self.queries.types)
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

    # Plans

    def explain_text(self, text: str, details: Sequence[str]) -> str:
        """Return the plan of a statement."""
        return self._explain(parse_one(text, "explain_sql()"), details)

    def _explain(self, statement: parsed.Statement, details: Sequence[str]) -> str:
        match statement:
            case parsed.Query():
                return self.plan_texts.of_query(self.queries.of_sql(statement.tree), details)
            case parsed.Insert():
                return self.plan_texts.of_inserts([self.queries.insert(statement)], details)
            case parsed.StatementSet(inserts=inserts):
                planned = [self.queries.insert(each) for each in inserts]
                return self.plan_texts.of_inserts(planned, details)
        refuse("EXPLAIN of this statement")

    # Jobs

    def collect(self, rel: Rel) -> TableResult:
        """Return the rows of a plan. Their job starts when the first row is read."""
        lowering = self.planner.lowering()
        planned, drops = lowering.planned_query(rel), lowering.options.drops_nulls
        with self.env._job_apart():
            stream = lowering.lower_required(planned, required_of_result(planned), "collect", drops)

        def rows() -> CloseableIterator:
            with self.env._job_apart():
                return stream.execute_and_collect(self._job_name("collect"))  # type: ignore[return-value]

        return TableResult(
            rel.columns,
            ResultKind.SUCCESS_WITH_CONTENT,
            rows,
            changes=not lowering.options.batch,
            time_zone=lowering.options.time_zone,
            max_width=options.read(self.env._configuration, MAX_COLUMN_WIDTH),
        )

    def insert(self, inserts: Sequence[PlannedInsert]) -> TableResult:
        """Start one job that writes rows into tables; ``table.dml-sync``: wait for its end."""
        return self._when_done(self._start(inserts))

    def _insert_all(self, added: Sequence[Added]) -> TableResult:
        """Make the tables of CREATE TABLE AS, and start the job that writes into all tables."""
        with self._create_as.created(added) as inserts:
            started = self._start(inserts)
        return self._when_done(started)

    def _start(self, inserts: Sequence[PlannedInsert]) -> tuple[JobClient, TableResult]:
        with self.env._job_apart():
            names = self.planner.add_sinks(inserts)
            job_name = self._job_name(f"insert-into_{','.join(names)}")
            if self._keeps_checkpoint():
                job_name = self.jobs.free_name(job_name)
            job = self.env.execute_async(job_name)
        self.jobs.add(job_name, job)
        columns = tuple(Column(name, BIGINT) for name in names)
        result = content_of(columns, [[-1] * len(names)])
        result._job = job
        return job, result

    def _when_done(self, started: tuple[JobClient, TableResult]) -> TableResult:
        """Return the result of a job that was started, at once or after its end."""
        job, result = started
        if options.read(self.env._configuration, DML_SYNC):
            try:
                result.wait()
            except KeyboardInterrupt:
                job.cancel().result()
                raise
        return result

    def _keeps_checkpoint(self) -> bool:
        configuration = self.env._configuration
        return not is_batch(configuration) and bool(
            options.read(configuration, options.CHECKPOINT_DIR)
        )

    def _job_name(self, default: str) -> str:
        return options.read(self.env._configuration, options.PIPELINE_NAME) or default
