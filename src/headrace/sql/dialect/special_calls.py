"""Reads the arguments of functions that have words between them."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from headrace.sql.dialect.constants import ConstantReader
from headrace.sql.dialect.nodes import Clause
from headrace.sql.dialect.words import UNITS


class SpecialCallReader(ConstantReader):
    """Reads the arguments of such functions."""

    def special_arguments(self, name: str) -> list[exp.Expr] | None:
        """Return the arguments of a function, if it has words between them."""
        read = _SPECIAL.get(name)
        return None if read is None else read(self)

    def unit(self) -> exp.Var:
        """Return a unit of time."""
        start, token = self.index, self.token
        if token.kind != "word" or token.value not in UNITS:
            self.want("a unit of time")
            self.fail()
        self.advance()
        return self.node(exp.Var, start, this=token.value)

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
        found = [self.below_in()]
        self.expect("IN")
        found.append(self.expression())
        if self.take("FROM"):
            found.append(self.expression())
        return found

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


_SPECIAL: dict[str, Callable[[SpecialCallReader], list[exp.Expr]]] = {
    "CEIL": SpecialCallReader._floor,
    "CEILING": SpecialCallReader._floor,
    "EXTRACT": SpecialCallReader._extract,
    "FLOOR": SpecialCallReader._floor,
    "JSON_ARRAY": SpecialCallReader._json_array,
    "JSON_ARRAYAGG": SpecialCallReader._json_array,
    "JSON_EXISTS": SpecialCallReader._json_exists,
    "JSON_OBJECT": SpecialCallReader._json_object,
    "JSON_OBJECTAGG": SpecialCallReader._json_object,
    "JSON_QUERY": SpecialCallReader._json_query,
    "JSON_VALUE": SpecialCallReader._json_value,
    "OVERLAY": SpecialCallReader._overlay,
    "POSITION": lambda reader: reader._position(),
    "SUBSTRING": SpecialCallReader._substring,
    "TIMESTAMPADD": SpecialCallReader._add_units,
    "TIMESTAMPDIFF": SpecialCallReader._add_units,
    "TRIM": SpecialCallReader._trim,
}
