"""Reads calls of functions, with those that have words between their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sqlglot import exp

from headrace.errors import SqlParserError
from headrace.sql.dialect.cursor import Cursor
from headrace.sql.dialect.nodes import Clause, Descriptor, TableArgument, TypeName
from headrace.sql.dialect.words import UNITS

E = TypeVar("E", bound=exp.Expr)
T = TypeVar("T")

_PLURALS = {f"{unit}S": unit for unit in UNITS}

_YEAR_UNITS = ("YEAR", "QUARTER", "MONTH")
_DAY_UNITS = ("WEEK", "DAY", "HOUR", "MINUTE", "SECOND")


class CallReader(Cursor):
    """Reads calls of functions; the rest of expressions is read by its subclass."""

    def expression(self) -> exp.Expr:
        """Return an expression."""
        raise NotImplementedError

    def query(self) -> exp.Expr:
        """Return a query."""
        raise NotImplementedError

    def try_query(self) -> exp.Expr | None:
        """Return a query in parentheses, if there is one."""
        raise NotImplementedError

    def attempt(self, read: Callable[[], T]) -> T | None:
        """Return what is read, or None if that fails; then the position is as before."""
        start = self.index
        try:
            return read()
        except SqlParserError:
            self.index = start
            return None

    def at_query(self) -> bool:
        """Return whether a query may begin here."""
        raise NotImplementedError

    def table_name(self) -> exp.Expr:
        """Return the path of a table."""
        raise NotImplementedError

    def type_name(self) -> TypeName:
        """Return a type."""
        raise NotImplementedError

    def node(self, kind: type[E], first: int, /, **args: Any) -> E:
        """Return a node whose text begins at the token ``first`` and ends before the next token."""
        found = kind(**args)
        last = max(first, self.index - 1)
        found.meta["start"] = self.tokens[first].start
        found.meta["end"] = self.tokens[last].end
        return found

    def identifier(self) -> exp.Identifier:
        """Return a name."""
        start = self.index
        token = self.token
        return self.node(exp.Identifier, start, this=self.name(), quoted=token.kind == "name")

    def call(self) -> exp.Expr:
        """Return the call of a function, with FILTER and OVER."""
        start = self.index
        token = self.advance()
        name: str | exp.Identifier = self.spelled(token)
        if token.kind == "name":
            name = exp.Identifier(this=name, quoted=True)
        self.expect_symbol("(")
        reader = _SPECIAL.get(token.value) if token.kind == "word" else None
        arguments = self._arguments() if reader is None else reader(self)
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

    # Arguments

    def _arguments(self) -> list[exp.Expr]:
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

    # Units of time

    def interval(self) -> exp.Expr:
        """Return a constant of time, such as INTERVAL '1' DAY."""
        start = self.index
        self.expect("INTERVAL")
        following = self.ahead() if self.token.value in ("-", "+") else self.token
        if following.kind != "string":
            return self._product(start)
        negative = self.take_symbol("-")
        if not negative:
            self.take_symbol("+")
        begin = self.index
        value = ("-" if negative else "") + self.string()
        amount = self.node(exp.Literal, begin, this=value, is_string=True)
        unit, precision = self._interval_unit((*_YEAR_UNITS, *_DAY_UNITS))
        span: exp.Expr = exp.Var(this=unit)
        if self.take("TO"):
            units = _YEAR_UNITS if unit in _YEAR_UNITS else _DAY_UNITS
            finer = units[units.index(unit) + 1 :]
            if not finer:
                self.refuse(f"no unit is finer than {unit}")
            second, _ = self._interval_unit(finer)
            span = exp.IntervalSpan(this=span, expression=exp.Var(this=second))
        found = self.node(exp.Interval, start, this=amount, unit=span)
        if precision is not None:
            found.meta["precision"] = precision
        return found

    def _product(self, start: int) -> exp.Expr:
        """Return INTERVAL value UNIT as the value times a constant."""
        value = self.interval_value()
        begin = self.index
        unit, _ = self._interval_unit((*_YEAR_UNITS, *_DAY_UNITS))
        one = self.node(exp.Interval, begin, this=exp.Literal.string("1"), unit=exp.Var(this=unit))
        return self.node(exp.Mul, start, this=value, expression=one)

    def interval_value(self) -> exp.Expr:
        """Return the value of INTERVAL that is no text."""
        raise NotImplementedError

    def _interval_unit(self, units: tuple[str, ...]) -> tuple[str, int | None]:
        token = self.token
        word = _PLURALS.get(token.value, token.value)
        if token.kind != "word" or word not in units:
            for unit in units:
                self.want(unit)
            self.fail()
        self.advance()
        if not self.take_symbol("("):
            return word, None
        precision = self.integer()
        if self.take_symbol(","):
            self.integer()
        self.expect_symbol(")")
        return word, precision

    def unit(self) -> exp.Var:
        """Return a unit of time."""
        start, token = self.index, self.token
        if token.kind != "word" or token.value not in UNITS:
            self.want("a unit of time")
            self.fail()
        self.advance()
        return self.node(exp.Var, start, this=token.value)

    # Functions with words between their arguments

    def _floor(self) -> list[exp.Expr]:
        found = [self.expression()]
        if self.take("TO"):
            found.append(self.unit())
        return found

    def _extract(self) -> list[exp.Expr]:
        unit = self.unit()
        self.expect("FROM")
        return [unit, self.expression()]

    def _add_units(self) -> list[exp.Expr]:
        start, token = self.index, self.token
        word = token.value.removeprefix("SQL_TSI_")
        if token.kind != "word" or word not in UNITS:
            self.want("a unit of time")
            self.fail()
        self.advance()
        found: list[exp.Expr] = [self.node(exp.Var, start, this=word)]
        for _ in range(2):
            self.expect_symbol(",")
            found.append(self.expression())
        return found

    def _position(self) -> list[exp.Expr]:
        found = [self._below_in()]
        self.expect("IN")
        found.append(self.expression())
        if self.take("FROM"):
            found.append(self.expression())
        return found

    def _below_in(self) -> exp.Expr:
        raise NotImplementedError

    def _substring(self) -> list[exp.Expr]:
        found = [self.expression()]
        if self.take("FROM"):
            found.append(self.expression())
            if self.take("FOR"):
                found.append(self.expression())
            return found
        for count in range(2):
            if count == 0 or self.at_symbol(","):
                self.expect_symbol(",")
                found.append(self.expression())
        return found

    def _overlay(self) -> list[exp.Expr]:
        found = [self.expression()]
        self.expect("PLACING")
        found.append(self.expression())
        self.expect("FROM")
        found.append(self.expression())
        if self.take("FOR"):
            found.append(self.expression())
        return found

    def _trim(self) -> list[exp.Expr]:
        start = self.index
        side = self.take_one_of("BOTH", "LEADING", "TRAILING")
        if side is not None and self.take("FROM"):
            blank = exp.Literal.string(" ")
            return [self.node(exp.Var, start, this=side), blank, self.expression()]
        found = [self.expression()]
        if self.take("FROM"):
            found.append(self.expression())
            return [self.node(exp.Var, start, this=side or "BOTH"), *found]
        if side is None:
            return found
        blank = exp.Literal.string(" ")
        return [self.node(exp.Var, start, this=side), blank, *found]

    # Functions of JSON

    def _clause(self, start: int, words: str, value: exp.Expr | None = None) -> Clause:
        return self.node(Clause, start, this=words, expression=value)

    def _json_value(self) -> list[exp.Expr]:
        found = self._json_path()
        start = self.index
        if self.take("RETURNING"):
            found.append(self._clause(start, "RETURNING", self.type_name()))
        return found + self._on_conditions(("NULL", "ERROR"), default=True)

    def _json_exists(self) -> list[exp.Expr]:
        return self._json_path() + self._on_conditions(("TRUE", "FALSE", "UNKNOWN", "ERROR"))

    def _json_query(self) -> list[exp.Expr]:
        found = self._json_path()
        start = self.index
        if self.take("RETURNING"):
            found.append(self._clause(start, "RETURNING", self.type_name()))
        start = self.index
        kind = self.take_one_of("WITHOUT", "WITH")
        if kind is not None:
            if kind == "WITH":
                kind = f"WITH {self.take_one_of('CONDITIONAL', 'UNCONDITIONAL') or 'UNCONDITIONAL'}"
            self.take("ARRAY")
            self.expect("WRAPPER")
            found.append(self._clause(start, "WRAPPER", exp.Var(this=kind)))
        return found + self._on_conditions(("NULL", "ERROR", "EMPTY ARRAY", "EMPTY OBJECT"))

    def _json_path(self) -> list[exp.Expr]:
        found = [self.expression()]
        self.expect_symbol(",")
        found.append(self.expression())
        return found

    def _on_conditions(self, choices: tuple[str, ...], *, default: bool = False) -> list[exp.Expr]:
        found: list[exp.Expr] = []
        while not self.at_symbol(")"):
            start = self.index
            value: exp.Expr | None = None
            for choice in choices:
                if self.take(*choice.split()):
                    value = exp.Var(this=choice)
                    break
            else:
                if not default or not self.take("DEFAULT"):
                    self.fail()
                value = self.expression()
            self.expect("ON")
            found.append(self._clause(start, f"ON {self.expect_one_of('EMPTY', 'ERROR')}", value))
        return found

    def _json_object(self) -> list[exp.Expr]:
        found: list[exp.Expr] = []
        if not self.at_symbol(")") and not self._at_on_null():
            found.extend(self.list_of(self._json_pair))
        return found + self._on_null()

    def _json_pair(self) -> exp.Expr:
        start = self.index
        self.take("KEY")
        key = self.expression()
        if not self.take("VALUE") and not self.take_symbol(":"):
            self.fail()
        return self.node(exp.JSONKeyValue, start, this=key, expression=self.expression())

    def _json_array(self) -> list[exp.Expr]:
        found: list[exp.Expr] = []
        if not self.at_symbol(")") and not self._at_on_null():
            found.extend(self.list_of(self.expression))
        return found + self._on_null()

    def _at_on_null(self) -> bool:
        return self.at("NULL", "ON") or self.at("ABSENT", "ON")

    def _on_null(self) -> list[exp.Expr]:
        start = self.index
        word = self.take_one_of("NULL", "ABSENT")
        if word is None:
            return []
        self.expect("ON")
        self.expect("NULL")
        return [self._clause(start, "ON NULL", exp.Var(this=word))]


_SPECIAL: dict[str, Callable[[CallReader], list[exp.Expr]]] = {
    "CEIL": CallReader._floor,
    "CEILING": CallReader._floor,
    "EXTRACT": CallReader._extract,
    "FLOOR": CallReader._floor,
    "JSON_ARRAY": CallReader._json_array,
    "JSON_ARRAYAGG": CallReader._json_array,
    "JSON_EXISTS": CallReader._json_exists,
    "JSON_OBJECT": CallReader._json_object,
    "JSON_OBJECTAGG": CallReader._json_object,
    "JSON_QUERY": CallReader._json_query,
    "JSON_VALUE": CallReader._json_value,
    "OVERLAY": CallReader._overlay,
    "POSITION": lambda reader: reader._position(),
    "SUBSTRING": CallReader._substring,
    "TIMESTAMPADD": CallReader._add_units,
    "TIMESTAMPDIFF": CallReader._add_units,
    "TRIM": CallReader._trim,
}
