"""Arrays, maps and rows: how they are made, and their parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headrace.errors import SqlError, SqlValidationError
from headrace.sql.coercion import common_type, same_type
from headrace.sql.expressions import Call, Expression, Literal
from headrace.sql.functions.function import Function, Session, Signature
from headrace.sql.functions.kernels import as_array, map_values, rows_of
from headrace.sql.functions.rules import takes
from headrace.sql.types import (
    INT,
    ArrayType,
    Field,
    IntegerType,
    MapType,
    MultisetType,
    NullType,
    RowType,
    SqlType,
    to_arrow,
)


def _array_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    element = common_type([each.type for each in arguments])
    if element is None or isinstance(element, NullType):
        return None
    types = tuple(element.with_nullable(each.type.nullable) for each in arguments)
    return Signature(types, ArrayType(element, nullable=False))


def _map_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    key = common_type([each.type for each in arguments[::2]])
    value = common_type([each.type for each in arguments[1::2]])
    if key is None or value is None or isinstance(key, NullType) or isinstance(value, NullType):
        return None
    types = tuple(
        (value if n % 2 else key).with_nullable(each.type.nullable)
        for n, each in enumerate(arguments)
    )
    return Signature(types, MapType(key, value, nullable=False))


def _row_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    fields = tuple(Field(f"EXPR${n}", each.type) for n, each in enumerate(arguments))
    types = tuple(each.type for each in arguments)
    return Signature(types, RowType(fields, nullable=False))


def _rows(arguments: Sequence[Any]) -> tuple[list[Any], int, bool]:
    """Return values as arrays, their length, and whether all were scalars."""
    rows = rows_of(arguments)
    count = 1 if rows is None else rows
    return [as_array(each, count) for each in arguments], count, rows is None


def _interleaved(arrays: Sequence[Any], kind: Any, rows: int) -> Any:
    """Return the values of arrays row by row in one array."""
    import numpy as np
    import pyarrow as pa

    if not arrays:
        return pa.array([], kind)
    order = np.arange(rows * len(arrays)).reshape(len(arrays), rows).T.ravel()
    return pa.concat_arrays([each.cast(kind) for each in arrays]).take(pa.array(order))


def _offsets(rows: int, length: int) -> Any:
    import numpy as np
    import pyarrow as pa

    return pa.array(np.arange(rows + 1, dtype=np.int32) * length)


def _array(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow as pa

    kind = to_arrow(call.type)
    arrays, rows, constant = _rows(arguments)
    values = _interleaved(arrays, kind.value_type, rows)
    made = pa.ListArray.from_arrays(_offsets(rows, len(arrays)), values, type=kind)
    return made[0] if constant else made


def _map(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow as pa

    kind = to_arrow(call.type)
    arrays, rows, constant = _rows(arguments)
    keys = _interleaved(arrays[::2], kind.key_type, rows)
    values = _interleaved(arrays[1::2], kind.item_type, rows)
    if keys.null_count:
        raise null_key()
    made = pa.MapArray.from_arrays(_offsets(rows, len(arrays) // 2), keys, values, type=kind)
    distinct = {each.value for each in call.arguments[::2] if isinstance(each, Literal)}
    if len(distinct) < len(call.arguments) // 2:
        made = pa.array(
            [None if row is None else last_by_key(row) for row in made.to_pylist()], kind
        )
    return made[0] if constant else made


def null_key() -> SqlError:
    """Return the error for a map with the key NULL."""
    return SqlError("a map with the key NULL is not supported")


def last_by_key(entries: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Return the entries; of entries with equal keys, only the last."""
    found: dict[Any, tuple[Any, Any]] = {}
    for key, value in entries:
        found[repr(key) if isinstance(key, list | dict) else key] = (key, value)
    return list(found.values())


def _row(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow as pa

    kind = to_arrow(call.type)
    arrays, _, constant = _rows(arguments)
    made = pa.StructArray.from_arrays(arrays, fields=list(kind))
    return made[0] if constant else made


def _item_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    if len(arguments) != 2:
        return None
    whole, index = (each.type for each in arguments)
    match whole:
        case ArrayType() if isinstance(index, IntegerType):
            given = arguments[1]
            if isinstance(given, Literal) and given.value is not None and given.value < 1:
                raise SqlValidationError(f"an array begins at index 1, not {given.value}")
            return Signature(
                (whole, INT.with_nullable(index.nullable)), whole.element.with_nullable(True)
            )
        case MapType() if common_type([whole.key, index]) is not None:
            key = whole.key.with_nullable(True)
            if not same_type(key, index):
                return Signature((whole, key), whole.value.with_nullable(True))
            return Signature((whole, index), whole.value.with_nullable(True))
        case RowType() if isinstance(arguments[1], Literal) and isinstance(index, IntegerType):
            position = arguments[1].value
            if 1 <= position <= len(whole.fields):
                field = whole.fields[position - 1].type
                return Signature(
                    (whole, index), field.with_nullable(field.nullable or whole.nullable)
                )
    return None


def _item(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    whole, index = arguments
    match call.arguments[0].type:
        case ArrayType():
            return element_at(whole, index)
        case RowType():
            import pyarrow.compute as pc

            return pc.struct_field(whole, [index.as_py() - 1])
    return map_values(_lookup, [whole, index], to_arrow(call.type))


def _lookup(pairs: Any, key: Any) -> Any:
    return dict(pairs).get(key)


def element_at(whole: Any, index: Any) -> Any:
    """Return the elements at positions from 1; NULL where there is none."""
    import pyarrow.compute as pc

    (array, position), _, constant = _rows([whole, index])
    usable = pc.and_(pc.is_valid(array), pc.is_valid(position))
    usable = pc.and_(usable, pc.greater(position, 0))
    inside = pc.and_(usable, pc.less_equal(position, pc.list_value_length(array)))
    starts = array.offsets.slice(0, len(array))
    places = pc.subtract(pc.add(starts, position), 1)
    import pyarrow as pa

    places = pc.if_else(pc.fill_null(inside, False), places, pa.scalar(None, pa.int32()))
    found = array.values.take(places)
    return found[0] if constant else found


def _field_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    if len(arguments) != 1 or len(options) != 1 or not isinstance(arguments[0].type, RowType):
        return None
    row = arguments[0].type
    found = next((each.type for each in row.fields if each.name == options[0]), None)
    if found is None:
        return None
    return Signature((row,), found.with_nullable(found.nullable or row.nullable))


def _field(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow.compute as pc

    row = call.arguments[0].type
    assert isinstance(row, RowType)
    place = [each.name for each in row.fields].index(call.options[0])
    return pc.struct_field(arguments[0], [place])


def _collection(kind: SqlType) -> SqlType | None:
    return kind if isinstance(kind, ArrayType | MapType | MultisetType) else None


def _cardinality(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow.compute as pc

    (value,) = arguments
    if isinstance(call.arguments[0].type, ArrayType):
        return pc.list_value_length(value)
    return map_values(len, [value], to_arrow(call.type))


def _element_of(kind: SqlType) -> SqlType | None:
    return kind if isinstance(kind, ArrayType | MultisetType) else None


def _element_type(types: Sequence[SqlType]) -> SqlType:
    (kind,) = types
    assert isinstance(kind, ArrayType | MultisetType)
    return kind.element.with_nullable(kind.element.nullable or kind.nullable)


def _element_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    if len(arguments) != 1 or _element_of(arguments[0].type) is None:
        return None
    kind = arguments[0].type
    return Signature((kind,), _element_type([kind]))


def _element(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    def only(values: list[Any]) -> Any:
        if len(values) > 1:
            raise SqlError("ELEMENT: the collection has more than one element")
        return values[0] if values else None

    return map_values(only, arguments, to_arrow(call.type))


FUNCTIONS = (
    Function(
        "ARRAY",
        _array_rule,
        _array,
        ("ARRAY[value1, ...]",),
        "An array of the values.",
        (("ARRAY[1, 2, 3]", "[1, 2, 3]"),),
    ),
    Function(
        "MAP",
        _map_rule,
        _map,
        ("MAP[key1, value1, ...]",),
        "A map of the keys to the values.",
        (("MAP['a', 1, 'b', 2]", '[["a", 1], ["b", 2]]'),),
        can_fail=lambda call: any(each.type.nullable for each in call.arguments[::2]),
    ),
    Function(
        "ROW",
        _row_rule,
        _row,
        ("ROW(value1, ...)", "(value1, value2, ...)"),
        "A row of the values.",
        (("ROW(1, 'a')", '[1, "a"]'),),
    ),
    Function(
        "ITEM",
        _item_rule,
        _item,
        ("array[index]", "map[key]"),
        "The element at a position, from 1, or the value of a key; NULL if there is none.",
        (("ARRAY[1, 2][2]", "2"), ("MAP['a', 1]['a']", "1")),
    ),
    Function(
        "FIELD",
        _field_rule,
        _field,
        ("row.field",),
        "A field of a row.",
    ),
    Function(
        "CARDINALITY",
        takes(_collection, gives=INT),
        _cardinality,
        ("CARDINALITY(array)", "CARDINALITY(map)"),
        "The number of elements.",
        (("CARDINALITY(ARRAY[1, 2])", "2"),),
    ),
    Function(
        "ELEMENT",
        _element_rule,
        _element,
        ("ELEMENT(array)",),
        "The only element of an array; NULL if it is empty; more elements fail the job.",
        (("ELEMENT(ARRAY[5])", "5"),),
        can_fail=True,
    ),
)
