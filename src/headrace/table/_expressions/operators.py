"""Operators, comparisons, conversions and names."""

from __future__ import annotations

from typing import Any, NoReturn, Self, TypeVar

from sqlglot import exp

from headrace.errors import PlanError, SqlValidationError
from headrace.sql.dialect.nodes import CONCATENATES
from headrace.sql.refusals import refuse
from headrace.table._expressions.base import ExpressionTree
from headrace.table._expressions.trees import call, tree_of, type_name
from headrace.table._types.data_types import DataType
from headrace.table._types.sql import to_sql

Made = TypeVar("Made", bound=ExpressionTree)


def _concatenating(made: Made) -> Made:
    made._tree.meta[CONCATENATES] = True
    return made


class Operators(ExpressionTree):
    """Operators, comparisons, conversions and names."""

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> NoReturn:
        """Refuse: the value is not known while the program is built."""
        raise PlanError(
            "an Expression is neither true nor false",
            hint="use &, | and ~ instead of and, or and not",
        )

    def __abs__(self) -> Self:
        return self._call("ABS")

    def __eq__(self, other: Any) -> Self:  # type: ignore[override]
        return self._binary(exp.EQ, other)

    def __ne__(self, other: Any) -> Self:  # type: ignore[override]
        return self._binary(exp.NEQ, other)

    def __lt__(self, other: Any) -> Self:
        return self._binary(exp.LT, other)

    def __gt__(self, other: Any) -> Self:
        return self._binary(exp.GT, other)

    def __le__(self, other: Any) -> Self:
        return self._binary(exp.LTE, other)

    def __ge__(self, other: Any) -> Self:
        return self._binary(exp.GTE, other)

    def __and__(self, other: Any) -> Self:
        return self._binary(exp.And, other)

    __rand__ = __and__

    def __or__(self, other: Any) -> Self:
        return self._binary(exp.Or, other)

    __ror__ = __or__

    def __invert__(self) -> Self:
        return self.is_not_true

    def __add__(self, other: Any) -> Self:
        return _concatenating(self._binary(exp.Add, other))

    def __radd__(self, other: Any) -> Self:
        return _concatenating(self._binary(exp.Add, other, reverse=True))

    def __sub__(self, other: Any) -> Self:
        return self._binary(exp.Sub, other)

    def __rsub__(self, other: Any) -> Self:
        return self._binary(exp.Sub, other, reverse=True)

    def __mul__(self, other: Any) -> Self:
        return self._binary(exp.Mul, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Self:
        return self._binary(exp.Div, other)

    def __rtruediv__(self, other: Any) -> Self:
        return self._binary(exp.Div, other, reverse=True)

    def __mod__(self, other: Any) -> Self:
        return self._binary(exp.Mod, other)

    def __rmod__(self, other: Any) -> Self:
        return self._binary(exp.Mod, other, reverse=True)

    def __pow__(self, other: Any) -> Self:
        return self._call("POWER", other)

    def __rpow__(self, other: Any) -> Self:
        return self._make(call("POWER", other, self))

    def __neg__(self) -> Self:
        return self._make(exp.Neg(this=tree_of(self)))

    # Conditions

    def _is(self, value: exp.Expr, *, negated: bool = False) -> Self:
        test: exp.Expr = exp.Is(this=tree_of(self), expression=value)
        return self._make(exp.Not(this=test) if negated else test)

    @property
    def is_null(self) -> Self:
        """Return whether the value is NULL."""
        return self._is(exp.Null())

    @property
    def is_not_null(self) -> Self:
        """Return whether the value is not NULL."""
        return self._is(exp.Null(), negated=True)

    @property
    def is_true(self) -> Self:
        """Return whether a condition is true; NULL is not."""
        return self._is(exp.Boolean(this=True))

    @property
    def is_false(self) -> Self:
        """Return whether a condition is false; NULL is not."""
        return self._is(exp.Boolean(this=False))

    @property
    def is_not_true(self) -> Self:
        """Return whether a condition is false or NULL."""
        return self._is(exp.Boolean(this=True), negated=True)

    @property
    def is_not_false(self) -> Self:
        """Return whether a condition is true or NULL."""
        return self._is(exp.Boolean(this=False), negated=True)

    def between(self, lower_bound: Any, upper_bound: Any) -> Self:
        """Return whether the value is between two, which are included."""
        low, high = tree_of(lower_bound), tree_of(upper_bound)
        return self._make(exp.Between(this=tree_of(self), low=low, high=high))

    def not_between(self, lower_bound: Any, upper_bound: Any) -> Self:
        """Return whether the value is less than one, or greater than another."""
        return self._make(exp.Not(this=tree_of(self.between(lower_bound, upper_bound))))

    def in_(self, first_element_or_table: Any, *remaining_elements: Any) -> Self:
        """Return whether the value is one of others."""
        if hasattr(first_element_or_table, "_rel"):
            refuse("IN of a table")
        values = [tree_of(each) for each in (first_element_or_table, *remaining_elements)]
        return self._make(exp.In(this=tree_of(self), expressions=values))

    def like(self, pattern: Any = None, escape: Any = None) -> Self:
        """Return whether a text matches a pattern with % and _."""
        found: exp.Expr = exp.Like(this=tree_of(self), expression=tree_of(pattern))
        if escape is not None:
            found = exp.Escape(this=found, expression=tree_of(escape))
        return self._make(found)

    def similar(self, pattern: Any = None) -> Self:
        """Return whether a text matches a pattern of SIMILAR TO."""
        return self._make(exp.SimilarTo(this=tree_of(self), expression=tree_of(pattern)))

    def then(self, if_true: Any, if_false: Any) -> Self:
        """Return one value where this condition is true, and another one elsewhere."""
        return self._call("IF", if_true, if_false)

    def if_null(self, null_replacement: Any) -> Self:
        """Return the value, or another one where it is NULL."""
        return self._call("IFNULL", null_replacement)

    # Types, names and order

    def cast(self, data_type: DataType) -> Self:
        """Return the value as another type."""
        return self._make(exp.Cast(this=tree_of(self), to=type_name(to_sql(data_type))))

    def try_cast(self, data_type: DataType) -> Self:
        """Return the value as another type; NULL where that fails."""
        return self._make(exp.TryCast(this=tree_of(self), to=type_name(to_sql(data_type))))

    def alias(self, name: str, *extra_names: str) -> Self:
        """Return the expression with a name; more names are for table functions."""
        made = exp.Alias(this=tree_of(self), alias=exp.Identifier(this=name, quoted=True))
        if extra_names:
            made.meta["names"] = (name, *extra_names)
        return self._make(made)

    def as_argument(self, name: str) -> Self:
        """Return the expression as the argument of a name in a call."""
        return self._make(exp.Kwarg(this=exp.Var(this=name), expression=tree_of(self)))

    @property
    def asc(self) -> Self:
        """Return an ascending order by the expression."""
        return self._make(exp.Ordered(this=tree_of(self), desc=False))

    @property
    def desc(self) -> Self:
        """Return a descending order by the expression."""
        return self._make(exp.Ordered(this=tree_of(self), desc=True))

    @property
    def distinct(self) -> Self:
        """Return an aggregate of different values only.

        Raises:
            SqlValidationError: the expression is no call of a function.
        """
        tree = tree_of(self)
        if not isinstance(tree, exp.Anonymous):
            raise SqlValidationError(f"distinct is for aggregate functions, not {tree.sql()}")
        tree.set("expressions", [exp.Distinct(expressions=tree.expressions)])
        return self._make(tree)

    def over(self, alias: Any) -> Self:
        """Return an aggregate over a window of ``over_window()``."""
        return self._make(exp.Window(this=tree_of(self), over="OVER", alias=tree_of(alias)))

    # Parts of values

    def get(self, name_or_index: str | int) -> Self:
        """Return a field of a row."""
        field: exp.Expr = (
            exp.Literal.number(name_or_index)
            if isinstance(name_or_index, int)
            else exp.Identifier(this=name_or_index, quoted=True)
        )
        return self._make(exp.Dot(this=tree_of(self), expression=field))

    def at(self, index: Any) -> Self:
        """Return an element of an array, from 1, or the value of a key of a map."""
        return self._make(exp.Bracket(this=tree_of(self), expressions=[tree_of(index)]))

    def __getattr__(self, name: str) -> Self:
        """Return a field of a row: ``col('person').name``."""
        if name.startswith("_") and not name[1:].isdigit():
            raise AttributeError(name)
        return self.get(name)

    def __getitem__(self, index: Any) -> Self:
        """Return an element: ``col('tags')[1]``."""
        return self.at(index)

    __iter__: None = None  # or it would be a sequence without an end

    @property
    def flatten(self) -> Self:
        """Return FLATTEN, which is refused when it is planned."""
        return self._call("FLATTEN")
