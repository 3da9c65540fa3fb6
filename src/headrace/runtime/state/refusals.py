"""Errors of values that cannot be stored; they name operator, state and key."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

from headrace.errors import HeadraceError, StateTooLargeError, UnpicklableStateError

_SHOWN_CHARACTERS = 200
_MIB = 1 << 20


def check_size(data: bytes, most_bytes: int) -> None:
    """Check that a record has at most ``most_bytes``; the caller adds its location to the error.

    Raises:
        StateTooLargeError: the record is larger.
    """
    if len(data) > most_bytes:
        error = StateTooLargeError(
            f"a value in state has {len(data) / _MIB:,.1f} MiB when it is pickled, and"
            f" {most_bytes / _MIB:,.1f} MiB are allowed",
            hint="keep its parts in a ListState or a MapState, which are stored in small records;"
            " or raise headrace.state.max-value-bytes, and with it"
            " headrace.spark.conf.spark.driver.memory",
        )
        error.size_bytes = len(data)
        raise error


def storage_error(
    operator: str | None,
    key: Any,
    entry: Mapping[Any, Any],
    error: Exception,
    of_store: frozenset[type],
) -> Exception:
    """Return the error for an entry that cannot be stored: for the value at fault, or ``error``.

    ``of_store``: the types of values that read from the store when they are pickled.
    """
    here = {slot: value for slot, value in entry.items() if type(value) not in of_store}
    if isinstance(error, StateTooLargeError):
        if not error.where:
            sizes = {slot: _pickled_size(value) for slot, value in here.items()}
            large = [slot for slot, size in sizes.items() if size >= error.size_bytes]
            parts = [slot for slot in entry if slot not in here]
            slot = (large or parts or [max(sizes, key=sizes.__getitem__)])[0]
            error.where = _describe_place(operator, slot, key)
        return error
    if isinstance(error, HeadraceError):
        return error
    for slot, value in here.items():
        found = find_unpicklable_value(operator, slot, key, value)
        if found is not None:
            return found
    if isinstance(error, TypeError | AttributeError | pickle.PicklingError):
        for slot in entry.keys() - here.keys():
            return _unpicklable_error(error, _describe_place(operator, slot, key))
    return error


def find_unpicklable_value(
    operator: str | None, slot: Any, key: Any, value: Any
) -> UnpicklableStateError | None:
    """Return the error for a value of a state that cannot be pickled; None for any other value."""
    try:
        pickle.dumps(value, 5)
    except Exception as error:  # a class may raise anything when it is pickled
        shown = f"{type(value).__name__} {_shorten(value)}"
        return _unpicklable_error(error, {**_describe_place(operator, slot, key), "value": shown})
    return None


def _unpicklable_error(error: Exception, where: Mapping[str, str]) -> UnpicklableStateError:
    return UnpicklableStateError(
        f"a value in state cannot be pickled: {type(error).__name__}: {error}",
        where=where,
        hint="keep plain values, rows and objects of classes of your modules in state; make"
        " clients, locks and generators in open()",
    )


def _describe_place(operator: str | None, slot: Any, key: Any) -> dict[str, str]:
    of = {} if operator is None else {"operator": operator}
    return {**of, "state": str(slot), "key": _shorten(key)}


def _pickled_size(value: Any) -> int:
    try:
        return len(pickle.dumps(value, 5))
    except Exception:  # it is not the size that is wrong with it
        return 0


def _shorten(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:  # a user's __repr__ must not hide the error
        text = f"<repr() raised {type(error).__name__}>"
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "..."
