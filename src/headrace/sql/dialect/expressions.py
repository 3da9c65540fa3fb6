"""Reads expressions, as trees of sqlglot's nodes."""

from __future__ import annotations

from typing import TypeVar

from sqlglot import exp

from headrace.sql.dialect.calls import CallReader
from headrace.sql.dialect.lexer import Token
from headrace.sql.dialect.nodes import TypeName
from headrace.sql.dialect.type_grammar import read_type
from headrace.sql.dialect.words import FUNCTIONS, NAMES_OF_CURRENT, RESERVED

E = TypeVar("E", bound=exp.Expr)

_OR, _AND, _NOT, _IS, _COMPARISON, _RANGE, _SUM, _PRODUCT, _SIGN = range(1, 10)
"""How tightly operators bind. As in Flink, IS is looser than a comparison."""

_SYMBOLS: dict[str, tuple[int, type[exp.Expr]]] = {
    "=": (_COMPARISON, exp.EQ),
    "<>": (_COMPARISON, exp.NEQ),
    "<": (_COMPARISON, exp.LT),
    "<=": (_COMPARISON, exp.LTE),
    ">": (_COMPARISON, exp.GT),
    ">=": (_COMPARISON, exp.GTE),
    "+": (_SUM, exp.Add),
    "-": (_SUM, exp.Sub),
    "*": (_PRODUCT, exp.Mul),
    "/": (_PRODUCT, exp.Div),
    "%": (_PRODUCT, exp.Mod),
    "||": (_PRODUCT, exp.DPipe),
}

_WORDS = {
    "OR": _OR,
    "AND": _AND,
    "IS": _IS,
    "OVERLAPS": _COMPARISON,
    "NOT": _RANGE,
    "IN": _RANGE,
    "BETWEEN": _RANGE,
    "LIKE": _RANGE,
    "SIMILAR": _RANGE,
}

_NO_OPERATORS = ("CONTAINS", "ILIKE", "MEMBER", "MULTISET", "RLIKE", "SUBMULTISET")
"""Operators of Calcite that have no function in Flink."""


class ExpressionReader(CallReader):
    """Reads expressions."""

    def expression(self) -> exp.Expr:
        return self._operators(0)

    def _operators(self, loosest: int) -> exp.Expr:
        """Return an expression whose operators all bind more tightly than ``loosest``."""
        start = self.index
        left = self._operand()
        while True:
            token = self.token
            if token.kind == "symbol" and token.value in _SYMBOLS:
                level, node = _SYMBOLS[token.value]
                if level <= loosest:
                    return left
                self.advance()
                right = self._compared_to_all() if level == _COMPARISON else None
                left = self.node(node, start, this=left, expression=right or self._operators(level))
            elif token.kind == "word" and _WORDS.get(token.value, 0) > loosest:
                changed = self._word_operator(start, left, token.value)
                if changed is None:
                    return left
                left = changed
            else:
                self._refuse_operator(token)
                self.want("an operator")
                return left

    def _refuse_operator(self, token: Token) -> None:
        if token.kind == "symbol" and token.value == "!=":
            self.refuse("'!=' is not an operator of Flink; '<>' is")
        if token.kind == "symbol" and token.value == "::":
            self.refuse("'::' is not an operator of Flink; CAST(… AS …) converts")
        if token.kind == "word" and token.value in _NO_OPERATORS:
            self.refuse(f"{token.value} is not supported as an operator, in Flink neither")

    def interval_value(self) -> exp.Expr:
        if self.token.kind not in ("number", "name", "word") and not self.at_symbol("("):
            self.want("a text in quotes")
            self.fail()
        start = self.index
        if self.token.kind in ("name", "word"):
            names = [self.identifier()]
            while self.take_symbol("."):
                names.append(self.identifier())
            places = ("this", "table", "db", "catalog")
            return self.node(exp.Column, start, **dict(zip(places, names[::-1], strict=False)))
        return self._primary()

    def below_in(self) -> exp.Expr:
        return self._operators(_RANGE)

    def _word_operator(self, start: int, left: exp.Expr, word: str) -> exp.Expr | None:
        if word in ("OR", "AND"):
            parts = [(left, start, self.index)]
            while self.take(word):
                first = self.index
                parts.append((self._operators(_WORDS[word]), first, self.index))
            return self.chain(exp.Or if word == "OR" else exp.And, parts)
        if word == "IS":
            self.advance()
            return self._is(start, left)
        if word == "OVERLAPS":
            self.advance()
            right = self._operators(_COMPARISON)
            return self.node(exp.Overlaps, start, this=left, expression=right)
        negated = word == "NOT"
        if negated:
            following = self.ahead()
            if following.value not in ("IN", "BETWEEN", "LIKE", "SIMILAR"):
                return None
            self.advance()
        found = self._range(start, left)
        return self.node(exp.Not, start, this=found) if negated else found

    def _compared_to_all(self) -> exp.Expr | None:
        start = self.index
        word = self.token.value
        if self.token.kind != "word" or word not in ("ALL", "ANY", "SOME"):
            return None
        self.advance()
        self.expect_symbol("(")
        inside = self.subquery_or_list()
        self.expect_symbol(")")
        return self.node(exp.All if word == "ALL" else exp.Any, start, this=inside)

    def _is(self, start: int, left: exp.Expr) -> exp.Expr:
        negated = self.take("NOT")
        if self.take("DISTINCT"):
            self.expect("FROM")
            kind = exp.NullSafeEQ if negated else exp.NullSafeNEQ
            return self.node(kind, start, this=left, expression=self._operators(_COMPARISON))
        right: exp.Expr
        if self.take("NULL"):
            right = exp.Null()
        elif self.take("TRUE"):
            right = exp.Boolean(this=True)
        elif self.take("FALSE"):
            right = exp.Boolean(this=False)
        elif self.take("UNKNOWN"):
            right = exp.Var(this="UNKNOWN")
        elif self.take("JSON"):
            right = exp.JSON(this=self.take_one_of("VALUE", "OBJECT", "ARRAY", "SCALAR"))
        else:
            self.fail()
        found = self.node(exp.Is, start, this=left, expression=right)
        return self.node(exp.Not, start, this=found) if negated else found

    def _range(self, start: int, left: exp.Expr) -> exp.Expr:
        if self.take("IN"):
            self.expect_symbol("(")
            inside = self.subquery_or_list()
            self.expect_symbol(")")
            if isinstance(inside, exp.Subquery):
                return self.node(exp.In, start, this=left, query=inside)
            return self.node(exp.In, start, this=left, expressions=inside.expressions)
        if self.take("BETWEEN"):
            symmetric = self.take_one_of("SYMMETRIC", "ASYMMETRIC") == "SYMMETRIC"
            low = self._operators(_RANGE)
            self.expect("AND")
            high = self._operators(_RANGE)
            return self.node(
                exp.Between, start, this=left, low=low, high=high, symmetric=symmetric or None
            )
        if self.take("LIKE"):
            kind: type[exp.Expr] = exp.Like
        else:
            self.expect("SIMILAR", "TO")
            kind = exp.SimilarTo
        found: exp.Expr = self.node(kind, start, this=left, expression=self._operators(_COMPARISON))
        if self.take("ESCAPE"):
            escape = self._operators(_RANGE)
            found = self.node(exp.Escape, start, this=found, expression=escape)
        return found

    def _operand(self) -> exp.Expr:
        start = self.index
        if self.take("NOT"):
            return self.node(exp.Not, start, this=self._operators(_NOT))
        if self.take_symbol("-"):
            return self.node(exp.Neg, start, this=self._operators(_SIGN))
        if self.take_symbol("+"):
            return self._operators(_SIGN)
        return self._with_access(start, self._primary())

    def _with_access(self, start: int, found: exp.Expr) -> exp.Expr:
        """Return an expression with the fields and elements of it that follow."""
        while not isinstance(found, exp.Literal):
            if self.take_symbol("["):
                index = self.expression()
                self.expect_symbol("]")
                found = self.node(exp.Bracket, start, this=found, expressions=[index])
            elif self.take_symbol("."):
                found = self.node(exp.Dot, start, this=found, expression=self.identifier())
            else:
                break
        return found

    def _primary(self) -> exp.Expr:
        self.want("an expression")
        start, token = self.index, self.token
        match token.kind:
            case "number":
                self.advance()
                return self.node(exp.Literal, start, this=token.value, is_string=False)
            case "string":
                return self.node(exp.Literal, start, this=self.string(), is_string=True)
            case "bytes":
                self.advance()
                return self.node(exp.HexString, start, this=token.value)
            case "name":
                return self._column_or_call()
            case "word":
                return self._word(start, token.value)
            case "symbol" if token.value == "(":
                return self._parenthesised(start)
        self.fail()

    def _word(self, start: int, word: str) -> exp.Expr:
        match word:
            case "NULL" | "UNKNOWN":
                self.advance()
                return self.node(exp.Null, start)
            case "TRUE" | "FALSE":
                self.advance()
                return self.node(exp.Boolean, start, this=word == "TRUE")
            case "DATE" | "TIME" | "TIMESTAMP" if self.ahead().kind == "string":
                return self.typed_literal(start, word)
            case "TIMESTAMP" if self.ahead().value == "WITH":
                return self.moment(start)
            case "INTERVAL":
                return self.interval()
            case "CASE":
                return self._case(start)
            case "CAST" | "TRY_CAST":
                return self._cast(start, word)
            case "EXISTS":
                self.advance()
                self.expect_symbol("(")
                found = self.node(exp.Exists, start, this=self.query())
                self.expect_symbol(")")
                return found
            case "ARRAY" | "MAP" | "MULTISET" if self.ahead().value == "[":
                return self.collection(start, word)
        called = self.ahead().kind == "symbol" and self.ahead().value == "("
        if called and (word not in RESERVED or word in FUNCTIONS):
            return self.call()
        if word in NAMES_OF_CURRENT:
            self.advance()
            return self.node(exp.Anonymous, start, this=self.spelled(self.tokens[start]))
        if word in RESERVED:
            self.want("a name")
            self.fail()
        return self._column_or_call()

    def _column_or_call(self) -> exp.Expr:
        """Return a column with the names before it, or a call of a function with a path."""
        start = self.index
        parts: list[exp.Expr] = []
        while True:
            following = self.ahead()
            if following.kind == "symbol" and following.value == "(":
                return self._qualified(start, parts)
            parts.append(self.identifier())
            if not self.at_symbol("."):
                break
            if self.ahead().kind == "symbol" and self.ahead().value == "*":
                self.index += 2
                parts.append(self.node(exp.Star, self.index - 1))
                break
            self.advance()
        names = ("this", "table", "db", "catalog")
        column = self.node(exp.Column, start, **dict(zip(names, reversed(parts[:4]), strict=False)))
        found: exp.Expr = column
        for part in parts[4:]:
            found = self.node(exp.Dot, start, this=found, expression=part)
        return found

    def _qualified(self, start: int, parts: list[exp.Expr]) -> exp.Expr:
        call = self.call()
        if not parts:
            return call
        path = parts[0]
        for part in parts[1:]:
            path = self.node(exp.Dot, start, this=path, expression=part)
        return self.node(exp.Dot, start, this=path, expression=call)

    def _parenthesised(self, start: int) -> exp.Expr:
        query = self.try_query()
        if query is not None:
            return query
        self.expect_symbol("(")
        inside = self.list_of(self.expression)
        self.expect_symbol(")")
        if len(inside) == 1:
            return self.node(exp.Paren, start, this=inside[0])
        return self.node(exp.Tuple, start, expressions=inside)

    def subquery_or_list(self) -> exp.Expr:
        """Return what stands in the parentheses of IN: a Subquery, or a Tuple."""
        start = self.index
        if self.at_query() and not self.at_symbol("("):
            return self.node(exp.Subquery, start, this=self.query())
        if self.at_query():
            index = self.index
            query = self.attempt(self.query)
            if query is not None and self.at_symbol(")"):
                return self.node(exp.Subquery, start, this=query)
            self.index = index
        return self.node(exp.Tuple, start, expressions=self.list_of(self.expression))

    def _case(self, start: int) -> exp.Expr:
        self.expect("CASE")
        this = None if self.at("WHEN") else self.expression()
        ifs: list[exp.If] = []
        while not ifs or self.at("WHEN"):
            begin = self.index
            self.expect("WHEN")
            condition = self.expression()
            if this is not None and self.at_symbol(","):
                condition = self._alternatives(begin + 1, condition)
            self.expect("THEN")
            ifs.append(self.node(exp.If, begin, this=condition, true=self.expression()))
        default = self.expression() if self.take("ELSE") else None
        self.expect("END")
        if this is not None and any("alternatives" in each.this.meta for each in ifs):
            self._make_searched(this, ifs)
            this = None
        return self.node(exp.Case, start, this=this, ifs=ifs, default=default)

    def _alternatives(self, start: int, first: exp.Expr) -> exp.Tuple:
        found = [first]
        while self.take_symbol(","):
            found.append(self.expression())
        alternatives = self.node(exp.Tuple, start, expressions=found)
        alternatives.meta["alternatives"] = True
        return alternatives

    def _make_searched(self, value: exp.Expr, ifs: list[exp.If]) -> None:
        """Make conditions of the values of CASE value WHEN a, b THEN …"""
        for each in ifs:
            given = each.this
            if "alternatives" in given.meta:
                condition: exp.Expr = exp.In(this=value.copy(), expressions=given.expressions)
            else:
                condition = exp.EQ(this=value.copy(), expression=given)
            condition.meta.update(given.meta)
            each.set("this", condition)

    def _cast(self, start: int, word: str) -> exp.Expr:
        self.expect(word)
        self.expect_symbol("(")
        this = self.expression()
        self.expect("AS")
        target = self.type_name()
        self.expect_symbol(")")
        if word == "CAST":
            return self.node(exp.Cast, start, this=this, to=target)
        return self.node(exp.TryCast, start, this=this, to=target, safe=True)

    def type_name(self) -> TypeName:
        """Return a type."""
        start = self.index
        return self.node(TypeName, start, this=read_type(self, nullability=False))
