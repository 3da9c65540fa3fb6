"""The parts of a parsed Avro schema: a visitor for them, and their default values."""

from __future__ import annotations

import copy
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Generic, TypeVar

from headrace.common._extras import fastavro
from headrace.errors import DecodeError, PlanError

Node = Any
"""A part of a schema as fastavro parses it: a name, a list (a union) or a dict."""

Convert = Callable[[Any], Any]

T = TypeVar("T")

NAMED = frozenset({"record", "error", "enum", "fixed"})


class Mismatch(DecodeError):
    """Two schemas, or a value and a schema, are incompatible."""


class Walker(ABC, Generic[T]):
    """A visitor of schemas: ``visit`` calls the method for a part's kind, and returns its result.

    A walker of one schema has its named types. Further arguments of ``visit`` are passed to the
    method. Subclasses must handle recursive records.
    """

    def __init__(self, named: Mapping[str, Node]) -> None:
        self._named = named

    def visit(self, node: Node, *args: Any, **kwargs: Any) -> T:
        """Return the result for a part; a name is replaced by its type."""
        node = definition_of(node, self._named)
        kind = kind_of(node)
        if kind == "union":
            return self.union(node, *args, **kwargs)
        if kind in ("record", "error"):
            return self.record(node, *args, **kwargs)
        if kind == "array":
            return self.array(node, *args, **kwargs)
        if kind == "map":
            return self.map(node, *args, **kwargs)
        return self.scalar(node, kind, *args, **kwargs)

    @abstractmethod
    def union(self, node: list[Node], *args: Any, **kwargs: Any) -> T:
        """Return the result for a union."""

    @abstractmethod
    def record(self, node: Node, *args: Any, **kwargs: Any) -> T:
        """Return the result for a record."""

    @abstractmethod
    def array(self, node: Node, *args: Any, **kwargs: Any) -> T:
        """Return the result for an array."""

    @abstractmethod
    def map(self, node: Node, *args: Any, **kwargs: Any) -> T:
        """Return the result for a map."""

    @abstractmethod
    def scalar(self, node: Node, kind: str, *args: Any, **kwargs: Any) -> T:
        """Return the result for a type without parts: a primitive, an enum, a fixed."""


@lru_cache(maxsize=1024)
def parsed(text: str) -> tuple[Node, Mapping[str, Node]]:
    """Return a schema as fastavro parses it, and its named types by their full names.

    Raises:
        PlanError: the text is not an Avro schema.
    """
    named: dict[str, Node] = {}
    return parse_into(text, named), named


def parse_into(text: str, named: dict[str, Node]) -> Node:
    """Return a parsed schema that may refer to types in ``named``; its own types are added there.

    Raises:
        PlanError: the text is not an Avro schema.
    """
    try:
        return fastavro().parse_schema(_intern_strings(json.loads(text)), named)
    except (fastavro("schema").SchemaParseException, *_MALFORMED) as error:
        raise invalid_schema_error(text, error) from error


def invalid_schema_error(text: str, error: Exception) -> PlanError:
    """Return the error for a text that is not a schema."""
    reason = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
    return PlanError(f"this is no Avro schema: {reason}", where={"schema": text[:200]})


def definition_of(node: Node, named: Mapping[str, Node]) -> Node:
    """Return the part itself, or the type if the part is its name."""
    return named.get(node, node) if isinstance(node, str) else node


def kind_of(node: Node) -> str:
    """Return the kind of a part: ``record``, ``union``, ``long``, ….

    For a reference, return the type's name.
    """
    if isinstance(node, list):
        return "union"
    return str(node["type"]) if isinstance(node, dict) else str(node)


def logical_type(node: Node) -> str | None:
    """Return the logical type of a part, if it has one."""
    found = node.get("logicalType") if isinstance(node, dict) else None
    return found if isinstance(found, str) else None


def _intern_strings(node: Any) -> Any:
    """Return the same JSON with interned strings: fastavro compares them for every field.

    Writing 12 fields takes 4.0 µs with it, and 4.4 without.
    """
    if isinstance(node, str):
        return sys.intern(node)
    if isinstance(node, list):
        return [_intern_strings(part) for part in node]
    if isinstance(node, dict):
        return {sys.intern(key): _intern_strings(part) for key, part in node.items()}
    return node


_MALFORMED = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


_FIXED_VALUES = (type(None), bool, int, float, str, bytes)


def default_maker(
    node: Node, named: Mapping[str, Node], default: Any, convert: Callable[[Any], Any] | None
) -> Callable[[], Any]:
    """Return a function that returns the default: a new object each time if it is mutable."""
    value = _Defaults(named).visit(node, default)
    if isinstance(value, _FIXED_VALUES):
        made = value if convert is None else convert(value)
        if isinstance(made, _FIXED_VALUES):
            return lambda: made
    if convert is None:
        return lambda: copy.deepcopy(value)
    return lambda: convert(copy.deepcopy(value))


class _Defaults(Walker[Any]):
    """Converts a default's JSON to the value that reading would give."""

    def union(self, node: list[Node], default: Any) -> Any:
        branch = next((part for part in node if self._is_default_of(part, default)), node[0])
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

    def _is_default_of(self, node: Node, default: Any) -> bool:
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
