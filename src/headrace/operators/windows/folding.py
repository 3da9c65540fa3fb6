"""How window contents are folded to one accumulator, and whether accumulators can be merged."""

from __future__ import annotations

import dis
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from headrace.operators.aggregates.aggregate import ExtremeRecord, Fold, fold_of
from headrace.operators.windows.contents import Aggregated, Contents, Reduced
from headrace.runtime.user_function import UserFunction


@dataclass(frozen=True)
class Folding:
    """Functions over the accumulator of a window.

    ``initial(value)`` makes one from a record, ``add(accumulator, value)`` adds a record,
    ``merge(first, second)`` merges two, and ``result(accumulator)`` is the window's result.
    """

    initial: Callable[[Any], Any]
    add: Callable[[Any, Any], Any]
    merge: Callable[[Any, Any], Any]
    result: Callable[[Any], Any]


def column_fold(contents: Contents) -> Fold | None:
    """Return the contents as a ``Fold`` that columns can compute; None for other contents."""
    if isinstance(contents, Reduced):
        fold = fold_of(contents.function)
        return None if isinstance(fold, ExtremeRecord) else fold
    if isinstance(contents, Aggregated) and contents.accumulator_type is None:
        return fold_of(contents.function)
    return None


def folding_of(contents: Contents) -> Folding | None:
    """Return the functions that fold the records; None if all records are stored."""
    if isinstance(contents, Reduced):
        reduce = contents.function.as_callable()
        return Folding(_return_unchanged, reduce, reduce, _return_unchanged)
    if isinstance(contents, Aggregated):
        function, fold = contents.fitted(), column_fold(contents)
        if fold is not None:
            return Folding(fold.initial, fold.add, fold.merge, function.get_result)
        create, add = function.create_accumulator, function.add
        return Folding(
            lambda value: add(value, create()),
            lambda accumulator, value: add(value, accumulator),
            function.merge,
            function.get_result,
        )
    return None


def merges_in_order(contents: Contents) -> bool:
    """Return whether merging the accumulators of successive records gives the same as adding all.

    A reduction must be declared associative. An ``AggregateFunction`` must have a real ``merge``:
    functions that are never used with sessions often have none.
    """
    if isinstance(contents, Reduced):
        return bool(getattr(contents.function.target, "associative", False))
    return merges_in_any_order(contents)


def merges_in_any_order(contents: Contents) -> bool:
    """Return whether accumulators may be merged in any order, whichever records they are from.

    ``AggregateFunction.merge`` promises this. ``sum`` of a field does not: it keeps the other
    fields of the record that came first.
    """
    return isinstance(contents, Aggregated) and _has_merge(contents.function)


def _has_merge(function: UserFunction) -> bool:
    method = getattr(type(function.target), "merge", None)
    if not isinstance(method, FunctionType):
        return False
    instructions = [i for i in dis.get_instructions(method) if i.opname not in _NO_OPS]
    if any(i.opname == "RAISE_VARARGS" for i in instructions):
        return False
    # Not a real merge: it returns None, a constant or one of its arguments.
    return len(instructions) > 2 or instructions[0].opname not in _LOADS


_NO_OPS = frozenset({"RESUME", "NOP", "CACHE"})
_LOADS = frozenset({"LOAD_CONST", "LOAD_FAST", "RETURN_CONST", "LOAD_FAST_BORROW"})


def _return_unchanged(value: Any) -> Any:
    return value
