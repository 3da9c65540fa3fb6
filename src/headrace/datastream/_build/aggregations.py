"""Rolling sums, minima and maxima over one field, as reduce functions.

``sum``, ``min`` and ``max`` change that one field and keep the others of the key's first record;
``min_by`` and ``max_by`` keep whole records, of equal ones the first. The field is an index into
a tuple, list or Row, a name in a Row, dict, named tuple or dataclass, or 0 for a plain value.

Values are compared as Python does, with two rules more, so that the order of the records does not
matter: NaN is greater than all numbers, and -0.0 is less than 0.0. That is ``Double.compareTo``,
by which Flink compares.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from decimal import InvalidOperation
from numbers import Number
from typing import Any, Literal

from headrace.common.typeinfo import (
    BasicTypeInfo,
    ExternalTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from headrace.common.types import Row, row_of
from headrace.errors import PlanError, TypeMismatchError
from headrace.graph.transformation import CallSite
from headrace.operators.field_fold import FieldFold
from headrace.operators.slots import Slot

Combine = Callable[[Any, Any], Any]


def add(first: Any, second: Any) -> Any:
    """The sum."""
    return first + second


def least(first: Any, second: Any) -> Any:
    """The lesser; the first of equals."""
    try:
        if second < first:
            return second
        if first < second:
            return first
    except InvalidOperation:  # raised by a Decimal NaN, which has its place below
        pass
    return second if _place(second) < _place(first) else first


def greatest(first: Any, second: Any) -> Any:
    """The greater; the first of equals."""
    try:
        if second > first:
            return second
        if first > second:
            return first
    except InvalidOperation:  # raised by a Decimal NaN, which has its place below
        pass
    return second if _place(second) > _place(first) else first


def _place(value: Any) -> int:
    """The place of a value among those that it is neither less nor greater than.

    These are its equals; and all other values, where it is NaN.
    """
    if value != value:
        return 1
    if value == 0 and isinstance(value, Number) and math.copysign(1.0, value) < 0:  # type: ignore[arg-type]
        return -1
    return 0


_OPERATIONS: dict[Combine, Literal["sum", "min", "max"]] = {
    add: "sum",
    least: "min",
    greatest: "max",
}


class FieldAggregation:
    """Puts ``combine`` of both records' field into the first record; neither is changed."""

    associative = True

    def __init__(self, field: int | str, combine: Combine) -> None:
        self.field = checked_field(field)
        self.combine = combine

    @property
    def slot(self) -> Slot:
        """What becomes of the field, for columns."""
        return Slot(_OPERATIONS[self.combine], self.field)

    def __call__(self, first: Any, second: Any) -> Any:
        """The first record with the combined field."""
        if type(first) is tuple and type(second) is tuple and type(self.field) is int:
            place, items = self.field, [*first]  # the usual case, at a third of the price
            try:
                items[place] = self.combine(items[place], second[place])
            except IndexError:
                _require_position(place, first, second)
                raise  # from an operator of the values
            return tuple(items)
        if not has_fields(second):
            _require_whole(self.field, second)
            return self.combine(first, second)
        combined = self.combine(field_of(first, self.field), field_of(second, self.field))
        return with_field(first, self.field, combined)


class RecordSelection:
    """Keeps the record whose field ``choose`` prefers."""

    associative = True

    def __init__(self, field: int | str, choose: Combine) -> None:
        self.field = checked_field(field)
        self.choose = choose

    def __call__(self, first: Any, second: Any) -> Any:
        """One of the two records."""
        if type(first) is tuple and type(second) is tuple and type(self.field) is int:
            try:
                held = first[self.field]
                return first if self.choose(held, second[self.field]) is held else second
            except IndexError:
                _require_position(self.field, first, second)
                raise  # from an operator of the values
        if not has_fields(second):
            _require_whole(self.field, second)
            return self.choose(first, second)
        held = field_of(first, self.field)
        # by identity: `choose` gives back one of its arguments, the first of equals
        return first if self.choose(held, field_of(second, self.field)) is held else second


def fold_of(reduction: FieldAggregation | RecordSelection) -> FieldFold:
    """What a reduction does, for columns."""
    operation = _OPERATIONS[
        reduction.combine if isinstance(reduction, FieldAggregation) else reduction.choose
    ]
    return FieldFold(reduction.field, operation, whole=isinstance(reduction, RecordSelection))


class LastRecordSelection(RecordSelection):
    """The same, but of equal ones the last."""

    def __call__(self, first: Any, second: Any) -> Any:
        """One of the two records."""
        return super().__call__(second, first)


def checked_field(field: int | str) -> int | str:
    """The field itself.

    Raises:
        PlanError: it is neither an int nor a str.
    """
    if isinstance(field, bool) or not isinstance(field, int | str):
        raise PlanError(
            f"a field is given by its position (int) or its name (str), not by {field!r}"
        )
    return field


def has_fields(record: Any) -> bool:
    """False for plain values such as numbers and strings."""
    return isinstance(record, tuple | list | Row | dict) or _is_dataclass(record)


def require_declared(
    field: int | str, declared: TypeInformation | None, call: str, stream: str, site: CallSite
) -> None:
    """Check that records of a declared type have a field; ``declared`` None: it is not known.

    Raises:
        PlanError: they have not.
    """
    if isinstance(declared, ExternalTypeInfo):
        declared = declared._parts()[0]
    if isinstance(declared, BasicTypeInfo):
        missing, hint = field != 0, "use position 0, the value itself"
    elif isinstance(declared, RowTypeInfo | TupleTypeInfo):
        count = len(declared.get_field_types())
        names = declared.get_field_names() if isinstance(declared, RowTypeInfo) else []
        missing = field not in names if isinstance(field, str) else not -count <= field < count
        hint = _fields_there(count, names)
    else:
        return
    if missing:
        raise PlanError(
            f"{call}({field!r}): the records have no field {field!r}",
            where={"stream": stream, "called": str(site), "type of the records": str(declared)},
            hint=hint,
        )


def field_of(record: Any, field: int | str) -> Any:
    """The value of one field.

    Raises:
        TypeMismatchError: the record has no such field.
    """
    try:
        if isinstance(field, str):
            return record[field] if isinstance(record, Row | dict) else getattr(record, field)
        if _is_dataclass(record):
            return getattr(record, dataclasses.fields(record)[field].name)
        return record[field]
    except (LookupError, AttributeError):
        raise _missing(field, record) from None


def with_field(record: Any, field: int | str, value: Any) -> Any:
    """A copy of a record with another value in one field."""
    if isinstance(record, tuple):
        if hasattr(record, "_replace"):
            name = field if isinstance(field, str) else record._fields[field]  # type: ignore[attr-defined]
            return record._replace(**{name: value})
        items = list(record)
        items[field] = value  # type: ignore[index]
        return tuple(items)
    if isinstance(record, Row):
        row = row_of(getattr(record, "_fields", None), list(record), record.get_row_kind())
        row[field] = value
        return row
    if isinstance(record, list | dict):
        copy: Any = record.copy()
        copy[field] = value
        return copy
    name = field if isinstance(field, str) else dataclasses.fields(record)[field].name
    return dataclasses.replace(record, **{name: value})


def _is_dataclass(record: Any) -> bool:
    return dataclasses.is_dataclass(record) and not isinstance(record, type)


def _require_position(field: int, *records: tuple[Any, ...]) -> None:
    for record in records:
        if not -len(record) <= field < len(record):
            raise _missing(field, record) from None


def _missing(field: int | str, record: Any) -> TypeMismatchError:
    names: list[Any] = []
    if isinstance(record, dict):
        names = [*record]
    elif isinstance(record, Row):
        names = [*(record._names() or ())]
    elif hasattr(record, "_fields"):
        names = [*record._fields]
    elif _is_dataclass(record):
        names = [each.name for each in dataclasses.fields(record)]
    elif not isinstance(record, tuple | list):
        names = [*getattr(record, "__dict__", ())]
    count = len(record) if isinstance(record, tuple | list | Row) else len(names)
    return TypeMismatchError(
        f"a {type(record).__name__} has no field {field!r}",
        where={"record": repr(record)[:120]},
        hint=_fields_there(count, names),
    )


def _fields_there(count: int, names: Sequence[Any]) -> str:
    if not count:
        return "it has no fields"
    positions = f"it has the positions 0 to {count - 1}"
    return f"{positions}, named {', '.join(map(str, names))}" if names else positions


def _require_whole(field: int | str, record: Any) -> None:
    if field != 0:
        raise TypeMismatchError(
            f"field {field!r} is asked of a {type(record).__name__}, which has no fields",
            where={"record": repr(record)[:120]},
            hint="use position 0, the value itself",
        )
