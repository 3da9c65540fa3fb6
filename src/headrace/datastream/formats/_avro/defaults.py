"""Defaults of fields that were not written: JSON in the schema, values in the record."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from headrace.datastream._extras import fastavro
from headrace.datastream.formats._avro.nodes import (
    Node,
    Walker,
    definition_of,
    kind_of,
    logical_type,
)

_FIXED_VALUES = (type(None), bool, int, float, str, bytes)


def default_maker(
    node: Node, named: Mapping[str, Node], default: Any, convert: Callable[[Any], Any] | None
) -> Callable[[], Any]:
    """A function that gives the default, a new one each time where it could be changed."""
    value = _Defaults(named).visit(node, default)
    if isinstance(value, _FIXED_VALUES):
        made = value if convert is None else convert(value)
        if isinstance(made, _FIXED_VALUES):
            return lambda: made
    if convert is None:
        return lambda: copy.deepcopy(value)
    return lambda: convert(copy.deepcopy(value))


class _Defaults(Walker[Any]):
    """The value that a default's JSON stands for, as if it had been read."""

    def union(self, node: list[Node], default: Any) -> Any:
        branch = next((part for part in node if self._fits(part, default)), node[0])
        return self.visit(branch, default)

    def record(self, node: Node, default: Any) -> Any:
        return {
            field["name"]: self.visit(
                field["type"], default.get(field["name"], field.get("default"))
            )
            for field in node["fields"]
        }

    def array(self, node: Node, default: Any) -> Any:
        return [self.visit(node["items"], part) for part in default]

    def map(self, node: Node, default: Any) -> Any:
        return {key: self.visit(node["values"], part) for key, part in default.items()}

    def scalar(self, node: Node, kind: str, default: Any) -> Any:
        value = default
        if kind in ("bytes", "fixed"):
            value = default.encode("iso-8859-1")  # as the specification says
        elif kind in ("float", "double"):
            value = float(default)
        read = fastavro("read").LOGICAL_READERS.get(f"{kind}-{logical_type(node)}")
        return value if read is None else read(value, node, None)

    def _fits(self, node: Node, default: Any) -> bool:
        kind = kind_of(definition_of(node, self._named))
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
