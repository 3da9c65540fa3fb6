"""Windows of ``Table.window()``: calls in GROUP BY, or windows of a number of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from headrace.errors import SqlValidationError
from headrace.sql.dialect.nodes import WindowBorder
from headrace.sql.dialect.printing import to_sql
from headrace.sql.refusals import refuse
from headrace.sql.rel import Aggregate, Calc, Columns, CountWindowAggregate, Rel


@dataclass(frozen=True)
class GroupWindowSpec:
    """A window: ``kind`` TUMBLE, HOP or SESSION, its time, its lengths, and its name."""

    kind: str
    time: exp.Expr
    lengths: tuple[exp.Expr, ...]
    name: str

    def call(self, border: str = "") -> exp.Expr:
        """Return the tree of the window, or of one of its borders."""
        arguments = [self.time.copy(), *(each.copy() for each in self.lengths)]
        return exp.Anonymous(this=f"{self.kind}{border}", expressions=arguments)

    def replaced(self, tree: exp.Expr) -> exp.Expr:
        """Return a tree with calls in place of the borders of the window.

        Raises:
            SqlValidationError: a border of another window.
        """

        def change(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, WindowBorder):
                return node
            if node.this.name != self.name:
                raise SqlValidationError(
                    f"there is no window {node.this.name!r}", where={"window": self.name}
                )
            return self.call(f"_{node.args['border']}")

        return tree.transform(change)


@dataclass(frozen=True)
class CountWindow:
    """A window of ``size`` rows of a group; the next one begins after ``slide`` of them."""

    time: exp.Expr
    size: int
    slide: int
    name: str

    def check(self, columns: Columns) -> None:
        """Check the column that the window is on.

        Raises:
            SqlValidationError: it is not a time attribute.
            UnsupportedError: it is the event time, as in Flink.
        """
        named = self.time.name if isinstance(self.time, exp.Column) else ""
        column = next((each for each in columns if each.name == named), None)
        attribute = getattr(getattr(column, "type", None), "attribute", None)
        if attribute == "rowtime":
            refuse("a window of a number of rows by event time")
        if attribute != "proctime":
            raise SqlValidationError(
                f"a window needs a time attribute, and {to_sql(self.time)} is not one",
                hint="declare a column AS PROCTIME()",
            )

    def replaced(self, tree: exp.Expr) -> exp.Expr:
        """Return the tree.

        Raises:
            SqlValidationError: it has a border of a window.
        """
        if next(tree.find_all(WindowBorder), None) is not None:
            raise SqlValidationError("a window of a number of rows has no start, end or time")
        return tree

    def of(self, rel: Rel) -> Rel:
        """Return the plan of an aggregation, grouped by this window."""
        if isinstance(rel, Aggregate):
            return CountWindowAggregate(rel.input, rel.keys, rel.calls, self.size, self.slide)
        if not isinstance(rel, Calc):
            raise SqlValidationError("select() of a window has no aggregate function")
        return replace(rel, input=self.of(rel.input))
