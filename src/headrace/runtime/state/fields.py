"""Objects of dataclasses that were stored before their class had all the fields that it has now.

Unpickling sets what was pickled and nothing else. A new field with a plain default is read from the
class. One with a factory, or in a class with slots, is not there at all.

A key group's header has the fields that the dataclasses of a state's values had when these were
written. They are compared with the classes of now before the group's first record, and the values
are converted (``evolution.py``). What cannot be known then (classes of no module, objects that no
sample had) is found where an object is read.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pickle
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from types import MemberDescriptorType
from typing import Any, NamedTuple

from headrace.errors import CheckpointError
from headrace.runtime.immutability import ATOMIC_TYPES
from headrace.runtime.state.stored_objects import former_names, sources_of, unclear_names
from headrace.runtime.state.time_buffer import TimeBuffer

_BY_HAND = {"__getstate__", "__setstate__", "__reduce__", "__reduce_ex__", "__getattr__"}
"""A class that has one of these knows itself what its objects are pickled as."""


SeenFields = Mapping[str, list[str]]
"""By dataclass (``module:qualname``), the fields that all of its objects had when written.

``SLOTS`` or ``BY_POSITION`` comes first if they were not pickled as a dict of their fields.
"""

SLOTS, BY_POSITION = ":slots", ":position"
"""Objects of a class with slots are pickled as a pair, of a frozen one as a list of values."""


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


def add_fields(known: dict[str, list[str]], seen: SeenFields) -> None:
    """Add what other values of a state had: of each class the fields that both have."""
    for name, fields in seen.items():
        known[name] = [field for field in known.get(name, fields) if field in fields]


def current_fields(seen: SeenFields) -> SeenFields:
    """Return the fields of the same classes as they are now; of one that is gone, the old ones."""
    found = {**seen}
    for name in seen:
        cls = resolve_class(name)
        now = None if cls is None else fields_of(cls)
        if now is not None:
            found[name] = now[1]
    return found


class ClassChange(NamedTuple):
    """A dataclass (``name``: ``module:qualname``) whose stored objects have to be converted.

    ``stored``: their fields. ``missing``: the new fields that have no default. ``unclear``: fields
    with their earlier names, where the stored fields do not show whether they are renamed yet.
    """

    name: str
    cls: type
    stored: tuple[str, ...]
    missing: tuple[str, ...]
    unclear: tuple[tuple[str, str], ...]


def changed_classes(seen: SeenFields, renamed: Mapping[str, str]) -> list[ClassChange]:
    """Return the classes whose stored objects have to be converted.

    ``renamed``: new names of fields by the old ones, beside those that classes declare.
    """
    found = []
    for name, fields in seen.items():
        cls = resolve_class(name)
        if cls is not None:
            change = _change(name, cls, tuple(fields), tuple(renamed.items()))
            if change is not None:
                found.append(change)
    return found


@lru_cache(maxsize=256)  # each call of a group asks for it
def _change(
    name: str, cls: type, stored: tuple[str, ...], renamed: tuple[tuple[str, str], ...]
) -> ClassChange | None:
    if not dataclasses.is_dataclass(cls) or _is_pickled_by_hand(cls):
        return None
    form = stored[:1] if stored[:1] in ((SLOTS,), (BY_POSITION,)) else ()
    stored = stored[len(form) :]
    fields = dataclasses.fields(cls)
    names = tuple(field.name for field in fields)
    former = former_names(cls, dict(renamed))
    sources = sources_of(names, stored, former)
    unclear = (*unclear_names(names, stored, former),)
    gained = [field for field in fields if sources.get(field.name) != field.name]
    missing = [
        field.name
        for field in gained
        if field.init
        and field.name not in sources
        and field.default is field.default_factory is dataclasses.MISSING
    ]
    if _is_pickled_by_position(cls):
        needed = names != stored
    elif not cls.__dictoffset__:
        needed = bool(gained) or {*names} != {*stored}
    else:
        needed = any(
            field.name in sources or (field.init and not _is_read_from_class(cls, field.name))
            for field in gained
        )
    if not (needed or missing or unclear or form != _form_of(cls)):
        return None
    return ClassChange(name, cls, stored, (*missing,), unclear)


def _form_of(cls: type) -> tuple[str, ...]:
    if _is_pickled_by_position(cls):
        return (BY_POSITION,)
    return () if cls.__dictoffset__ else (SLOTS,)


def _is_pickled_by_position(cls: type) -> bool:
    """Return whether objects are pickled as a list: of a frozen dataclass with slots."""
    return any("__setstate__" in vars(base) for base in inspect.getmro(cls)[:-1])


def classes_in(value: Any, depth: int = 4) -> Iterator[type]:
    """Yield the classes of a state's value; of a list, map or time buffer, that of its last item.

    ``depth``: also those of dataclasses in the fields of dataclasses, so many levels deep.
    """
    cls = class_of_newest(value)
    yield cls
    if depth and fields_of(cls) is not None:
        newest = _newest(value)
        for field in dataclasses.fields(cls):
            part = getattr(newest, field.name, None)
            if type(part) not in ATOMIC_TYPES:
                yield from classes_in(part, depth - 1)


def parts_of(value: Any) -> Iterable[Any]:
    """Return the elements of a list, the values of a map or time buffer, or the value itself."""
    kind = type(value)
    if kind is list:
        return value  # type: ignore[no-any-return]
    if kind is dict:
        return value.values()  # type: ignore[no-any-return]
    return value.values if kind is TimeBuffer else (value,)


def class_of_newest(value: Any) -> type:
    """Return the class of a state's value; of a list, map or time buffer, that of its last item."""
    return type(_newest(value))


def _newest(value: Any) -> Any:
    kind = type(value)
    if kind is list or kind is dict:
        if not value:
            return value
        value = value[-1] if kind is list else value[next(reversed(value))]
    elif kind is TimeBuffer and value.values:
        return value.values[-1]
    return value[0] if type(value) is tuple and value else value


@lru_cache(maxsize=256)  # each call of a group asks for it
def fields_of(kind: type) -> tuple[str, list[str]] | None:
    """Return the name and the fields of a dataclass, as in ``SeenFields``; None if unknown."""
    if not dataclasses.is_dataclass(kind) or _is_pickled_by_hand(kind):
        return None
    fields = [*_form_of(kind), *(field.name for field in dataclasses.fields(kind))]
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


CLASS_ERRORS = (ImportError, AttributeError, pickle.UnpicklingError)
"""With these, objects cannot be read if their class is gone, or is another kind of class."""


def unreadable_error(
    operator: str | None, error: Exception, state: str | None = None, hint: str = ""
) -> CheckpointError:
    """Return the error for stored objects that raised one of ``CLASS_ERRORS``."""
    of = "" if operator is None else f" of operator {operator!r}"
    named = "" if state is None else f" {state!r}"
    return CheckpointError(
        f"the state{named}{of} has objects that cannot be read: {type(error).__name__}: {error}",
        hint="put their class back as it was, or say where it is now"
        f" (headrace.state.moved-classes){hint}",
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


def resolve_class(name: str) -> type | None:
    """Return the class of a name ``module:qualname``; None if there is none.

    No module of Python's own is imported for it: the name may be of somebody else's savepoint.
    """
    module, _, qualname = name.partition(":")
    found: Any = sys.modules.get(module)
    if found is None and module.partition(".")[0] in sys.stdlib_module_names:
        return None
    try:
        found = found or importlib.import_module(module)
        for part in qualname.split("."):
            found = getattr(found, part)
    except Exception:  # the module may be gone, or raise anything: reading an object says so
        return None
    return found if isinstance(found, type) else None


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
