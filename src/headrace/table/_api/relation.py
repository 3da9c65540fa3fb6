"""A relation of a session: what the methods of ``Table`` are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from sqlglot import exp

from headrace.errors import SqlValidationError
from headrace.sql.rel import Columns, Rel

if TYPE_CHECKING:
    from headrace.table._planning.session import SqlSession


class SessionRelation:
    """A plan, and the session that runs it."""

    def __init__(self, rel: Rel, session: SqlSession) -> None:
        self._rel = rel
        self._session = session

    @property
    def _names(self) -> list[str]:
        return [column.name for column in self._rel.columns]

    @property
    def _columns(self) -> Columns:
        return self._rel.columns

    def _with(self, rel: Rel) -> Self:
        return type(self)(rel, self._session)

    def _query(self, tree: exp.Expr) -> Self:
        return self._with(self._session.queries.of_table_api(tree))

    def _require(self, name: str) -> str:
        if name not in self._names:
            raise SqlValidationError(
                f"column {name!r} not found", where={"columns": ", ".join(self._names)}
            )
        return name
