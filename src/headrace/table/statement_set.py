"""``StatementSet``: INSERTs that run as one job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common._unsupported import unsupported_method
from headrace.errors import PlanError, SqlValidationError
from headrace.sql import statements as parsed
from headrace.sql.parsing import parse_one
from headrace.table._planning.targets import PlannedInsert
from headrace.table.explain_detail import ExplainDetail

if TYPE_CHECKING:
    from headrace.table._planning.session import SqlSession
    from headrace.table.table import Table
    from headrace.table.table_descriptor import TableDescriptor
    from headrace.table.table_pipeline import TablePipeline
    from headrace.table.table_result import TableResult

__all__ = ["StatementSet"]


class StatementSet:
    """Collects INSERTs, and runs them as one job."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session
        self._inserts: list[PlannedInsert] = []

    def add_insert_sql(self, stmt: str) -> StatementSet:
        """Add an INSERT statement."""
        statement = parse_one(stmt, "add_insert_sql()")
        if not isinstance(statement, parsed.Insert):
            raise SqlValidationError("add_insert_sql() takes an INSERT statement")
        self._inserts.append(self._session.queries.insert(statement))
        return self

    def add_insert(
        self,
        target_path_or_descriptor: str | TableDescriptor,
        table: Table,
        overwrite: bool = False,
    ) -> StatementSet:
        """Add the rows of a table, to be written into another one."""
        target = self._session.queries.target(target_path_or_descriptor, table._columns)
        self._inserts.append(PlannedInsert(table._rel, target, overwrite))
        return self

    def add(self, table_pipeline: TablePipeline) -> StatementSet:
        """Add what ``Table.insert_into`` returned."""
        self._inserts.append(table_pipeline._planned)
        return self

    def explain(self, *extra_details: ExplainDetail) -> str:
        """Return the plans."""
        return self._session.plan_texts.of_inserts(
            self._inserts, [each.name for each in extra_details]
        )

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Print the plans."""
        print(self.explain(*extra_details))

    def execute(self) -> TableResult:
        """Start the job; the set is empty after it."""
        if not self._inserts:
            raise PlanError("the StatementSet has no statement")
        inserts, self._inserts = self._inserts, []
        return self._session.insert(inserts)

    def attach_as_datastream(self) -> None:
        """Add the statements to the job that ``StreamExecutionEnvironment.execute`` starts."""
        inserts, self._inserts = self._inserts, []
        self._session.planner.attach(inserts)

    compile_plan = unsupported_method("plans are not stored; a job's state has ids of its own")
