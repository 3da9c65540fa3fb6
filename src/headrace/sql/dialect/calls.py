"""Reads calls of functions, with FILTER and OVER."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sqlglot import exp

from headrace.sql.dialect.lexer import parser_error
from headrace.sql.dialect.nodes import Descriptor, TableArgument
from headrace.sql.dialect.special_calls import SpecialCallReader

E = TypeVar("E", bound=exp.Expr)


class CallReader(SpecialCallReader):
    """Reads calls of functions."""

    def call(self) -> exp.Expr:
        """Return the call of a function, with FILTER and OVER."""
        start = self.index
        token = self.advance()
        name: str | exp.Identifier = self.spelled(token)
        if token.kind == "name":
            name = exp.Identifier(this=name, quoted=True)
        self.expect_symbol("(")
        arguments = self.special_arguments(token.value) if token.kind == "word" else None
        if arguments is None:
            arguments = self.arguments()
        if token.value == "ARRAY_AGG":
            arguments += self._nulls_inside()
        order = self.order() if self.at("ORDER") else None
        self.expect_symbol(")")
        call: exp.Expr = self.node(exp.Anonymous, start, this=name, expressions=arguments)
        if order is not None:
            call = self.node(exp.WithinGroup, start, this=call, expression=order)
        return self._suffixes(start, call)

    def _suffixes(self, start: int, call: exp.Expr) -> exp.Expr:
        if self.take("WITHIN", "GROUP"):
            order = self.in_parentheses(self.order)
            call = self.node(exp.WithinGroup, start, this=call, expression=order)
        call = self._nulls(start, call)
        if self.take("FILTER"):
            self.expect_symbol("(")
            begin = self.index
            self.expect("WHERE")
            where = self.node(exp.Where, begin, this=self.expression())
            self.expect_symbol(")")
            call = self.node(exp.Filter, start, this=call, expression=where)
        call = self._nulls(start, call)
        if self.take("OVER"):
            if self.at_symbol("("):
                return self.node(exp.Window, start, this=call, over="OVER", **self.window())
            return self.node(exp.Window, start, this=call, over="OVER", alias=self.identifier())
        return call

    def _nulls(self, start: int, call: exp.Expr) -> exp.Expr:
        if self.take("IGNORE", "NULLS"):
            return self.node(exp.IgnoreNulls, start, this=call)
        if self.take("RESPECT", "NULLS"):
            return self.node(exp.RespectNulls, start, this=call)
        return call

    def _nulls_inside(self) -> list[exp.Expr]:
        """Return what stands after the argument of ARRAY_AGG: whether it leaves NULL out."""
        start = self.index
        word = self.take_one_of("IGNORE", "RESPECT")
        if word is None:
            return []
        self.expect("NULLS")
        return [self._clause(start, "NULLS", self.node(exp.Var, start, this=word))]

    # Arguments

    def arguments(self) -> list[exp.Expr]:
        """Return the arguments of a call, which commas separate."""
        if self.at_symbol(")"):
            return []
        start = self.index
        if self.take("DISTINCT"):
            found = self.list_of(self.expression)
            return [self.node(exp.Distinct, start, expressions=found)]
        self.take("ALL")
        return self.list_of(self._argument)

    def _argument(self) -> exp.Expr:
        start = self.index
        if self.take_symbol("*"):
            return self.node(exp.Star, start)
        following = self.ahead()
        if following.kind == "symbol" and following.value == "=>":
            token = self.token
            if token.kind not in ("word", "name"):
                self.want("a name")
                self.fail()
            name = self.node(exp.Var, start, this=self.spelled(self.advance()))
            self.expect_symbol("=>")
            return self.node(exp.Kwarg, start, this=name, expression=self._value())
        return self._value()

    def _value(self) -> exp.Expr:
        start = self.index
        if self.at("TABLE"):
            return self._table_argument()
        following = self.ahead()
        if self.at("DESCRIPTOR") and following.value == "(":
            self.advance()
            found = self.in_parentheses(lambda: self.list_of(self.identifier))
            return self.node(Descriptor, start, expressions=found)
        if self.at("MODEL") and following.kind in ("word", "name"):
            raise parser_error(self.text, self.token.start, "models are not supported")
        if self.token.kind == "word" and self.token.value == "DEFAULT":
            self.advance()
            return self.node(exp.Var, start, this="DEFAULT")
        if self.at_query() and not self.at_symbol("("):
            return self.node(exp.Subquery, start, this=self.query())
        return self.expression()

    def _table_argument(self) -> exp.Expr:
        start = self.index
        self.expect("TABLE")
        this = self.table_name()
        partition_by = order = None
        if self.take("PARTITION"):
            self.expect("BY")
            partition_by = self._one_or_list(self.expression)
        begin = self.index
        if self.take("ORDER"):
            self.expect("BY")
            order = self.node(exp.Order, begin, expressions=self._one_or_list(self.ordered))
        return self.node(TableArgument, start, this=this, partition_by=partition_by, order=order)

    def _one_or_list(self, read: Callable[[], E]) -> list[E]:
        if self.take_symbol("("):
            found = self.list_of(read)
            self.expect_symbol(")")
            return found
        return [read()]

    # Orders and windows

    def order(self) -> exp.Order:
        """Return ORDER BY with its list."""
        start = self.index
        self.expect("ORDER")
        self.expect("BY")
        found = self.list_of(self.ordered)
        return self.node(exp.Order, start, expressions=found)

    def ordered(self) -> exp.Ordered:
        """Return an expression with ASC or DESC, NULLS FIRST or LAST."""
        start = self.index
        this = self.expression()
        descending = self.take_one_of("ASC", "DESC") == "DESC"
        nulls_first = not descending
        if self.take("NULLS"):
            nulls_first = self.expect_one_of("FIRST", "LAST") == "FIRST"
        return self.node(exp.Ordered, start, this=this, desc=descending, nulls_first=nulls_first)

    def window(self) -> dict[str, Any]:
        """Return what stands in the parentheses of OVER, as arguments of ``exp.Window``."""
        self.expect_symbol("(")
        found: dict[str, Any] = {}
        if self.at_name() and self.token.value not in ("ROWS", "RANGE"):
            found["alias"] = self.identifier()
        if self.take("PARTITION"):
            self.expect("BY")
            found["partition_by"] = self.list_of(self.expression)
        if self.at("ORDER"):
            found["order"] = self.order()
        start = self.index
        kind = self.take_one_of("ROWS", "RANGE")
        if kind is not None:
            found["spec"] = self._frame(start, kind)
        self.expect_symbol(")")
        return found

    def _frame(self, first: int, kind: str) -> exp.WindowSpec:
        if not self.take("BETWEEN"):
            start, side = self._bound()
            return self.node(
                exp.WindowSpec, first, kind=kind, start=start, start_side=side, end="CURRENT ROW"
            )
        start, side = self._bound()
        self.expect("AND")
        end, end_side = self._bound()
        return self.node(
            exp.WindowSpec,
            first,
            kind=kind,
            start=start,
            start_side=side,
            end=end,
            end_side=end_side,
        )

    def _bound(self) -> tuple[str | exp.Expr, str | None]:
        if self.take("CURRENT"):
            self.expect("ROW")
            return "CURRENT ROW", None
        value: str | exp.Expr = "UNBOUNDED"
        if not self.take("UNBOUNDED"):
            value = self.expression()
        return value, self.expect_one_of("PRECEDING", "FOLLOWING")
