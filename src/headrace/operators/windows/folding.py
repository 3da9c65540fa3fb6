"""How the records of a window become one value, and whether values of that kind can be merged."""

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
    """What is kept of records, where columns suffice for it; None for any other contents."""
    if isinstance(contents, Reduced):
        fold = fold_of(contents.function)
        return None if isinstance(fold, ExtremeRecord) else fold
    if isinstance(contents, Aggregated) and contents.accumulator_type is None:
        return fold_of(contents.function)
    return None


def folding_of(contents: Contents) -> Folding | None:
    """How records are folded; None where all of them are kept."""
    if isinstance(contents, Reduced):
        reduce = contents.function.bound()
        return Folding(_identity, reduce, reduce, _identity)
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
    """True when values held of successive records give together what all of the records would.

    A reduction must be declared associative. An ``AggregateFunction`` must have a ``merge`` that
    does something: many that are never used for sessions have none.
    """
    if isinstance(contents, Reduced):
        return bool(getattr(contents.function.target, "associative", False))
    return merges_in_any_order(contents)


def merges_in_any_order(contents: Contents) -> bool:
    """True when it makes no difference which records each of the values was held of.

    That is what ``AggregateFunction.merge`` is for. ``sum`` of a field is not of that kind: it
    keeps the other fields of the record that came first.
    """
    return isinstance(contents, Aggregated) and _has_merge(contents.function)


def _has_merge(function: UserFunction) -> bool:
    method = getattr(type(function.target), "merge", None)
    if not isinstance(method, FunctionType):
        return False
    instructions = [i for i in dis.get_instructions(method) if i.opname not in _NO_OPS]
    if any(i.opname == "RAISE_VARARGS" for i in instructions):
        return False
    # One value, which is given back as it is: None, a constant or one of the arguments.
    return len(instructions) > 2 or instructions[0].opname not in _LOADS


_NO_OPS = frozenset({"RESUME", "NOP", "CACHE"})
_LOADS = frozenset({"LOAD_CONST", "LOAD_FAST", "RETURN_CONST", "LOAD_FAST_BORROW"})


def _identity(value: Any) -> Any:
    return value
