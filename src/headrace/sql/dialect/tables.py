"""Reads what stands after FROM: tables, joins, calls of table functions, hints."""

from __future__ import annotations

from sqlglot import exp

from headrace.sql.dialect.expressions import ExpressionReader
from headrace.sql.dialect.nodes import JoinTree, RowPattern


class TableReader(ExpressionReader):
    """Reads tables."""

    def in_subquery(self) -> exp.Subquery:
        """Return a query in parentheses."""
        raise NotImplementedError

    def joined(self) -> tuple[exp.Expr, list[exp.Join]]:
        """Return a table and its joins; commas bind less tightly than JOIN."""
        first, joins = self._join_chain()
        start = self.index
        while self.take_symbol(","):
            table, others = self._join_chain()
            if any(each.side in ("RIGHT", "FULL") or each.method for each in others):
                table, others = self.node(JoinTree, start + 1, this=table, joins=others), []
            joins.append(self.node(exp.Join, start, this=table))
            joins.extend(others)
            start = self.index
        return first, joins

    def _join_chain(self) -> tuple[exp.Expr, list[exp.Join]]:
        first = self._table()
        joins = []
        while (join := self._join()) is not None:
            joins.append(join)
        return first, joins

    def _join(self) -> exp.Join | None:
        start = self.index
        args: dict[str, object] = {}
        if self.take("CROSS"):
            args["kind"] = "CROSS"
        else:
            if self.take("NATURAL"):
                args["method"] = "NATURAL"
            if self.take("INNER"):
                args["kind"] = "INNER"
            elif side := self.take_one_of("LEFT", "RIGHT", "FULL"):
                args["side"] = side
                if self.take("OUTER"):
                    args["kind"] = "OUTER"
        if not self.take("JOIN"):
            if args:
                self.fail()
            return None
        args["this"] = self._table()
        if self.take("ON"):
            args["on"] = self.expression()
        elif self.take("USING"):
            args["using"] = self.in_parentheses(lambda: self.list_of(self.identifier))
        return self.node(exp.Join, start, **args)

    def _table(self) -> exp.Expr:
        start = self.index
        found = self._source()
        if not isinstance(found, JoinTree):
            self._alias(found)
        if self.take("MATCH_RECOGNIZE"):
            found = self._row_pattern(start, found)
            self._alias(found)
        elif self.at("TABLESAMPLE") or self.at("PIVOT"):
            self.refuse(f"{self.token.value} is not supported")
        return found

    def _alias(self, table: exp.Expr) -> None:
        if self.take("AS") or self.at_name():
            table.set("alias", self.alias_of_table())

    def alias_of_table(self) -> exp.TableAlias:
        """Return the name of a table with those of its columns."""
        start = self.index
        name = self.identifier()
        columns = None
        if self.at_symbol("("):
            columns = self.in_parentheses(lambda: self.list_of(self.identifier))
        return self.node(exp.TableAlias, start, this=name, columns=columns)

    def _source(self) -> exp.Expr:
        start = self.index
        self.want("a table")
        if self.take("LATERAL"):
            if self.take("TABLE"):
                this: exp.Expr = self.in_parentheses(self._table_call)
            elif self.at("UNNEST"):
                this = self._unnest()
            else:
                this = self.in_subquery()
            return self.node(exp.Lateral, start, this=this)
        if self.at("UNNEST"):
            return self._unnest()
        if self.at("TABLE") and self.ahead().value == "(":
            self.advance()
            call = self.in_parentheses(self._table_call)
            return self.node(exp.Table, start, this=call)
        if self.at_symbol("("):
            return self._in_parentheses_of_from(start)
        following = self._after_path()
        if following == "(":
            return self.node(exp.Table, start, this=self._table_call())
        table = self.table_name()
        hints = self.hints()
        if self.take("FOR"):
            begin = self.index
            self.expect("SYSTEM_TIME")
            self.expect("AS")
            self.expect("OF")
            moment = self.expression()
            version = self.node(
                exp.Version, begin, this="TIMESTAMP", kind="AS OF", expression=moment
            )
            table.set("version", version)
        if hints:
            table.set("hints", hints)
        return table

    def _after_path(self) -> str:
        """Return the symbol after the path that begins here."""
        count = 1
        while self.ahead(count).value == "." and self.ahead(count).kind == "symbol":
            count += 2
        token = self.ahead(count)
        return token.value if token.kind == "symbol" else ""

    def _table_call(self) -> exp.Expr:
        found = self.expression()
        call = found.expression if isinstance(found, exp.Dot) else found
        if not isinstance(call, exp.Anonymous):
            self.refuse("a call of a table function is expected here", self.tokens[self.index - 1])
        return found

    def _unnest(self) -> exp.Unnest:
        start = self.index
        self.expect("UNNEST")
        found = self.in_parentheses(lambda: self.list_of(self.expression))
        numbered = self.take("WITH", "ORDINALITY")
        return self.node(exp.Unnest, start, expressions=found, offset=numbered or None)

    def _in_parentheses_of_from(self, start: int) -> exp.Expr:
        query = self.try_query()
        if query is not None:
            return query
        self.expect_symbol("(")
        first, joins = self.joined()
        self.expect_symbol(")")
        if not joins:
            self.refuse("a query or a join stands in parentheses", self.tokens[start])
        return self.node(JoinTree, start, this=first, joins=joins)

    def table_name(self) -> exp.Table:
        """Return the path of a table."""
        start = self.index
        parts = [self.identifier()]
        while self.take_symbol("."):
            parts.append(self.identifier())
        if len(parts) > 3:
            problem = "the path of a table has at most three names: catalog, database, table"
            self.refuse(problem, self.tokens[start])
        names = dict(zip(("this", "db", "catalog"), reversed(parts), strict=False))
        return self.node(exp.Table, start, **names)

    def _row_pattern(self, start: int, source: exp.Expr) -> exp.Expr:
        """Return MATCH_RECOGNIZE with its text, which is not read further."""
        first = self.token
        self.expect_symbol("(")
        depth = 1
        while depth:
            token = self.token
            if token.kind == "end":
                self.expect_symbol(")")
            if token.kind == "symbol" and token.value in "()":
                depth += 1 if token.value == "(" else -1
            self.advance()
        text = self.text[first.end : self.tokens[self.index - 1].start].strip()
        return self.node(RowPattern, start, this=source, text=text)

    # Hints

    def hints(self) -> list[exp.Expr]:
        """Return the hints in ``/*+ … */``; without them, nothing."""
        if not self.take_symbol("/*+"):
            return []
        found = self.list_of(self._hint)
        self.expect_symbol("*/")
        return found

    def _hint(self) -> exp.Expr:
        start = self.index
        token = self.token
        if token.kind not in ("word", "name"):
            self.want("the name of a hint")
            self.fail()
        name = self.spelled(self.advance())
        inside: list[exp.Expr] = []
        if self.take_symbol("("):
            if not self.at_symbol(")"):
                inside = self.list_of(self._hint_argument)
            self.expect_symbol(")")
        return self.node(exp.Anonymous, start, this=name, expressions=inside)

    def _hint_argument(self) -> exp.Expr:
        start = self.index
        key: exp.Expr
        if self.token.kind == "string":
            key = self.node(exp.Literal, start, this=self.string(), is_string=True)
        elif self.token.kind == "number":
            key = self.node(exp.Literal, start, this=self.advance().value, is_string=False)
        else:
            parts = [self.identifier()]
            while self.take_symbol("."):
                parts.append(self.identifier())
            names = dict(zip(("this", "table", "db"), reversed(parts), strict=False))
            key = self.node(exp.Column, start, **names)
        if not self.take_symbol("="):
            return key
        begin = self.index
        value = self.node(exp.Literal, begin, this=self.string(), is_string=True)
        return self.node(exp.EQ, start, this=key, expression=value)
