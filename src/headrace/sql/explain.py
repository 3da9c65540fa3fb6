"""Plans as text: one line for each relation, with the rows that it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from headrace.common.changelog_mode import ChangelogMode
from headrace.sql.expressions import PythonCall, walk
from headrace.sql.rel import (
    Aggregate,
    Calc,
    ChangelogNormalize,
    Correlate,
    CountWindowAggregate,
    Expand,
    Rel,
    Scan,
    SetOperation,
    Sort,
    StreamScan,
    Union,
    Unnest,
    Values,
    Watermark,
    Window,
    WindowAggregate,
)

Mode = Callable[[Rel], ChangelogMode]
"""Gives the row kinds of a relation."""


def explain(rel: Rel, mode: Mode | None = None) -> str:
    """Return the plan as text, the result first; ``mode``: adds the row kinds."""
    return "\n".join(_lines(rel, mode, 0))


def explain_sink(table: str, rel: Rel, mode: Mode | None = None) -> str:
    """Return the plan of rows that are written into a table."""
    return "\n".join([f"Sink(table=[{table}])", *_lines(rel, mode, 1)])


def _lines(rel: Rel, mode: Mode | None, depth: int) -> Iterator[str]:
    kinds = "" if mode is None else f", changelogMode=[{mode(rel).kind_codes}]"
    lead = "" if depth == 0 else "   " * (depth - 1) + "+- "
    yield f"{lead}{_name(rel)}({_describe(rel)}{kinds})"
    for each in rel.inputs:
        yield from _lines(each, mode, depth + 1)


def _name(rel: Rel) -> str:
    name = {Aggregate: "GroupAggregate", Scan: "TableScan"}.get(type(rel), type(rel).__name__)
    return f"Python{name}" if _calls_python(rel) else name


def _calls_python(rel: Rel) -> bool:
    """Return whether a relation calls user-defined functions."""
    match rel:
        case Calc():
            computed = (
                rel.expressions if rel.condition is None else (*rel.expressions, rel.condition)
            )
            return any(isinstance(each, PythonCall) for one in computed for each in walk(one))
        case Aggregate() | WindowAggregate() | CountWindowAggregate():
            return any(each.python is not None for each in rel.calls)
    return isinstance(rel, Correlate)


def _describe(rel: Rel) -> str:
    match rel:
        case Scan():
            names = ", ".join(column.name for column in rel.columns)
            files = "" if rel.files_where is None else f", filesWhere=[{rel.files_where}]"
            return f"table=[{'.'.join(rel.table)}], fields=[{names}]{files}"
        case StreamScan():
            return f"stream=[{rel.name}], fields=[{', '.join(each.name for each in rel.fields)}]"
        case Values():
            return f"rows=[{len(rel.rows)}]"
        case Watermark():
            return f"rowtime=[{rel.column}], watermark=[{rel.expression}]"
        case Calc():
            parts = zip(rel.names, rel.expressions, strict=True)
            shown = ", ".join(
                str(each) if str(each) == f"`{name}`" else f"{each} AS {name}"
                for name, each in parts
            )
            where = "" if rel.condition is None else f", where=[{rel.condition}]"
            return f"select=[{shown}]{where}"
        case ChangelogNormalize():
            where = "" if rel.condition is None else f", where=[{rel.condition}]"
            return f"key=[{', '.join(rel.keys)}]{where}"
        case Aggregate():
            return f"groupBy=[{', '.join(rel.keys)}], select=[{_calls(rel)}]"
        case WindowAggregate():
            borders = ", ".join(f"{border} AS {column.name}" for column, border in rel.borders)
            emit = "" if rel.emit is None else f", emit=[{rel.emit}]"
            return (
                f"groupBy=[{', '.join(rel.keys)}], window=[{rel.window}],"
                f" select=[{', '.join(each for each in (_calls(rel), borders) if each)}]{emit}"
            )
        case CountWindowAggregate():
            return (
                f"groupBy=[{', '.join(rel.keys)}], size=[{rel.size}], slide=[{rel.slide}],"
                f" select=[{_calls(rel)}]"
            )
        case Window():
            return f"window=[{rel.window}]"
        case Expand():
            sets = ", ".join(f"({', '.join(each)})" for each in rel.sets)
            return f"groupingSets=[{sets}]"
        case Unnest():
            where = "" if rel.condition is None else f", where=[{rel.condition}]"
            return f"unnest=[{rel.expression}]{where}{', outer' if rel.outer else ''}"
        case Correlate():
            return f"call=[{rel.call}]{', outer' if rel.outer else ''}"
        case SetOperation():
            return f"{rel.kind}{' ALL' if rel.all else ''}"
        case Sort():
            return _sort(rel)
        case Union():
            return f"all, parts=[{len(rel.parts)}]"
    return ""


def _calls(rel: Aggregate | WindowAggregate | CountWindowAggregate) -> str:
    return ", ".join(map(str, rel.calls))


def _sort(rel: Sort) -> str:
    keys = ", ".join(f"{name} {'ASC' if up else 'DESC'}" for name, up, _ in rel.keys)
    parts = [f"orderBy=[{keys}]"] if keys else []
    if rel.offset:
        parts.append(f"offset=[{rel.offset}]")
    if rel.limit is not None:
        parts.append(f"limit=[{rel.limit}]")
    return ", ".join(parts)
