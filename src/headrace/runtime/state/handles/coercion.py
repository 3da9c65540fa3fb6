"""What makes a value that is written to a state fit the type declared for the state.

As in PyFlink, where every value goes through its type's serializer, an int becomes a float in a
state of DOUBLE, and a tuple a ``Row`` in one of ROW. A FLOAT is kept as it is, but for map keys:
PyFlink rounds it to single precision when it leaves the cache of the state, which few jobs see.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.common._types.unrounded import unrounded
from headrace.common.typeinfo import ListTypeInfo, MapTypeInfo, TypeInformation
from headrace.errors import TypeMismatchError

Fit = Callable[[Any], Any]
"""Gives the value that is kept for a value; raises ``TypeMismatchError`` where there is none."""


def fit_of(declared: TypeInformation | None, state: str, what: str = "a value") -> Fit | None:
    """Return a function that coerces values to a type; None if no value needs it."""
    return None if declared is None else _make_coercion(unrounded(declared), state, what)


def fit_of_elements(declared: TypeInformation | None, state: str) -> Fit | None:
    """Return a function that coerces elements to the type of a list state; None if not needed."""
    return fit_of(declared.elem_type if isinstance(declared, ListTypeInfo) else None, state)


def fits_of_map(declared: TypeInformation | None, state: str) -> tuple[Fit, Fit] | None:
    """Return functions that coerce keys and values of a map state; None if not needed."""
    if not isinstance(declared, MapTypeInfo):
        return None
    of_key = _make_coercion(declared._key_type_info, state, "a map key")
    of_value = fit_of(declared._value_type_info, state, "a map value")
    if of_key is None and of_value is None:
        return None
    return of_key or _return_unchanged, of_value or _return_unchanged


def add_state_name(error: TypeMismatchError, what: str, state: str) -> TypeMismatchError:
    """Return the same error, saying what of which state does not fit."""
    said = error.message.removeprefix("a value")
    return TypeMismatchError(f"{what} of state {state!r}{said}", where=error.where, hint=error.hint)


def _make_coercion(declared: TypeInformation, state: str, what: str) -> Fit | None:
    coerce = declared.coercer()
    if coerce is None:
        return None

    def fit(value: Any) -> Any:
        try:
            return coerce(value)
        except TypeMismatchError as error:
            raise add_state_name(error, what, state) from None

    return fit


def _return_unchanged(value: Any) -> Any:
    return value
