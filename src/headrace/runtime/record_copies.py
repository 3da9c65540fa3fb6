"""Copies of records that someone may still change.

A ``Row``, or an object of a class, whose values nobody can change becomes a tuple of these values.
Its *layout*, the class and the names, is the same for most records of a block and is stored once.
Any other record is pickled: for dicts and lists nothing is faster.
"""

from __future__ import annotations

import copyreg
import inspect
import pickle
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from keyword import iskeyword
from typing import Any
from unicodedata import is_normalized

from headrace.common.types import Row, RowKind, row_of
from headrace.runtime.immutability import all_atomic, has_only_attributes, is_immutable

RecordLayout = tuple[type, tuple[str, ...] | None, type, int]
"""The common form of several records: class, names of values, container type, and row kind.

The names are None if the values have no names. The container type says whether a row has its values
as a list or a tuple. A record refers to its layout by a number, which so includes the row's kind.
"""

SerializedRecord = bytes | tuple[Any, ...]
"""A pickled record, or the number of its layout followed by its values."""

_Decomposed = tuple[RecordLayout, Collection[Any]]
_Decompose = Callable[[Any], _Decomposed | None]
_Build = Callable[[tuple[Any, ...]], Any]

_KINDS = tuple(RowKind)
_INSERTED = RowKind.INSERT.value

_MAX_LAYOUTS = 16
"""In a block: objects with ever new attributes are pickled."""

_CONSTRUCTION_HOOKS = {"__setstate__", "__getnewargs__", "__getnewargs_ex__"}
"""What pickling and unpickling call of a class, beside those that ``has_only_attributes`` knows."""

_all_str = {str}.issuperset
_decomposers: dict[type, _Decompose | None] = {}
"""The function that decomposes objects of a class; None: they are pickled."""


def serialize_record(value: Any, layouts: dict[RecordLayout, int]) -> SerializedRecord:
    """Return the present content of a value, in a form that later changes do not reach.

    ``layouts`` gets the layout of the value, if it is new.

    Raises:
        TypeError, pickle.PicklingError, AttributeError: it cannot be pickled.
    """
    kind = type(value)
    decompose = _decomposers[kind] if kind in _decomposers else _decomposer_of(kind)
    decomposed = None if decompose is None else decompose(value)
    if decomposed is not None:
        layout, values = decomposed
        if all_atomic(map(type, values)) or all(map(is_immutable, values)):
            number = layouts.get(layout)
            if number is None and len(layouts) < _MAX_LAYOUTS:
                number = layouts[layout] = len(layouts)
            if number is not None:
                return number, *values
    return pickle.dumps(value, 5)


def deserialize_records(
    values: Iterable[SerializedRecord], layouts: Sequence[RecordLayout]
) -> list[Any]:
    """Return new records from the results of ``serialize_record``."""
    loads: Callable[[Any], Any] = pickle.loads
    if not layouts:
        return [*map(loads, values)]
    make = [*map(_builder_of, layouts)]
    return [
        make[record[0]](record) if type(record) is tuple else loads(record) for record in values
    ]


def copy_record(value: Any) -> Any:
    """Return a copy of a record, as another task would get it; an immutable one itself."""
    if is_immutable(value):
        return value
    layouts: dict[RecordLayout, int] = {}
    (copy,) = deserialize_records([serialize_record(value, layouts)], [*layouts])
    return copy


def _decomposer_of(kind: type) -> _Decompose | None:
    decompose: _Decompose | None = None
    if kind is Row:
        decompose = _decompose_row
    elif _is_decomposable(kind):
        decompose = _decompose_object
    return _decomposers.setdefault(kind, decompose)


def _is_decomposable(kind: type) -> bool:
    if not has_only_attributes(kind) or kind in copyreg.dispatch_table:
        return False
    if any(hasattr(kind, name) for name in _CONSTRUCTION_HOOKS) or not _inherits_from_object(
        kind, "__new__"
    ):
        return False
    try:
        pickle.dumps(kind, 5)
    except (AttributeError, TypeError, pickle.PicklingError):
        return False  # its objects cannot be pickled either, and the error of that says more
    return True


def _decompose_object(value: Any) -> _Decomposed:
    attributes = vars(value)
    return (type(value), tuple(attributes), tuple, _INSERTED), attributes.values()


def _decompose_row(value: Row) -> _Decomposed | None:
    names, kind = value._names(), value._row_kind
    if type(kind) is not RowKind:
        return None
    number = kind._value_  # ``value`` is a slow property
    if names is None:
        return (Row, None, tuple, number), value._values
    named_by = type(names)
    if (named_by is not tuple and named_by is not list) or not _all_str(map(type, names)):
        return None
    return (Row, tuple(names), named_by, number), value._values


def _builder_of(layout: RecordLayout) -> _Build:
    """Return a function that puts a value together, from the number of its layout and its parts."""
    kind, names, named_by, row_kind = layout
    if kind is Row:
        change = _KINDS[row_kind]
        if names is None or named_by is tuple:
            return lambda parts: row_of(names, [*parts[1:]], change)
        return lambda parts: row_of([*names], [*parts[1:]], change)
    attributes = (*map(sys.intern, names or ()),)  # as unpickling does
    if all(_is_plain_attribute(kind, name) for name in attributes):
        return _compile_builder(kind, attributes)

    def make(parts: tuple[Any, ...]) -> Any:
        made: Any = object.__new__(kind)
        made.__dict__.update(zip(attributes, parts[1:], strict=True))
        return made

    return make


def _is_plain_attribute(kind: type, name: str) -> bool:
    """Return True if assigning the attribute only stores the value under its name."""
    # Not asked for: a descriptor may answer with something else.
    descriptor = type(inspect.getattr_static(kind, name, None))
    if not _inherits_from_object(kind, "__setattr__") or hasattr(descriptor, "__set__"):
        return False
    # Python reads names in normal form, so written out another one would be another attribute.
    return name.isidentifier() and not iskeyword(name) and is_normalized("NFKC", name)


def _inherits_from_object(kind: type, name: str) -> bool:
    return getattr(kind, name) is getattr(object, name)


def _compile_builder(kind: type, attributes: tuple[str, ...]) -> _Build:
    """Compile a function that assigns each attribute: five times faster than a dictionary."""
    targets = "".join(f", made.{name}" for name in attributes)
    lines = f"def make(parts):\n made = new(kind)\n _{targets}, = parts\n return made"
    names: dict[str, Any] = {"new": object.__new__, "kind": kind}
    exec(lines, names)
    made: _Build = names["make"]
    return made
