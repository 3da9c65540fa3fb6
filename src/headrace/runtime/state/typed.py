"""State objects that make what is written fit the type declared for the state.

They stand around the handles of a ``StateStore`` where a descriptor has a type that checks
anything. Without one the user's function holds the handle itself, so that costs nothing.
As in PyFlink, where every value goes through its type's serializer, an int becomes a float in a
state of DOUBLE, and a tuple a ``Row`` in one of ROW. A FLOAT is kept as it is, but for map keys:
PyFlink rounds it to single precision when it leaves the cache of the state, which few jobs see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headrace.common.typeinfo import ListTypeInfo, MapTypeInfo, TypeInformation
from headrace.common.types.unrounded import unrounded
from headrace.errors import TypeMismatchError

Fit = Callable[[Any], Any]
"""Gives the value that is kept for a value; raises ``TypeMismatchError`` where there is none."""


def typed_value(handle: Any, descriptor: Any) -> Any:
    """A value state that checks what it is given, or the handle where nothing is declared."""
    declared = descriptor.type_info
    coerce = None if declared is None else unrounded(declared).coercer()
    return handle if coerce is None else _TypedValue(handle, coerce, descriptor.get_name())


def typed_list(handle: Any, descriptor: Any) -> Any:
    """A list state that checks its elements, or the handle where nothing is declared."""
    declared = descriptor.type_info
    element = declared.elem_type if isinstance(declared, ListTypeInfo) else None
    fit = _fit_of(element, descriptor)
    return handle if fit is None else _TypedList(handle, fit)


def typed_map(handle: Any, descriptor: Any) -> Any:
    """A map state that checks its keys and values, or the handle where nothing is declared."""
    declared = descriptor.type_info
    if not isinstance(declared, MapTypeInfo):
        return handle
    of_key = _checking(declared._key_type_info, descriptor, "a map key")
    of_value = _fit_of(declared._value_type_info, descriptor, "a map value")
    if of_key is None and of_value is None:
        return handle
    return _TypedMap(handle, of_key or _as_is, of_value or _as_is)


def typed_reducing(get: Callable[[Any], Any], descriptor: Any) -> Any:
    """A reducing state that checks what is added, and what the function makes of it.

    ``get`` gives the handle of a descriptor.
    """
    fit = _fit_of(descriptor.type_info, descriptor)
    if fit is None:
        return get(descriptor)
    return _TypedReducing(get(_FittedDescriptor(descriptor, fit)), fit)


def typed_aggregating(get: Callable[[Any], Any], descriptor: Any) -> Any:
    """An aggregating state that checks its accumulator; ``get`` gives a descriptor's handle."""
    fit = _fit_of(descriptor.type_info, descriptor, "an accumulator")
    return get(descriptor if fit is None else _FittedDescriptor(descriptor, fit))


def _as_is(value: Any) -> Any:
    return value


def _fit_of(declared: TypeInformation | None, descriptor: Any, what: str = "a value") -> Fit | None:
    return _checking(declared and unrounded(declared), descriptor, what)


def _checking(declared: TypeInformation | None, descriptor: Any, what: str) -> Fit | None:
    coerce = None if declared is None else declared.coercer()
    if coerce is None:
        return None
    name = descriptor.get_name()

    def fit(value: Any) -> Any:
        try:
            return coerce(value)
        except TypeMismatchError as error:
            raise _named(error, what, name) from None

    return fit


def _named(error: TypeMismatchError, what: str, name: str) -> TypeMismatchError:
    said = error.message.removeprefix("a value")
    return TypeMismatchError(f"{what} of state {name!r}{said}", where=error.where, hint=error.hint)


class _TypedValue:
    """As ``ValueHandle``; reading is the handle's own method."""

    def __init__(self, handle: Any, coerce: Fit, name: str) -> None:
        self._coerce, self._update, self._name = coerce, handle.update, name
        self.value = handle.value
        self.clear = handle.clear

    def update(self, value: Any) -> None:
        """Set the value; None clears it."""
        try:  # written out, as it spares a call
            value = self._coerce(value)
        except TypeMismatchError as error:
            raise _named(error, "a value", self._name) from None
        self._update(value)


class _TypedReducing:
    """As ``ReducingHandle``."""

    def __init__(self, handle: Any, fit: Fit) -> None:
        self._fit, self._add = fit, handle.add
        self.get = handle.get
        self.clear = handle.clear

    def add(self, value: Any) -> None:
        """Reduce one more value into the state."""
        self._add(self._fit(value))


class _TypedList:
    """As ``ListHandle``."""

    def __init__(self, handle: Any, fit: Fit) -> None:
        self._handle, self._fit = handle, fit
        self.get = handle.get
        self.clear = handle.clear

    def __iter__(self) -> Iterator[Any]:
        return iter(self._handle)

    def add(self, value: Any) -> None:
        """Append one element."""
        self._handle.add(self._fit(value))

    def add_all(self, values: Iterable[Any]) -> None:
        """Append several elements: all of them, or none where one does not fit."""
        self._handle.add_all([*map(self._fit, values)])

    def update(self, values: Iterable[Any]) -> None:
        """Replace the whole list."""
        self._handle.update([*map(self._fit, values)])


class _TypedMap:
    """As ``MapHandle``; keys are looked up as they were put, in the form of their type."""

    def __init__(self, handle: Any, of_key: Fit, of_value: Fit) -> None:
        self._handle, self._of_key, self._of_value = handle, of_key, of_value
        self.items = handle.items
        self.keys = handle.keys
        self.values = handle.values
        self.is_empty = handle.is_empty
        self.clear = handle.clear

    def get(self, key: Any) -> Any:
        """The value under a map key, or None."""
        return self._handle.get(self._of_key(key))

    def contains(self, key: Any) -> bool:
        """True when the map key is present."""
        present: bool = self._handle.contains(self._of_key(key))
        return present

    def put(self, key: Any, value: Any) -> None:
        """Set one entry."""
        self._handle.put(self._of_key(key), self._of_value(value))

    def put_all(self, dict_value: Any) -> None:
        """Set several entries, from a mapping or from pairs: all, or none if one does not fit."""
        pairs = dict_value.items() if hasattr(dict_value, "items") else dict_value
        of_key, of_value = self._of_key, self._of_value
        self._handle.put_all([(of_key(key), of_value(value)) for key, value in pairs])

    def remove(self, key: Any) -> None:
        """Remove one entry; one that is not there is no error."""
        self._handle.remove(self._of_key(key))

    __getitem__ = get
    __setitem__ = put
    __delitem__ = remove
    __contains__ = contains

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())


class _FittedDescriptor:
    """A descriptor whose function gives nothing but what fits."""

    def __init__(self, descriptor: Any, fit: Fit) -> None:
        self._descriptor, self._fit = descriptor, fit

    def __getattr__(self, name: str) -> Any:
        return getattr(self._descriptor, name)

    def get_reduce_function(self) -> Any:
        """The reduce function, with its results made to fit."""
        return _FittedReduce(self._descriptor.get_reduce_function().reduce, self._fit)

    def get_agg_function(self) -> Any:
        """The aggregate function, with its accumulators made to fit."""
        return _FittedAggregate(self._descriptor.get_agg_function(), self._fit)


class _FittedReduce:
    def __init__(self, reduce: Callable[[Any, Any], Any], fit: Fit) -> None:
        self._reduce, self._fit = reduce, fit

    def reduce(self, value1: Any, value2: Any) -> Any:
        return self._fit(self._reduce(value1, value2))


class _FittedAggregate:
    def __init__(self, function: Any, fit: Fit) -> None:
        self._add, self._merge, self._fit = function.add, function.merge, fit
        self.create_accumulator = function.create_accumulator
        self.get_result = function.get_result

    def add(self, value: Any, accumulator: Any) -> Any:
        return self._fit(self._add(value, accumulator))

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return self._fit(self._merge(acc_a, acc_b))
