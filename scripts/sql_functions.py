"""Writes docs/reference/sql-functions.md: functions of SQL, and those of Flink that are refused.

    python scripts/sql_functions.py           write the page
    python scripts/sql_functions.py --check   say whether it is up to date; exits 1 if not

The rows come from headrace.sql.functions.table and headrace.sql.aggregates.table. Each example is
computed; one that gives something else than the table says is an error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headrace.sql.aggregates.table import AGGREGATES, ALIASES, EXAMPLE_ROWS, AggregateFunction
from headrace.sql.calls import resolve_call
from headrace.sql.constant_rows import ConstantRows
from headrace.sql.expressions import Expression, Literal
from headrace.sql.functions.function import Function
from headrace.sql.functions.table import AREAS, ELSEWHERE, REFUSED
from headrace.sql.parsing import parse
from headrace.sql.rel import Calc
from headrace.sql.resolve.query import QueryResolver
from headrace.sql.statements import Query
from headrace.sql.types import INT, SqlType
from headrace.table._results.texts import text_of

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # as a script it sees its own folder alone

from scripts.generated import write_or_check  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "sql-functions.md"
TIME_ZONE = "Europe/Berlin"

_INTRODUCTION = f"""\
# Functions of SQL

<!-- Written by scripts/sql_functions.py from the tables of functions; do not edit. -->

Names, types and results are Flink's. The column Type has the type of the example's result. The
examples were computed in the time zone {TIME_ZONE}.

A function that is not here is refused when a statement is planned. The last two tables name such
functions.
"""

_AGGREGATES = f"""
## Aggregates

These functions aggregate the rows of a group. Each may have `FILTER (WHERE condition)`. The
examples aggregate the rows
`{EXAMPLE_ROWS}`.
"""

_REFUSED = """
## Refused

These functions of Flink are not supported:

| Function | Reason |
|---|---|
"""

_ELSEWHERE = """
## Of other dialects

Flink does not have these functions. The error names Flink's function:

| Name | In Flink |
|---|---|
"""


class _NoTables:
    def find(self, path: Any, hints: Any) -> Any:
        raise LookupError(path)


def main(arguments: list[str]) -> int:
    """Write the page, or check that it is up to date."""
    return write_or_check("sql_functions.py", {PAGE: "".join(page())}, arguments)


def page() -> Iterator[str]:
    """The parts of the page."""
    yield _INTRODUCTION
    for title, functions in AREAS.items():
        yield f"\n## {title}\n\n{_HEAD}"
        yield from map(row_of_function, functions)
    yield f"{_AGGREGATES}\n{_HEAD}"
    yield from map(row_of_aggregate, AGGREGATES.values())
    yield _REFUSED
    yield from (f"| `{name}` | {reason} |\n" for name, reason in sorted(REFUSED.items()))
    yield _ELSEWHERE
    yield from (f"| `{name}` | `{flinks}` |\n" for name, flinks in sorted(ELSEWHERE.items()))


_HEAD = "| Function | What it gives | Type | Example |\n|---|---|---|---|\n"


def row_of_function(function: Function) -> str:
    """The row of a function."""
    example, kind = "", ""
    for text, _ in function.examples[:1]:
        found, answer = computed(f"SELECT {text}")
        kind, example = found.summary, f"{code(text)} is {code(answer)}"
    if not function.examples and (typed := without_example(function)):
        kind = typed.summary
    return line(function.forms, function.about, kind, example)


def without_example(function: Function) -> SqlType | None:
    """The type of a function that gives another value at each time; None: it depends."""
    counts = (0, 1)
    for count in counts:
        arguments: list[Expression] = [Literal(INT.with_nullable(False), 1)] * count
        if (signature := signature_of(function, arguments)) is not None:
            return signature
    return None


def signature_of(function: Function, arguments: list[Expression]) -> SqlType | None:
    """The type of a call, if it takes these arguments."""
    try:
        return resolve_call(function.name, arguments).type
    except ValueError:
        return None


def row_of_aggregate(function: AggregateFunction) -> str:
    """The row of an aggregate function."""
    text, expected = function.example
    kind, answer = computed(f"SELECT {text} FROM {EXAMPLE_ROWS}")
    if answer != expected:
        raise ValueError(f"{text} gives {answer}, and not {expected}")
    names = [alias for alias, name in ALIASES.items() if name == function.name and alias[0] != "$"]
    forms = [*function.forms, *(name for name in names if name not in str(function.forms))]
    return line(tuple(forms), function.about, kind.summary, f"{code(text)} is {code(answer)}")


def computed(text: str) -> tuple[SqlType, str]:
    """The type and the value of the one column and row of a query over constants."""
    (statement,) = parse(text)
    assert isinstance(statement, Query), text
    rel = QueryResolver(_NoTables(), batch=True, time_zone=TIME_ZONE).resolve(statement.tree)
    assert isinstance(rel, Calc), text
    ((value,),) = ConstantRows(TIME_ZONE).rows(rel)
    (column,) = rel.columns
    return column.type, text_of(value, column.type, TIME_ZONE)


def line(forms: tuple[str, ...], about: str, kind: str, example: str) -> str:
    """A row of a table."""
    cells = ("<br>".join(map(code, forms)), escaped(about), code(kind) if kind else "", example)
    return f"| {' | '.join(cells)} |\n"


def code(text: str) -> str:
    """A text as code inside a table."""
    ticks = "``" if "`" in text else "`"
    return f"{ticks}{escaped(text)}{ticks}"


def escaped(text: str) -> str:
    """A text whose bars do not end a cell."""
    return text.replace("|", "\\|")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
