"""What all expressions have: a tree."""

from __future__ import annotations

from typing import Any, Self

from sqlglot import exp

from headrace.common._column_expression import ColumnExpression
from headrace.table._expressions.trees import call, tree_of, units


class ExpressionTree(ColumnExpression):
    """A tree of SQL; subclasses add the operators and the functions."""

    _tree: exp.Expr

    def _make(self, tree: exp.Expr) -> Self:
        made = object.__new__(type(self))
        made._tree = tree
        return made

    def _call(self, name: str, *others: Any) -> Self:
        """Return a call whose first argument is this expression; None at the end is left out."""
        given = [*others]
        while given and given[-1] is None:
            given.pop()
        return self._make(call(name, self, *given))

    def _binary(self, kind: type[exp.Expr], other: Any, *, reverse: bool = False) -> Self:
        sides = [tree_of(self), tree_of(other)]
        if reverse:
            sides.reverse()
        return self._make(kind(this=_enclosed(sides[0]), expression=_enclosed(sides[1])))

    def _units(self, name: str, unit: str, *others: Any) -> Self:
        return self._make(units(name, unit, self, *others))


def _enclosed(tree: exp.Expr) -> exp.Expr:
    """Return the tree, in parentheses where its text would need them."""
    return exp.Paren(this=tree) if isinstance(tree, exp.Binary | exp.Not) else tree
