"""Functions of arrays and maps, computed on their Python values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from headrace.sql.coercion import common_type, same_type
from headrace.sql.expressions import Expression
from headrace.sql.functions.collections import last_by_key, null_key
from headrace.sql.functions.function import Function, Signature, TypeRule, table_row
from headrace.sql.functions.kernels import python
from headrace.sql.functions.rules import (
    ANY_NULL,
    NULLABLE,
    a_boolean,
    a_map,
    a_text,
    an_array,
    an_int,
    takes,
    with_nulls,
)
from headrace.sql.types import (
    BOOLEAN,
    INT,
    STRING,
    ArrayType,
    CharacterType,
    CharType,
    DecimalType,
    Field,
    MapType,
    MultisetType,
    NullType,
    NumericType,
    RowType,
    SqlType,
    VarCharType,
)

Values = list[Any]


def _array_and_element(gives: Callable[[ArrayType], SqlType], nulls: str = "first") -> TypeRule:
    """Return the rule of a function of an array and an element of it."""

    def rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
        if len(arguments) != 2 or not isinstance(arguments[0].type, ArrayType):
            return None
        array, given = arguments[0].type, arguments[1].type
        element = common_type([array.element, given], widest=True)
        if element is None or isinstance(element, NullType):
            return None
        if not _fits(given, array.element):
            return None
        if isinstance(given, NumericType | CharacterType):
            element = array.element.with_nullable(element.nullable)
        whole = ArrayType(element, nullable=array.nullable)
        kind = element.with_nullable(given.nullable)
        result = with_nulls(gives(whole), [array] if nulls == "first" else [array, given], ANY_NULL)
        return Signature((whole, kind), result)

    return rule


def _array_without(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    found = _array_and_element(lambda kind: kind)(arguments, options)
    return found and replace(found, result=arguments[0].type)


def _fits(given: SqlType, element: SqlType) -> bool:
    """Return whether a value is, as in Flink, converted to the type of the elements."""
    if isinstance(given, VarCharType) and isinstance(element, CharType):
        return False
    if not isinstance(given, NumericType) or not isinstance(element, NumericType):
        return True
    if isinstance(element, DecimalType):
        return True
    kind = common_type([element, given], widest=True)
    return kind is not None and same_type(kind, element)


def _arrays(least: int, most: int | None) -> TypeRule:
    """Return the rule of a function of arrays of one type, which gives such an array."""

    def rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
        if len(arguments) < least or (most is not None and len(arguments) > most):
            return None
        kind = common_type([each.type for each in arguments], widest=True)
        if not isinstance(kind, ArrayType):
            return None
        types = tuple(kind.with_nullable(each.type.nullable) for each in arguments)
        return Signature(types, kind)

    return rule


def _same(types: Sequence[SqlType]) -> SqlType:
    return types[0]


def _element(types: Sequence[SqlType]) -> SqlType:
    assert isinstance(types[0], ArrayType)
    return types[0].element


def _unique(values: Values) -> Values:
    found: Values = []
    for each in values:
        if each not in found:
            found.append(each)
    return found


def _position(values: Values, element: Any) -> int | None:
    if element is None:
        return None
    return values.index(element) + 1 if element in values else 0


def _slice(values: Values, start: int, end: int | None = None) -> Values:
    size = len(values)
    last = size if end is None else end
    first = start + size + 1 if start < 0 else start or 1
    last = last + size + 1 if last < 0 else last or 1
    if last < first or first > size or last < 1:
        return []
    return values[max(first, 1) - 1 : last]


def _sort(
    values: Values | None, ascending: bool | None = True, *nulls_first: bool | None
) -> Values | None:
    if values is None or ascending is None or nulls_first == (None,):
        return None
    first = nulls_first[0] if nulls_first else ascending
    known = sorted((each for each in values if each is not None), key=_place, reverse=not ascending)
    nulls: Values = [None] * (len(values) - len(known))
    return nulls + known if first else known + nulls


def _place(value: Any) -> tuple[bool, Any]:
    """Return what a value is sorted by: NaN is greater than every number."""
    return value != value, value


def _union(one: Values, two: Values) -> Values:
    return _unique([*one, *two])


def _concat(*arrays: Values) -> Values:
    return [each for array in arrays for each in array]


def _intersect(one: Values, two: Values) -> Values:
    return _unique([each for each in one if each in two])


def _except(one: Values, two: Values) -> Values:
    return _unique([each for each in one if each not in two])


def _extreme(choose: Callable[[Values], Any]) -> Callable[[Values], Any]:
    def extreme(values: Values) -> Any:
        known = [each for each in values if each is not None]
        return choose(known) if known else None

    return extreme


def _join(values: Values, separator: str, null: str | None = None) -> str:
    texts = (null if each is None else each for each in values)
    return separator.join(each for each in texts if each is not None)


def _text_array(kind: SqlType) -> SqlType | None:
    texts = isinstance(kind, ArrayType) and isinstance(kind.element, CharacterType)
    return kind if texts else None


def _ordered(kind: SqlType) -> SqlType | None:
    """Accept an array whose elements have an order."""
    parts = ArrayType | MapType | MultisetType | RowType
    is_ordered = isinstance(kind, ArrayType) and not isinstance(kind.element, parts)
    return kind if is_ordered else None


def _with_null_elements(kind: ArrayType) -> SqlType:
    return kind


def _keys(types: Sequence[SqlType]) -> SqlType:
    assert isinstance(types[0], MapType)
    return ArrayType(types[0].key)


def _items(types: Sequence[SqlType]) -> SqlType:
    assert isinstance(types[0], MapType)
    return ArrayType(types[0].value)


def _entries(types: Sequence[SqlType]) -> SqlType:
    assert isinstance(types[0], MapType)
    return ArrayType(RowType((Field("key", types[0].key), Field("value", types[0].value))))


def _map_of(types: Sequence[SqlType]) -> SqlType:
    assert isinstance(types[0], ArrayType) and isinstance(types[1], ArrayType)
    return MapType(types[0].element, types[1].element)


def _map_from(keys: Values, items: Values) -> list[tuple[Any, Any]] | None:
    if len(keys) != len(items):
        from headrace.errors import SqlError

        raise SqlError("MAP_FROM_ARRAYS has arrays of different lengths")
    if None in keys:
        raise null_key()
    return last_by_key(zip(keys, items, strict=True))


def _maps_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    kind = common_type([each.type for each in arguments], widest=True)
    if not isinstance(kind, MapType):
        return None
    types = tuple(kind.with_nullable(each.type.nullable) for each in arguments)
    return Signature(types, kind)


def _map_union(*maps: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    return last_by_key(chain.from_iterable(maps))


FUNCTIONS = (
    table_row(
        "ARRAY_CONTAINS",
        _array_and_element(lambda _: BOOLEAN),
        python(lambda values, each: None if values is None else each in values, nulls=True),
        "ARRAY_CONTAINS(array, element)",
        "Whether the element is in the array; NULL can be found too.",
        ("ARRAY_CONTAINS(ARRAY[1, 2], 2)", "true"),
    ),
    table_row(
        "ARRAY_DISTINCT",
        takes(an_array, gives=_same),
        python(_unique),
        "ARRAY_DISTINCT(array)",
        "The array with only the first of equal elements.",
        ("ARRAY_DISTINCT(ARRAY[1, 2, 1])", "[1, 2]"),
    ),
    table_row(
        "ARRAY_POSITION",
        _array_and_element(lambda _: INT, "both"),
        python(_position),
        "ARRAY_POSITION(array, element)",
        "The first position of the element, from 1; 0: not found.",
        ("ARRAY_POSITION(ARRAY[5, 6], 6)", "2"),
    ),
    table_row(
        "ARRAY_REMOVE",
        _array_without,
        python(
            lambda values, each: None if values is None else [x for x in values if x != each],
            nulls=True,
        ),
        "ARRAY_REMOVE(array, element)",
        "The array without all occurrences of the element.",
        ("ARRAY_REMOVE(ARRAY[1, 2, 1], 1)", "[2]"),
    ),
    table_row(
        "ARRAY_REVERSE",
        takes(an_array, gives=_same),
        python(lambda values: values[::-1]),
        "ARRAY_REVERSE(array)",
        "The elements in the opposite order.",
        ("ARRAY_REVERSE(ARRAY[1, 2])", "[2, 1]"),
    ),
    table_row(
        "ARRAY_SLICE",
        takes(an_array, an_int, an_int, gives=_same, optional=1),
        python(_slice),
        "ARRAY_SLICE(array, start [, end])",
        "The elements from a position to another one; negative ones count from the end.",
        ("ARRAY_SLICE(ARRAY[1, 2, 3], 2, 3)", "[2, 3]"),
    ),
    table_row(
        "ARRAY_SORT",
        takes(_ordered, a_boolean, a_boolean, gives=_same, optional=2),
        python(_sort, nulls=True),
        "ARRAY_SORT(array [, ascending [, nulls_first]])",
        "The elements in order; NULLs come first if the order is ascending.",
        ("ARRAY_SORT(ARRAY[3, 1, 2])", "[1, 2, 3]"),
    ),
    table_row(
        "ARRAY_UNION",
        _arrays(2, 2),
        python(_union),
        "ARRAY_UNION(array1, array2)",
        "The elements of both arrays, each once.",
        ("ARRAY_UNION(ARRAY[1, 2], ARRAY[2, 3])", "[1, 2, 3]"),
    ),
    table_row(
        "ARRAY_CONCAT",
        _arrays(1, None),
        python(_concat),
        "ARRAY_CONCAT(array1, ...)",
        "The elements of all arrays, one array after the other.",
        ("ARRAY_CONCAT(ARRAY[1], ARRAY[2])", "[1, 2]"),
    ),
    table_row(
        "ARRAY_INTERSECT",
        _arrays(2, 2),
        python(_intersect),
        "ARRAY_INTERSECT(array1, array2)",
        "The elements that are in both arrays, each once.",
        ("ARRAY_INTERSECT(ARRAY[1, 2], ARRAY[2, 3])", "[2]"),
    ),
    table_row(
        "ARRAY_EXCEPT",
        _arrays(2, 2),
        python(_except),
        "ARRAY_EXCEPT(array1, array2)",
        "The elements of array1 that are not in array2.",
        ("ARRAY_EXCEPT(ARRAY[1, 2], ARRAY[2])", "[1]"),
    ),
    table_row(
        "ARRAY_APPEND",
        _array_and_element(_with_null_elements, "both"),
        python(lambda values, each: None if values is None else [*values, each], nulls=True),
        "ARRAY_APPEND(array, element)",
        "The array with the element added at its end.",
        ("ARRAY_APPEND(ARRAY[1], 2)", "[1, 2]"),
    ),
    table_row(
        "ARRAY_PREPEND",
        _array_and_element(_with_null_elements, "both"),
        python(lambda values, each: None if values is None else [each, *values], nulls=True),
        "ARRAY_PREPEND(array, element)",
        "The array with the element added at its start.",
        ("ARRAY_PREPEND(ARRAY[1], 2)", "[2, 1]"),
    ),
    table_row(
        "ARRAY_MAX",
        takes(_ordered, gives=_element, nulls=NULLABLE),
        python(_extreme(max)),
        "ARRAY_MAX(array)",
        "The greatest element that is not NULL.",
        ("ARRAY_MAX(ARRAY[1, 3, 2])", "3"),
    ),
    table_row(
        "ARRAY_MIN",
        takes(_ordered, gives=_element, nulls=NULLABLE),
        python(_extreme(min)),
        "ARRAY_MIN(array)",
        "The least element that is not NULL.",
        ("ARRAY_MIN(ARRAY[2, 1, 3])", "1"),
    ),
    table_row(
        "ARRAY_JOIN",
        takes(_text_array, a_text, a_text, gives=STRING, optional=1),
        python(_join),
        "ARRAY_JOIN(array, separator [, null])",
        "The texts with a separator between them; NULLs are left out, or replaced by a text.",
        ("ARRAY_JOIN(ARRAY['a', 'b'], '-')", "a-b"),
    ),
    table_row(
        "MAP_KEYS",
        takes(a_map, gives=_keys),
        python(lambda pairs: [key for key, _ in pairs]),
        "MAP_KEYS(map)",
        "The keys.",
        ("MAP_KEYS(MAP['a', 1])", '["a"]'),
    ),
    table_row(
        "MAP_VALUES",
        takes(a_map, gives=_items),
        python(lambda pairs: [value for _, value in pairs]),
        "MAP_VALUES(map)",
        "The values.",
        ("MAP_VALUES(MAP['a', 1])", "[1]"),
    ),
    table_row(
        "MAP_ENTRIES",
        takes(a_map, gives=_entries),
        python(lambda pairs: [{"key": key, "value": value} for key, value in pairs]),
        "MAP_ENTRIES(map)",
        "The keys with their values, as rows.",
        ("MAP_ENTRIES(MAP['a', 1])", '[["a", 1]]'),
    ),
    Function(
        "MAP_FROM_ARRAYS",
        takes(an_array, an_array, gives=_map_of),
        python(_map_from),
        ("MAP_FROM_ARRAYS(keys, values)",),
        "The map of keys to the values at the same positions.",
        (("MAP_FROM_ARRAYS(ARRAY['a', 'b'], ARRAY[1, 2])", '[["a", 1], ["b", 2]]'),),
        can_fail=True,
    ),
    table_row(
        "MAP_UNION",
        _maps_rule,
        python(_map_union),
        "MAP_UNION(map1, ...)",
        "The entries of all maps; those of a later one replace those of an earlier one.",
        ("MAP_UNION(MAP['a', 1], MAP['b', 2])", '[["a", 1], ["b", 2]]'),
    ),
)
