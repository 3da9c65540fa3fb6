"""``TablePipeline``: a table and where its rows are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common._unsupported import unsupported_method
from headrace.sql.rel import Rel
from headrace.table._planning.targets import PlannedInsert, Target
from headrace.table.explain_detail import ExplainDetail

if TYPE_CHECKING:
    from headrace.table._catalogs.paths import ObjectIdentifier
    from headrace.table._planning.session import SqlSession
    from headrace.table.table_result import TableResult

__all__ = ["TablePipeline"]


class TablePipeline:
    """Writes the rows of a table into another one, when it is executed."""

    def __init__(self, session: SqlSession, rel: Rel, target: Target, overwrite: bool) -> None:
        self._session = session
        self._rel = rel
        self._target = target
        self._overwrite = overwrite

    @property
    def _planned(self) -> PlannedInsert:
        return PlannedInsert(self._rel, self._target, self._overwrite)

    def execute(self) -> TableResult:
        """Start the job."""
        return self._session.insert([self._planned])

    def explain(self, *extra_details: ExplainDetail) -> str:
        """Return the plan."""
        return self._session.plan_texts.of_query(self._rel, [each.name for each in extra_details])

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Print the plan."""
        print(self.explain(*extra_details))

    def get_sink_identifier(self) -> ObjectIdentifier | None:
        """Return the path of the table that is written; None: it has none."""
        from headrace.table._catalogs.paths import ObjectIdentifier

        path = self._target.path
        return None if path is None else ObjectIdentifier(*path)

    compile_plan = unsupported_method("plans are not stored; a job's state has ids of its own")
