"""Defaults of fields that were not written: JSON in the schema, values in the record."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from headrace.datastream._extras import fastavro
from headrace.datastream.formats._avro.schema import Node, kind_of, logical_type

_FIXED_VALUES = (type(None), bool, int, float, str, bytes)


def default_maker(
    node: Node, named: Mapping[str, Node], default: Any, convert: Callable[[Any], Any] | None
) -> Callable[[], Any]:
    """A function that gives the default, a new one each time where it could be changed."""
    value = default_value(node, named, default)
    if isinstance(value, _FIXED_VALUES):
        made = value if convert is None else convert(value)
        if isinstance(made, _FIXED_VALUES):
            return lambda: made
    if convert is None:
        return lambda: copy.deepcopy(value)
    return lambda: convert(copy.deepcopy(value))


def default_value(node: Node, named: Mapping[str, Node], default: Any) -> Any:
    """The value that a default's JSON stands for, as if it had been read."""
    if isinstance(node, str):
        node = named.get(node, node)
    if isinstance(node, dict) and not isinstance(node["type"], str):
        return default_value(node["type"], named, default)
    kind = kind_of(node)
    if kind == "union":
        branch = next((part for part in node if _fits(part, named, default)), node[0])
        return default_value(branch, named, default)
    if kind in ("record", "error"):
        return {
            field["name"]: default_value(
                field["type"], named, default.get(field["name"], field.get("default"))
            )
            for field in node["fields"]
        }
    if kind == "array":
        return [default_value(node["items"], named, part) for part in default]
    if kind == "map":
        return {key: default_value(node["values"], named, part) for key, part in default.items()}
    return _scalar(node, kind, default)


def _scalar(node: Node, kind: str, default: Any) -> Any:
    value = default
    if kind in ("bytes", "fixed"):
        value = default.encode("iso-8859-1")  # as the specification says
    elif kind in ("float", "double"):
        value = float(default)
    read = fastavro("read").LOGICAL_READERS.get(f"{kind}-{logical_type(node)}")
    return value if read is None else read(value, node, None)


def _fits(node: Node, named: Mapping[str, Node], default: Any) -> bool:
    kind = kind_of(named.get(node, node) if isinstance(node, str) else node)
    return isinstance(default, _JSON.get(kind, dict)) and not (
        isinstance(default, bool) and kind != "boolean"
    )


_JSON: dict[str, Any] = {
    "null": type(None),
    "boolean": bool,
    "int": int,
    "long": int,
    "float": (int, float),
    "double": (int, float),
    "string": str,
    "bytes": str,
    "fixed": str,
    "enum": str,
    "array": list,
}
