"""Reads queries, as trees of sqlglot's nodes."""

from __future__ import annotations

from sqlglot import exp

from headrace.sql.dialect.tables import TableReader

_GROUPING_SETS = (exp.GroupingSets, exp.Rollup, exp.Cube)

_QUERY_WORDS = ("SELECT", "WITH", "VALUES", "TABLE")


class QueryReader(TableReader):
    """Reads queries."""

    # Queries in other places

    def at_query(self) -> bool:
        """Return whether a query may begin here; parentheses before its first word are skipped."""
        count = 0
        while self.ahead(count).kind == "symbol" and self.ahead(count).value == "(":
            count += 1
        token = self.ahead(count)
        return token.kind == "word" and token.value in _QUERY_WORDS

    def try_query(self) -> exp.Subquery | None:
        """Return the query in the parentheses that begin here; None if they hold something else."""
        if not self.at_query():
            return None
        return self.in_subquery() if self.ahead().value != "(" else self.attempt(self.in_subquery)

    def in_subquery(self) -> exp.Subquery:
        """Return a query in parentheses."""
        start = self.index
        self.expect_symbol("(")
        query = self.query()
        self.expect_symbol(")")
        return self.node(exp.Subquery, start, this=query)

    # Queries

    def query(self) -> exp.Expr:
        """Return a query with WITH, ORDER BY, LIMIT, OFFSET and FETCH."""
        start = self.index
        named = self._with() if self.at("WITH") else None
        found = self._set_operations(0)
        modifiers = self._order_and_limit()
        if named is not None or modifiers:
            if isinstance(found, exp.Subquery) and found.args.get("order", found.args.get("limit")):
                found = self.node(exp.Subquery, start, this=found)
            if named is not None:
                found.set("with_", named)
            for name, value in modifiers.items():
                found.set(name, value)
        return found

    def _with(self) -> exp.With:
        start = self.index
        self.expect("WITH")
        recursive = self.take("RECURSIVE")
        found = self.list_of(self._common_table)
        return self.node(exp.With, start, expressions=found, recursive=recursive or None)

    def _common_table(self) -> exp.CTE:
        start = self.index
        alias = self.alias_of_table()
        self.expect("AS")
        query = self.in_parentheses(self.query)
        return self.node(exp.CTE, start, this=query, alias=alias)

    def _order_and_limit(self) -> dict[str, exp.Expr]:
        found: dict[str, exp.Expr] = {}
        if self.at("ORDER"):
            found["order"] = self.order()
        while True:
            start = self.index
            if "limit" not in found and self.take("LIMIT"):
                if not self.take("ALL"):
                    limit = self._count()
                    found["limit"] = self.node(exp.Limit, start, expression=limit)
            elif "offset" not in found and self.take("OFFSET"):
                offset = self._count()
                self.take_one_of("ROW", "ROWS")
                if "limit" not in found and self.at("LIMIT"):
                    self.refuse("LIMIT stands before OFFSET")
                found["offset"] = self.node(exp.Offset, start, expression=offset)
            elif "limit" not in found and self.take("FETCH"):
                self.expect_one_of("FIRST", "NEXT")
                limit = self._count()
                self.expect_one_of("ROW", "ROWS")
                self.expect("ONLY")
                found["limit"] = self.node(exp.Limit, start, expression=limit)
            else:
                return found

    def _count(self) -> exp.Literal:
        start = self.index
        return self.node(exp.Literal, start, this=str(self.integer()), is_string=False)

    def _set_operations(self, loosest: int) -> exp.Expr:
        start = self.index
        found = self._term()
        while True:
            parts = [(found, start, self.index)]
            if loosest < 1 and (word := self.take_one_of("UNION", "EXCEPT")):
                kind: type[exp.SetOperation] = exp.Union if word == "UNION" else exp.Except
                level = 1
            elif loosest < 2 and self.take("INTERSECT"):
                kind, level = exp.Intersect, 2
            else:
                return found
            distinct = self.take_one_of("ALL", "DISTINCT") != "ALL"
            parts.append(self._set_part(level))
            if kind is exp.Union and not distinct:
                while self._take_union_all():
                    parts.append(self._set_part(level))
            found = self.chain(kind, parts, distinct=distinct)

    def _set_part(self, level: int) -> tuple[exp.Expr, int, int]:
        """Return an operand of a set operation, its first token, and the one after it."""
        first = self.index
        return self._set_operations(level), first, self.index

    def _take_union_all(self) -> bool:
        if self.ahead().value != "ALL" or not self.take("UNION"):
            return False
        self.advance()
        return True

    def _term(self) -> exp.Expr:
        start = self.index
        if self.at("SELECT"):
            return self._select()
        if self.take("VALUES"):
            rows = self.list_of(self._row_of_values)
            return self.node(exp.Values, start, expressions=rows)
        if self.take("TABLE"):
            source = self.node(exp.From, start, this=self.table_name())
            return self.node(exp.Select, start, expressions=[exp.Star()], from_=source)
        if self.at_symbol("("):
            return self.in_subquery()
        self.fail()

    def _row_of_values(self) -> exp.Tuple:
        start = self.index
        if self.at("ROW") and self.ahead().value == "(":
            self.advance()
        found = self.expression()
        if isinstance(found, exp.Tuple):
            return found
        inside = found.this if isinstance(found, exp.Paren) else found
        return self.node(exp.Tuple, start, expressions=[inside])

    def _select(self) -> exp.Select:
        start = self.index
        self.expect("SELECT")
        hints = self.hints()
        begin = self.index
        distinct = None
        if self.take_one_of("ALL", "DISTINCT") == "DISTINCT":
            distinct = self.node(exp.Distinct, begin)
        args: dict[str, object] = {
            "hint": exp.Hint(expressions=hints) if hints else None,
            "distinct": distinct,
            "expressions": self.list_of(self._item),
        }
        begin = self.index
        if self.take("FROM"):
            first, joins = self.joined()
            args["from_"] = self.node(exp.From, begin, this=first)
            args["joins"] = joins or None
        begin = self.index
        if self.take("WHERE"):
            args["where"] = self.node(exp.Where, begin, this=self.expression())
        begin = self.index
        if self.take("GROUP"):
            self.expect("BY")
            unique = self.take_one_of("ALL", "DISTINCT") == "DISTINCT"
            groups = self.list_of(self._group)
            several = [each for each in groups if isinstance(each, _GROUPING_SETS)]
            if unique and several:
                self.refuse("GROUP BY DISTINCT of several sets is not supported")
            args["group"] = self.node(exp.Group, begin, expressions=groups)
        begin = self.index
        if self.take("HAVING"):
            args["having"] = self.node(exp.Having, begin, this=self.expression())
        if self.take("WINDOW"):
            args["windows"] = self.list_of(self._named_window)
        begin = self.index
        if self.take("QUALIFY"):
            args["qualify"] = self.node(exp.Qualify, begin, this=self.expression())
        return self.node(exp.Select, start, **args)

    def _item(self) -> exp.Expr:
        start = self.index
        if self.take_symbol("*"):
            return self.node(exp.Star, start)
        this = self.expression()
        if not self.take("AS") and not self.at_name():
            return this
        return self.node(exp.Alias, start, this=this, alias=self.identifier())

    def _group(self) -> exp.Expr:
        start = self.index
        if self.take("GROUPING"):
            self.expect("SETS")
            found = self.in_parentheses(lambda: self.list_of(self._group))
            return self.node(exp.GroupingSets, start, expressions=found)
        for word, kind in (("ROLLUP", exp.Rollup), ("CUBE", exp.Cube)):
            if self.take(word):
                found = self.in_parentheses(lambda: self.list_of(self._group))
                return self.node(kind, start, expressions=found)
        if self.at_symbol("(") and self.ahead().value == ")":
            self.index += 2
            return self.node(exp.Tuple, start)
        return self.expression()

    def _named_window(self) -> exp.Window:
        start = self.index
        name = self.identifier()
        self.expect("AS")
        found = self.window()
        base = found.pop("alias", None)
        return self.node(exp.Window, start, this=name, alias=base, **found)
