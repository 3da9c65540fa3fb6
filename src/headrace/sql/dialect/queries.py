"""Reads queries, as trees of sqlglot's nodes."""

from __future__ import annotations

from sqlglot import exp

from headrace.sql.dialect.expressions import ExpressionReader
from headrace.sql.dialect.nodes import JoinTree, RowPattern

_GROUPING_SETS = (exp.GroupingSets, exp.Rollup, exp.Cube)

_QUERY_WORDS = ("SELECT", "WITH", "VALUES", "TABLE")


class QueryReader(ExpressionReader):
    """Reads queries."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._no_query: set[int] = set()
        """Tokens where a parenthesis opens that holds no query."""

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
        start = self.index
        if start in self._no_query or not self.at_query():
            return None
        if self.ahead().value != "(":
            return self._in_subquery()
        found = self.attempt(self._in_subquery)
        if found is None:
            self._no_query.add(start)
        return found

    def _in_subquery(self) -> exp.Subquery:
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
        alias = self._alias_of_table()
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
            if loosest < 1 and (word := self.take_one_of("UNION", "EXCEPT")):
                kind: type[exp.SetOperation] = exp.Union if word == "UNION" else exp.Except
                level = 1
            elif loosest < 2 and self.take("INTERSECT"):
                kind, level = exp.Intersect, 2
            else:
                return found
            distinct = self.take_one_of("ALL", "DISTINCT") != "ALL"
            right = self._set_operations(level)
            found = self.node(kind, start, this=found, expression=right, distinct=distinct)

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
            return self._in_subquery()
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
            first, joins = self._joined()
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

    # Tables

    def _joined(self) -> tuple[exp.Expr, list[exp.Join]]:
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
            table.set("alias", self._alias_of_table())

    def _alias_of_table(self) -> exp.TableAlias:
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
                this = self._in_subquery()
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
        first, joins = self._joined()
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
