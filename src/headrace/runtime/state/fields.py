"""Objects of dataclasses that were stored before their class had all the fields that it has now.

Unpickling sets what was pickled and nothing else. A new field with a plain default is read from the
class. One with a factory, or in a class with slots, is not there at all.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from types import MemberDescriptorType
from typing import Any

from headrace.errors import CheckpointError
from headrace.runtime.plain import ATOMS
from headrace.runtime.state.time_buffer import TimeBuffer

_BY_HAND = {"__getstate__", "__setstate__", "__reduce__", "__reduce_ex__", "__getattr__"}
"""A class that has one of these knows itself what its objects are pickled as."""


def check_fields(operator: str | None, entry: Mapping[Any, Any]) -> None:
    """Refuse an entry with an object that lacks a field of its class.

    Of a list, a map or a buffer by time the first value that is here is looked at.

    Raises:
        CheckpointError: it was stored before the class had the field.
    """
    for state, value in entry.items():
        # Called for each entry that is read, so the usual types are told apart without a call.
        kind = type(value)
        if kind is TimeBuffer and value.values:
            value = value.values[0]
        elif kind is not tuple or not value:
            value = _first(value)
        else:
            value = value[0]  # a value that expires is a pair with the time of its last use
        if type(value) in _without_fields:
            continue
        for field in missing_fields(value):
            name = type(value).__qualname__
            of = "" if operator is None else f" of operator {operator!r}"
            raise CheckpointError(
                f"the state {str(state)!r}{of} holds an object of {name} that was stored before the"
                f" class had the field {field!r}",
                hint=f"give the field a plain default in place of a factory, or give {name} a"
                " __setstate__ that sets it; or start anew with headrace run --fresh",
            )


def missing_fields(value: Any) -> list[str]:
    """The fields of a value's dataclass that it has no value for, without ``field(init=False)``."""
    kind = type(value)
    names = _known[kind] if kind in _known else _known.setdefault(kind, _needed(kind))
    if not names:
        _without_fields.add(kind)
    if not names or getattr(value, "__dict__", {}).keys() >= names:
        return []
    return sorted(name for name in names if not hasattr(value, name))


def _first(value: Any) -> Any:
    if type(value) is list and value:
        value = value[0]
    elif type(value) is dict and value:
        value = next(iter(value.values()))
    elif isinstance(value, TimeBuffer):
        return value.values[0] if value.values else None
    # A value that expires is a pair with the time of its last use.
    return value[0] if type(value) is tuple and value else value


_known: dict[type, frozenset[str]] = {}
_without_fields: set[type] = {*ATOMS}
"""The types that need none: atoms, and those that were met."""


def _needed(kind: type) -> frozenset[str]:
    if not dataclasses.is_dataclass(kind):
        return frozenset()
    for base in inspect.getmro(kind)[:-1]:
        for name in _BY_HAND & vars(base).keys():
            if getattr(vars(base)[name], "__module__", None) != "dataclasses":
                return frozenset()
    return frozenset(
        field.name
        for field in dataclasses.fields(kind)
        if field.init and not _is_read_from_class(kind, field.name)
    )


def _is_read_from_class(kind: type, name: str) -> bool:
    return hasattr(kind, name) and not isinstance(getattr(kind, name), MemberDescriptorType)
