"""Reads constants that have words: intervals, times, collections."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from headrace.sql.dialect.nodes import TypedLiteral, TypeName
from headrace.sql.dialect.trees import TreeReader
from headrace.sql.dialect.words import UNITS
from headrace.sql.types import DATE, SqlType, TimestampLtzType, TimestampType, TimeType

_PLURALS = {f"{unit}S": unit for unit in UNITS}

_YEAR_UNITS = ("YEAR", "QUARTER", "MONTH")
_DAY_UNITS = ("WEEK", "DAY", "HOUR", "MINUTE", "SECOND")


class ConstantReader(TreeReader):
    """Reads constants."""

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
        product = self.node(exp.Mul, start, this=value, expression=one)
        return self.node(exp.Paren, start, this=product)

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

    def collection(self, start: int, word: str) -> exp.Expr:
        """Return ARRAY[…], MAP[…] or MULTISET[…]."""
        self.advance()
        self.expect_symbol("[")
        inside = [] if self.at_symbol("]") else self.list_of(self.expression)
        self.expect_symbol("]")
        if word == "ARRAY":
            return self.node(exp.Array, start, expressions=inside)
        if word == "MULTISET":
            return self.node(exp.Anonymous, start, this=word, expressions=inside)
        if len(inside) % 2:
            self.refuse("MAP[…] has a value for each key", self.tokens[start])
        keys, values = exp.Array(expressions=inside[::2]), exp.Array(expressions=inside[1::2])
        return self.node(exp.Map, start, keys=keys, values=values)

    def typed_literal(self, start: int, word: str) -> exp.Expr:
        """Return a constant such as DATE '2024-01-31'."""
        self.advance()
        literal: Any = self.node(exp.Literal, self.index, this=self.string(), is_string=True)
        digits = len(literal.name.partition(".")[2])
        kinds: dict[str, SqlType] = {
            "DATE": DATE,
            "TIME": TimeType(min(digits, 9)),
            "TIMESTAMP": TimestampType(min(digits, 9)),
        }
        target = TypeName(this=kinds[word].with_nullable(False))
        return self.node(TypedLiteral, start, this=literal, to=target)

    def moment(self, start: int) -> exp.Expr:
        """Return TIMESTAMP WITH LOCAL TIME ZONE '…'."""
        self.advance()
        for word in ("WITH", "LOCAL", "TIME", "ZONE"):
            self.expect(word)
        literal: Any = self.node(exp.Literal, self.index, this=self.string(), is_string=True)
        digits = len(literal.name.partition(".")[2])
        target = TypeName(this=TimestampLtzType(min(digits, 9), nullable=False))
        return self.node(TypedLiteral, start, this=literal, to=target)
