"""Methods of ``Table`` that run it, write it, and show its plan and its columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.table._api.relation import SessionRelation
from headrace.table.explain_detail import ExplainDetail

if TYPE_CHECKING:
    import pandas as pd

    from headrace.table._catalogs.columns import ResolvedSchema
    from headrace.table.table_descriptor import TableDescriptor
    from headrace.table.table_pipeline import TablePipeline
    from headrace.table.table_result import TableResult
    from headrace.table.table_schema import TableSchema


class TableResults(SessionRelation):
    """The methods whose result is not a table."""

    def execute(self) -> TableResult:
        """Return the rows. Their job starts when the first row is read."""
        return self._session.collect(self._rel)

    def to_pandas(self) -> pd.DataFrame:
        """Run the job, and return its rows; of a changelog the rows that are left at its end."""
        from headrace.table._results.frames import to_pandas

        return to_pandas(self.execute(), self._columns)

    def execute_insert(
        self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False
    ) -> TableResult:
        """Start a job that writes the rows into a table."""
        return self.insert_into(table_path_or_descriptor, overwrite).execute()

    def insert_into(
        self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False
    ) -> TablePipeline:
        """Return what writes the rows into a table, when it is executed."""
        from headrace.table.table_pipeline import TablePipeline

        target = self._session.queries.target(table_path_or_descriptor, self._columns)
        return TablePipeline(self._session, self._rel, target, overwrite)

    def explain(self, *extra_details: ExplainDetail) -> str:
        """Return the plan of the table."""
        return self._session.plan_texts.of_query(self._rel, [each.name for each in extra_details])

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Print the plan of the table."""
        print(self.explain(*extra_details))

    # Schema

    def get_schema(self) -> TableSchema:
        """Return the names and types of the columns."""
        from headrace.table.table_schema import TableSchema

        return TableSchema._of_columns(self._columns)

    def get_resolved_schema(self) -> ResolvedSchema:
        """Return the columns."""
        from headrace.table._catalogs.columns import schema_of_columns

        return schema_of_columns(self._columns)

    def print_schema(self) -> None:
        """Print the columns."""
        print(self.get_resolved_schema())
