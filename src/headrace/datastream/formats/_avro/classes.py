"""Avro schemas of dataclasses."""

from __future__ import annotations

import dataclasses
import datetime
import json
import types
import typing
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

from headrace.common.time import Instant
from headrace.datastream._extras import fastavro
from headrace.datastream.formats._class_hints import default_of, hints_of
from headrace.errors import PlanError


@dataclass(frozen=True)
class AvroType:
    """The Avro type of a field, where another than the default is wanted.

    ``price: Annotated[Decimal, AvroType.decimal(10, 2)]``, or
    ``count: Annotated[int, AvroType("int")]``.
    """

    json: str

    def __init__(self, schema: str | Mapping[str, Any] | list[Any]) -> None:
        object.__setattr__(self, "json", json.dumps(schema))

    @staticmethod
    def decimal(precision: int, scale: int = 0) -> AvroType:
        """Decimals of so many digits, so many of them after the point."""
        return AvroType(
            {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
        )


def schema_of_class(record_class: type, namespace: str = "") -> dict[str, Any]:
    """The JSON of a dataclass's schema.

    Raises:
        PlanError: it is no dataclass, or a field has a type that Avro has no word for.
    """
    if not (isinstance(record_class, type) and dataclasses.is_dataclass(record_class)):
        raise PlanError(
            f"{record_class!r:.120} is no dataclass", hint="decorate it with @dataclass"
        )
    found: dict[str, Any] = _Schemas(namespace).record(record_class)
    return found


class _Schemas:
    """The schemas of one program's classes; a class is defined where it is met first."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._defined: dict[str, type] = {}

    def record(self, record_class: type) -> Any:
        if self._is_known(record_class):
            return self._full(record_class)
        hints = hints_of(record_class)
        fields = [
            self._field(record_class, field, hints[field.name])
            for field in dataclasses.fields(record_class)
            if field.init
        ]
        named = {"type": "record", "name": record_class.__name__}
        space = {"namespace": self._namespace} if self._namespace else {}
        return {**named, **space, "fields": fields}

    def _is_known(self, named: type) -> bool:
        known = self._defined.get(named.__name__)
        if known is None:
            self._defined[named.__name__] = named
        elif known is not named:
            raise PlanError(f"two types are called {named.__name__!r}: Avro needs different names")
        return known is not None

    def _full(self, named: type) -> str:
        return f"{self._namespace}.{named.__name__}" if self._namespace else named.__name__

    def _field(self, owner: type, field: dataclasses.Field[Any], hint: Any) -> dict[str, Any]:
        try:
            node = self.of(hint)
        except PlanError as error:
            place = f"{owner.__name__}.{field.name}"
            raise PlanError(error.message, where={"field": place}, hint=error.hint) from None
        default = default_of(field)
        if default is dataclasses.MISSING:
            return {"name": field.name, "type": node}
        value = _as_json(default, node)
        if isinstance(node, list) and value is not None and node[0] == "null":
            node = [*node[1:], "null"]  # a default is of a union's first type
        return {"name": field.name, "type": node, "default": value}

    def of(self, hint: Any) -> Any:
        """The JSON of a type hint's schema."""
        origin, args = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Annotated:
            given = next((part for part in args[1:] if isinstance(part, AvroType)), None)
            return self.of(args[0]) if given is None else json.loads(given.json)
        if origin in (typing.Union, types.UnionType):
            parts = [self.of(part) for part in args if part is not type(None)]
            return ["null", *parts] if type(None) in args else parts
        if origin is typing.Literal and all(isinstance(part, str) for part in args):
            return "string"
        if hint in _SIMPLE:
            return _SIMPLE[hint]
        if origin in _ARRAYS or hint in _ARRAYS:
            parts = [part for part in args if part is not Ellipsis]
            if len(parts) == 1:
                return {"type": "array", "items": self.of(parts[0])}
        elif origin in _MAPS and args[0] is str:
            return {"type": "map", "values": self.of(args[1])}
        elif isinstance(hint, type) and issubclass(hint, Enum):
            return self._enum(hint)
        elif isinstance(hint, type) and dataclasses.is_dataclass(hint):
            return self.record(hint)
        raise PlanError(
            f"Avro has no type for {hint!r:.120}",
            hint="say it: Annotated[…, AvroType('bytes')], or pass a schema beside the class",
        )

    def _enum(self, enum: type[Enum]) -> Any:
        if self._is_known(enum):
            return self._full(enum)
        named = {"type": "enum", "name": enum.__name__}
        space = {"namespace": self._namespace} if self._namespace else {}
        return {**named, **space, "symbols": [member.name for member in enum]}


def _as_json(value: Any, node: Any) -> Any:
    """A default as it stands in a schema; ``node`` is the JSON of its type.

    Raises:
        PlanError: it has no form there.
    """
    if isinstance(node, list):  # of several types none is said to be the default's
        others = [branch for branch in node if branch != "null"]
        node = others[0] if len(others) == 1 else None
    if value is None or isinstance(value, bool | int | float | str):
        return value.name if isinstance(value, Enum) else value
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, bytes):
        return value.decode("iso-8859-1")
    if isinstance(value, Instant):
        micros = value.seconds * 1_000_000 + value.nanos // 1000
        value = _EPOCH + datetime.timedelta(microseconds=micros)
    known = node if isinstance(node, dict) else {}
    if isinstance(value, list | tuple | set | frozenset):
        return [_as_json(part, known.get("items")) for part in value]
    if isinstance(value, Mapping):
        return {key: _as_json(part, known.get("values")) for key, part in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        nodes = {field["name"]: field["type"] for field in known.get("fields", ())}
        return {
            f.name: _as_json(getattr(value, f.name), nodes.get(f.name))
            for f in dataclasses.fields(value)
        }
    return _as_json(_written(value, known), None)


def _written(value: Any, node: Mapping[str, Any]) -> Any:
    """A value of a logical type as what stands for it: a number, text or bytes."""
    kind = f"{node.get('type')}-{node.get('logicalType')}"
    writes = fastavro("write").LOGICAL_WRITERS.get(kind)
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        value = value.replace(tzinfo=datetime.UTC)
    reason = "the type of its field is no logical one"
    try:
        found = None if writes is None else writes(value, node)
    except (ValueError, TypeError, ArithmeticError) as error:
        found, reason = None, str(error)
    if not isinstance(found, int | str | bytes):
        raise PlanError(f"the default {value!r:.80} has no form in an Avro schema", hint=reason)
    return found


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_SIMPLE: dict[Any, Any] = {
    bool: "boolean",
    int: "long",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null",
    Decimal: {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 18},
    datetime.datetime: {"type": "long", "logicalType": "timestamp-micros"},
    Instant: {"type": "long", "logicalType": "timestamp-micros"},
    datetime.date: {"type": "int", "logicalType": "date"},
    datetime.time: {"type": "long", "logicalType": "time-micros"},
    uuid.UUID: {"type": "string", "logicalType": "uuid"},
}
_ARRAYS = (list, tuple, set, frozenset, Sequence)
_MAPS = (dict, Mapping)
