"""Objects of dataclasses that were pickled when their class had other fields than now.

They are loaded as ``StoredObject``: the fields by name, without calling anything of the class.
Pickled again, such an object becomes one of three things, as ``As`` says.
"""

from __future__ import annotations

import copyreg
import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import Enum, auto
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar

from headrace.common._storage.pickles import loads, loads_of_state

Loads = Callable[[bytes], Any]

RENAMED_FROM = "renamed_from"
"""The key of a dataclass field's metadata that has the field's earlier name."""


class As(Enum):
    """What a stored object is pickled as.

    ``STORED``: what it was, to be converted later. ``CURRENT``: an object of the class, with the
    fields of now. ``FIELDS``: a ``SimpleNamespace`` of the fields that were stored.
    """

    STORED = auto()
    CURRENT = auto()
    FIELDS = auto()


class StoredObject:
    """An object as it was pickled; subclasses are made by ``stored_class``."""

    cls: ClassVar[type]
    names: ClassVar[tuple[str, ...]]
    mode: ClassVar[As]
    renamed: ClassVar[Mapping[str, str]]

    def __new__(cls, *_: Any) -> StoredObject:
        made = object.__new__(cls)
        made._state = {}
        return made

    _state: Any

    def __setstate__(self, state: Any) -> None:
        self._state = state

    def fields(self) -> dict[str, Any]:
        """Return the stored fields, and other attributes, by name."""
        state = self._state
        if isinstance(state, list):  # a frozen dataclass with slots: by position
            return dict(zip(self.names, state, strict=True))
        found: dict[str, Any] = {}
        for part in state if isinstance(state, tuple) else (state,):
            found.update(part or {})
        return found

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.fields().items())
        return f"{self.cls.__qualname__}({fields})"

    # A pickler compares it with the class of which it is to make an object.
    __class__ = property(lambda self: self.cls)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.mode is As.STORED:
            return copyreg.__newobj__, (self.cls,), self._state  # type: ignore[attr-defined]
        if self.mode is As.FIELDS:
            return SimpleNamespace, (), self.fields()
        current = _current_fields(self.cls, self.names, self.fields(), self.renamed)
        return _make_object, (self.cls,), current, None, None, _set_fields


def _make_object(cls: Any) -> Any:
    return cls.__new__(cls)


def _set_fields(made: Any, fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        object.__setattr__(made, name, value)


def stored_class(
    cls: type, names: tuple[str, ...], mode: As, renamed: Mapping[str, str]
) -> type[StoredObject]:
    """Return the class whose objects stand for stored objects of ``cls`` with these fields.

    ``renamed``: the new names of fields by the old ones, beside those that the class declares.
    """
    content = {"cls": cls, "names": names, "mode": mode, "renamed": renamed}
    return type("StoredObject", (StoredObject,), content)


def former_names(cls: type, renamed: Mapping[str, str]) -> dict[str, str]:
    """Return the earlier names of a dataclass's fields, by their names of now."""
    found = {new: old for old, new in renamed.items()}
    for field in dataclasses.fields(cls):
        if RENAMED_FROM in field.metadata:
            found[field.name] = field.metadata[RENAMED_FROM]
    return found


def sources_of(
    names: Iterable[str], stored: Collection[str], former: Mapping[str, str]
) -> dict[str, str]:
    """Return the stored field of each field of now; one that is new has none.

    ``former``: earlier names by later ones. A field was renamed since the values were stored
    if they do not have its new name, or if the field that had it was renamed too. Otherwise the
    renaming is an old one, and the names mean what they say, unless ``unclear_names`` has them.
    """
    names = tuple(names)
    origins = _origins(names, stored, former)
    later = {old: name for name, old in origins.items()}

    def has_moved(name: str) -> bool:
        return _end_of(name, later, stored) is _End.FREE

    found = {}
    for name in names:
        old = origins.get(name)
        if old is not None and old in stored and has_moved(old):
            found[name] = old
        elif name in stored and not has_moved(name):
            found[name] = name
    return found


def unclear_names(
    names: Iterable[str], stored: Collection[str], former: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Return the fields of now, and their earlier names, that may or may not be renamed since.

    These are fields that exchange their names, and those that take the name of a stored field which
    is not renamed: stored values of a program with the renaming may have the same fields.
    """
    names = tuple(names)
    origins = _origins(names, stored, former)
    later = {old: name for name, old in origins.items()}

    def is_unclear(name: str, old: str) -> bool:
        if name not in stored or old not in stored:
            return False
        end = _end_of(old, later, stored)
        return end is _End.CIRCLE or (end is _End.TAKEN and old not in names)

    return [(name, old) for name, old in origins.items() if is_unclear(name, old)]


def _origins(
    names: tuple[str, ...], stored: Collection[str], former: Mapping[str, str]
) -> dict[str, str]:
    """Return earlier names: of those that a field has had, the last one that is known."""
    found = {}
    for name in names:
        if name not in former:
            continue
        old, passed = former[name], {name}
        while old in former and old not in stored and old not in names and old not in passed:
            passed.add(old)
            old = former[old]
        found[name] = old
    return found


class _End(Enum):
    """What the name is to which the last of a chain of renamed fields moves.

    ``NONE``: the field is not renamed. ``FREE``: no stored field has the name. ``TAKEN``: a stored
    field has it that is not renamed. ``CIRCLE``: it is that of the first field.
    """

    NONE = auto()
    FREE = auto()
    TAKEN = auto()
    CIRCLE = auto()


def _end_of(first: str, later: Mapping[str, str], stored: Collection[str]) -> _End:
    if first not in later:
        return _End.NONE
    name, passed = first, set()
    while name in later:
        passed.add(name)
        name = later[name]
        if name not in stored:
            return _End.FREE
        if name in passed:
            return _End.CIRCLE
    return _End.TAKEN


def _current_fields(
    cls: type, names: tuple[str, ...], stored: dict[str, Any], renamed: Mapping[str, str]
) -> dict[str, Any]:
    """Return the fields of an object of now; stored attributes that were no fields are kept."""
    found = {name: value for name, value in stored.items() if name not in names}
    fields = dataclasses.fields(cls)
    sources = sources_of((field.name for field in fields), stored, former_names(cls, renamed))
    for field in fields:
        name = field.name
        if name in sources:
            found[name] = stored[sources[name]]
        elif field.default is not dataclasses.MISSING:
            found[name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            found[name] = field.default_factory()
    return found


def loads_of(classes: Mapping[tuple[str, str], type[StoredObject]]) -> Loads:
    """Return what reads pickles.

    Objects of these classes (module, qualname) become ``StoredObject``.
    """
    if not classes:
        return loads_of_state()

    return partial(loads, find=lambda *name: classes.get(name))
