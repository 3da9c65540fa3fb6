"""The fields of rolling aggregations, checked when the graph is built."""

from __future__ import annotations

from headrace.common.typeinfo import (
    BasicTypeInfo,
    ExternalTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from headrace.errors import PlanError
from headrace.graph.transformation import CallSite
from headrace.operators.aggregates.aggregate import ExtremeRecord, FieldAggregate, FirstRecord
from headrace.operators.aggregates.records import fields_hint
from headrace.runtime.columns.exactness import AggregateKind


def first_record(kind: AggregateKind, field: int | str) -> FirstRecord:
    """Return the fold of ``sum``, ``min`` and ``max`` of a field."""
    return FirstRecord(FieldAggregate(kind, check_field(field)))


def extreme_record(kind: AggregateKind, field: int | str, first: bool = True) -> ExtremeRecord:
    """Return the fold of ``min_by`` and ``max_by`` of a field.

    ``first``: True returns the first of equal records, False the last.
    """
    return ExtremeRecord(FieldAggregate(kind, check_field(field)), last=not first)


def check_field(field: int | str) -> int | str:
    """Check that a field is a position or a name, and return it.

    Raises:
        PlanError: ``field`` is neither an int nor a str.
    """
    if isinstance(field, bool) or not isinstance(field, int | str):
        raise PlanError(
            f"a field is given by its position (int) or its name (str), not by {field!r}"
        )
    return field


def require_declared(
    field: int | str, declared: TypeInformation | None, call: str, stream: str, site: CallSite
) -> None:
    """Check that the declared type of the records has the field; skipped if ``declared`` is None.

    Raises:
        PlanError: the type does not have the field.
    """
    if isinstance(declared, ExternalTypeInfo):
        declared = declared._arguments()[0]
    if isinstance(declared, BasicTypeInfo):
        missing, hint = field != 0, "use position 0, the value itself"
    elif isinstance(declared, RowTypeInfo | TupleTypeInfo):
        count = len(declared.get_field_types())
        names = declared.get_field_names() if isinstance(declared, RowTypeInfo) else []
        missing = field not in names if isinstance(field, str) else not -count <= field < count
        hint = fields_hint(count, names)
    else:
        return
    if missing:
        raise PlanError(
            f"{call}({field!r}): the records have no field {field!r}",
            where={"stream": stream, "called": str(site), "type of the records": str(declared)},
            hint=hint,
        )
