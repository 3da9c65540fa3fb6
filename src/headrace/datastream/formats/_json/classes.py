"""Objects of dataclasses from parsed JSON, by the types of their fields."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import types
import typing
import uuid
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from typing import Any

from headrace.common.time import Instant
from headrace.datastream.formats._class_hints import hints_of
from headrace.errors import DecodeError, PlanError

Read = Callable[[Any], Any]


def object_maker(record_class: type) -> Callable[[dict[str, Any]], Any]:
    """Return a function from a JSON object to an object of the class.

    It reads what ``JsonLinesEncoder`` writes: decimals from their digits, times from ISO 8601,
    bytes from base64, enums from their values. It raises ``DecodeError``.

    Raises:
        PlanError: the class is not a dataclass, or a field's type has no JSON form.
    """
    if not (isinstance(record_class, type) and dataclasses.is_dataclass(record_class)):
        raise PlanError(f"records cannot become {record_class!r:.120}", hint="pass a dataclass")
    return _Makers().of_class(record_class)


class _Makers:
    """The functions for one program's classes, which may be recursive."""

    def __init__(self) -> None:
        self._classes: dict[type, Read] = {}

    def of_class(self, record_class: type) -> Read:
        if record_class in self._classes:
            return self._classes[record_class]
        self._classes[record_class] = lambda value: self._classes[record_class](value)
        hints = hints_of(record_class)
        fields = [field for field in dataclasses.fields(record_class) if field.init]
        reads = {field.name: self.of(hints[field.name]) for field in fields}
        name = record_class.__name__

        def make(value: Any) -> Any:
            if type(value) is not dict:
                raise DecodeError(f"{name} is a JSON object, not {value!r:.80}")
            given = {}
            for field, read in reads.items():
                if field in value:
                    try:
                        given[field] = value[field] if read is None else read(value[field])
                    except (ValueError, TypeError, AttributeError, ArithmeticError) as error:
                        why = error.message if isinstance(error, DecodeError) else "it does not fit"
                        raise DecodeError(f"{name}.{field}: {value[field]!r:.80}: {why}") from error
            try:
                return record_class(**given)
            except TypeError as error:
                missing = [field.name for field in fields if field.name not in given]
                raise DecodeError(f"{name} needs more fields ({', '.join(missing)})") from error

        self._classes[record_class] = make
        return make

    def of(self, hint: Any) -> Read | None:
        """Return the function for a type hint; None: the JSON value is used unchanged."""
        origin, args = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Annotated:
            return self.of(args[0])
        if origin in (typing.Union, types.UnionType):
            return self._make_union_reader([part for part in args if part is not type(None)], args)
        if origin in _ARRAYS or hint in _ARRAYS:
            return self._make_array_reader(origin or hint, args)
        if origin in _MAPS and args:
            item = self.of(args[1])
            if item is None:
                return None
            return lambda value: {key: item(part) for key, part in value.items()}
        if hint in _SCALARS:
            return _SCALARS[hint]
        if isinstance(hint, type) and issubclass(hint, Enum):
            return hint
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            return self.of_class(hint)
        if hint in _AS_THEY_ARE or origin is typing.Literal or origin in _MAPS or hint in _MAPS:
            return None
        raise PlanError(f"JSON cannot represent {hint!r:.120}")

    def _make_union_reader(self, parts: Sequence[Any], args: Sequence[Any]) -> Read | None:
        if len(parts) != 1:
            if any(self.of(part) is not None for part in parts):
                raise PlanError(f"JSON does not tell which of {parts!r:.120} a value is")
            return None
        read = self.of(parts[0])
        return None if read is None else lambda value: None if value is None else read(value)

    def _make_array_reader(self, kind: Any, args: Sequence[Any]) -> Read | None:
        parts = [part for part in args if part is not Ellipsis]
        if kind is tuple and len(parts) > 1:
            reads = [self.of(part) or _as_it_is for part in parts]
            return lambda value: tuple(
                r(v) for r, v in zip(reads, _check_array(value), strict=True)
            )
        each = self.of(parts[0]) if parts else None
        made = kind if kind in (tuple, set, frozenset) else list
        if each is None:
            return lambda value: made(_check_array(value))
        return lambda value: made(each(part) for part in _check_array(value))


def _check_array(value: Any) -> list[Any]:
    if type(value) is not list:
        raise DecodeError("a JSON array was expected")
    return value


def _as_it_is(value: Any) -> Any:
    return value


def _make_type_check(kind: type, word: str) -> Read:
    def check(value: Any) -> Any:
        if type(value) is not kind:
            raise DecodeError(f"{word} was expected")
        return value

    return check


def _to_float(value: Any) -> float:
    if type(value) not in (int, float):
        raise DecodeError("a number was expected")
    return float(value)


def _to_decimal(value: Any) -> Decimal:
    if type(value) not in (int, float, str):
        raise DecodeError("a number was expected")
    return Decimal(str(value))


_SCALARS: dict[Any, Read] = {
    bool: _make_type_check(bool, "true or false"),
    int: _make_type_check(int, "a whole number"),
    str: _make_type_check(str, "a string"),
    float: _to_float,
    Decimal: _to_decimal,
    bytes: lambda value: base64.b64decode(value, validate=True),
    datetime.datetime: datetime.datetime.fromisoformat,
    datetime.date: datetime.date.fromisoformat,
    datetime.time: datetime.time.fromisoformat,
    uuid.UUID: uuid.UUID,
    Instant: Instant.of_epoch_milli,
}
_AS_THEY_ARE = (Any, object, type(None))
_ARRAYS = (list, tuple, set, frozenset, Sequence)
_MAPS = (dict, Mapping)
