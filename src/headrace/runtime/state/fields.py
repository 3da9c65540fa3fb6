"""Objects of dataclasses that were stored before their class had all the fields that it has now.

Unpickling sets what was pickled and nothing else. A new field with a plain default is read from the
class. One with a factory, or in a class with slots, is not there at all.

A key group's header has the fields that the dataclasses of a state's values had when these were
written. They are compared with the classes of now before the group's first record. What cannot be
known then (objects inside of others, classes of no module) is found where an object is read.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Mapping
from functools import lru_cache, reduce
from types import MemberDescriptorType
from typing import Any

from headrace.errors import CheckpointError
from headrace.runtime.immutability import ATOMIC_TYPES
from headrace.runtime.state.time_buffer import TimeBuffer

_BY_HAND = {"__getstate__", "__setstate__", "__reduce__", "__reduce_ex__", "__getattr__"}
"""A class that has one of these knows itself what its objects are pickled as."""


SeenFields = Mapping[str, list[str]]
"""By dataclass (``module:qualname``), the fields that all of its objects had when written."""


def check_fields(operator: str | None, entry: Mapping[Any, Any]) -> None:
    """Check that objects in an entry have all fields of their classes.

    Of a list, map or time buffer only the first loaded value is checked.

    Raises:
        CheckpointError: an object was stored before its class had the field.
    """
    for state, value in entry.items():
        # Called for each entry that is read, so the usual types are told apart without a call.
        kind = type(value)
        if kind is TimeBuffer and value.values:
            value = value.values[0]
        elif kind is not tuple or not value:
            value = _first_object(value)
        else:
            value = value[0]  # a value that expires is a pair with the time of its last use
        if type(value) in _without_fields:
            continue
        for field in missing_fields(value):
            raise _missing_field_error(operator, str(state), type(value).__qualname__, field)


def check_stored_fields(operator: str | None, state: str, seen: SeenFields) -> None:
    """Check that stored objects of a state have all fields of their classes, if importable.

    Raises:
        CheckpointError: a class has a field without plain default that stored objects lack.
    """
    for name, fields in seen.items():
        for field in sorted(_required_fields_by_name(name).difference(fields)):
            raise _missing_field_error(operator, state, name.partition(":")[2], field)


def class_of_newest(value: Any) -> type:
    """Return the class of a state's value; of a list, map or time buffer, that of its last item."""
    kind = type(value)
    if kind is list or kind is dict:
        if not value:
            return kind
        value = value[-1] if kind is list else value[next(reversed(value))]
    elif kind is TimeBuffer and value.values:
        return type(value.values[-1])
    return type(value[0]) if type(value) is tuple and value else type(value)


@lru_cache(maxsize=256)  # each call of a group asks for it
def fields_of(kind: type) -> tuple[str, list[str]] | None:
    """Return the name and the fields of a dataclass; None for other types, or if unknown."""
    if not dataclasses.is_dataclass(kind) or _is_pickled_by_hand(kind):
        return None
    fields = [field.name for field in dataclasses.fields(kind)]
    return f"{kind.__module__}:{kind.__qualname__}", fields


def _missing_field_error(
    operator: str | None, state: str, name: str, field: str
) -> CheckpointError:
    """Return the error for a state whose objects lack a field of their dataclass."""
    of = "" if operator is None else f" of operator {operator!r}"
    return CheckpointError(
        f"the state {state!r}{of} holds an object of {name} that was stored before the"
        f" class had the field {field!r}",
        hint=f"give the field a plain default in place of a factory, or give {name} a"
        " __setstate__ that sets it; or start anew with headrace run --fresh",
    )


def missing_fields(value: Any) -> list[str]:
    """Return the dataclass fields that an object lacks, except those of ``field(init=False)``."""
    kind = type(value)
    names = _known[kind] if kind in _known else _required_fields(kind)
    if not names:
        _without_fields.add(kind)
    if not names or getattr(value, "__dict__", {}).keys() >= names:
        return []
    return sorted(name for name in names if not hasattr(value, name))


def _first_object(value: Any) -> Any:
    if type(value) is list and value:
        value = value[0]
    elif type(value) is dict and value:
        value = next(iter(value.values()))
    elif isinstance(value, TimeBuffer):
        return value.values[0] if value.values else None
    # A value that expires is a pair with the time of its last use.
    return value[0] if type(value) is tuple and value else value


def _required_fields_by_name(name: str) -> frozenset[str]:
    module, _, qualname = name.partition(":")
    try:
        found = reduce(getattr, qualname.split("."), importlib.import_module(module))
    except Exception:  # the module may be gone, or raise anything: reading an object says so
        return frozenset()
    return _required_fields(found) if isinstance(found, type) else frozenset()


def _is_pickled_by_hand(kind: type) -> bool:
    return any(
        getattr(vars(base)[name], "__module__", None) != "dataclasses"
        for base in inspect.getmro(kind)[:-1]
        for name in _BY_HAND & vars(base).keys()
    )


_known: dict[type, frozenset[str]] = {}
_without_fields: set[type] = {*ATOMIC_TYPES}
"""The types that need none: atoms, and those that were met."""


def _required_fields(kind: type) -> frozenset[str]:
    if kind not in _known:
        mine = dataclasses.is_dataclass(kind) and not _is_pickled_by_hand(kind)
        _known[kind] = frozenset(
            field.name
            for field in (dataclasses.fields(kind) if mine else ())
            if field.init and not _is_read_from_class(kind, field.name)
        )
    return _known[kind]


def _is_read_from_class(kind: type, name: str) -> bool:
    return hasattr(kind, name) and not isinstance(getattr(kind, name), MemberDescriptorType)
