"""The function that makes a record of a dict as it was read, generated for its fields."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.common.types import row_of
from headrace.datastream.formats._avro.record_types import RecordType

Convert = Callable[[Any], Any]


def record_function(
    fields: Mapping[str, Any], read: Sequence[str], shape: RecordType
) -> Convert | None:
    """A function from the dict that was read to the record; None where the dict is the record.

    Shapes: ``fields`` has, by name and in order, either (name in the dict, function or None), or a
    function without arguments that gives the default. ``read`` are the names in the dict.
    """
    if shape.kind is dict and _unchanged(fields, read):
        return None
    names: dict[str, Any] = {"make": shape.make, "row_of": row_of, "names": tuple(fields)}
    parts = [_part(index, part, names) for index, part in enumerate(fields.values())]
    if shape.kind is dict:
        pairs = zip(fields, parts, strict=True)
        made = f"{{{', '.join(f'{name!r}: {part}' for name, part in pairs)}}}"
    elif shape.by_position:
        made = f"row_of(names, [{', '.join(parts)}])"
    elif _positions(shape.make)[: len(fields)] == [*fields]:  # saves a fifth of the time
        made = f"make({', '.join(parts)})"
    else:
        pairs = zip(fields, parts, strict=True)
        made = f"make({', '.join(f'{name}={part}' for name, part in pairs)})"
    # A loop over the fields would take three times as long.
    exec(f"def record(read):\n    return {made}", names)
    found: Convert = names["record"]
    return found


def _part(index: int, part: Any, names: dict[str, Any]) -> str:
    if not isinstance(part, tuple):
        names[f"default{index}"] = part
        return f"default{index}()"
    source, convert = part
    if convert is None:
        return f"read[{source!r}]"
    names[f"convert{index}"] = convert
    return f"convert{index}(read[{source!r}])"


def _positions(make: Callable[..., Any]) -> list[str]:
    """The parameters that may be given by position."""
    parameters = inspect.signature(make).parameters.values()
    return [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]


def _unchanged(fields: Mapping[str, Any], read: Sequence[str]) -> bool:
    return list(fields) == list(read) and all(
        isinstance(part, tuple) and part == (name, None) for name, part in fields.items()
    )
