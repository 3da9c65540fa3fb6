"""Results of process functions: values for the main output, ``(tag, value)`` for a side output."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Iterable
from types import GeneratorType
from typing import Any

from headrace.common._output_tag import OutputTag
from headrace.common.types import Row
from headrace.errors import TypeMismatchError
from headrace.runtime.loops import Push, Step
from headrace.runtime.operator import NodeProgram, Outputs

Emit = Callable[[Iterable[Any], int | None], None]


def emitter(outputs: Outputs) -> Emit:
    """Return a function that emits results, with a timestamp (ms), to main and side outputs."""
    main, to_side = outputs.main, side_output_sender(outputs)

    def emit(results: Iterable[Any], timestamp: int | None) -> None:
        for result in results:
            if type(result) is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
                to_side(result, timestamp)
            else:
                main(result, timestamp)

    return emit


def results_step(node: NodeProgram, element: Any, context: Any, outputs: Outputs) -> Step:
    """Return a step that calls ``element(value, context)`` and emits the results.

    The function may be a generator, which runs while its results are processed downstream.
    """
    names = {
        "node": node,
        "element": element,
        "context": context,
        "to_side": side_output_sender(outputs),
        "tag": OutputTag,
        "list": list,
        "expected": EXPECTED_RESULT_TYPES,
        "check": check_results,
    }
    # Functions that do not yield mostly return a list, so it is checked first.
    check = "if type($results) is not $list and type($results) not in $expected: $check($results)"
    return Step(
        (
            "$ctx._timestamp = timestamp",
            "$results = $call(value, $ctx)",
            "if $results is not None:",
            *(() if always_yields(element) else (f"    {check}",)),
            "    $record, $stamp = value, timestamp",
            "    for value in $results:",
            "        if type(value) is tuple and len(value) == 2 and isinstance(value[0], $tag):",
            "            $to_side(value, timestamp)",
            "            value = $record",
            "        else:",
        ),
        names,
        cleanup=("node, value, timestamp = $node, $record, $stamp",),
        prologue=("node, $ctx, $call = $node, $context, $element",),
    )


EXPECTED_RESULT_TYPES = frozenset({GeneratorType, list, set, range, type(None)})
"""Types that clearly hold results; values of other types go to ``check_results``."""


def always_yields(function: Any) -> bool:
    """Return whether a function is a generator function."""
    return inspect.isgeneratorfunction(function)


_warned: set[type] = set()
"""The types that were warned about in this process, once each."""


def check_results(results: Any) -> None:
    """Warn if a function seems to have returned one result instead of an iterable of results.

    As in PyFlink, each item of an iterable is a result, for example each character of a text. That
    is rarely intended. Tuples of results are common, so they cause no warning.

    Raises:
        TypeMismatchError: it returned a tuple ``(OutputTag, value)``, whose items would be results.
    """
    kind = type(results)
    if kind is tuple:
        if len(results) == 2 and isinstance(results[0], OutputTag):
            raise TypeMismatchError(
                "the function returned an OutputTag and a value: each would be a result",
                where={"returned": repr(results)[:120]},
                hint="yield the pair, or return [pair]",
            )
        return
    fields = isinstance(results, tuple) and hasattr(kind, "_fields")
    if kind in _warned or not (fields or isinstance(results, str | bytes | bytearray | dict | Row)):
        return
    _warned.add(kind)
    node = sys._getframe(1).f_locals.get("node")  # the operator at work
    of = "" if node is None else f" of {node.name}, built at {node.site},"
    warnings.warn(
        f"a function{of} returned {repr(results)[:120]}, a {kind.__name__}: each part is a result."
        " Where it is one result, yield it, or return [result]; where the parts are meant, return"
        " list(...)",
        stacklevel=2,
    )


def side_output_sender(outputs: Outputs) -> Push:
    """Return a function that sends a pair ``(tag, value)`` to the tag's side output."""
    side_of = outputs.side
    sides: dict[str, Push] = {}

    def to_side(result: tuple[OutputTag, Any], timestamp: int | None) -> None:
        tag, value = result
        side = sides.get(tag.tag_id)
        if side is None:
            side = sides[tag.tag_id] = side_of(tag.tag_id)
        side(value, timestamp)

    return to_side
