"""Windows of ``Table.window()`` as calls in GROUP BY."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from headrace.errors import SqlValidationError
from headrace.sql.dialect.nodes import WindowBorder


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
