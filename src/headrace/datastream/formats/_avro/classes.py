"""Dataclasses and Avro: the schema of a class, and the conversion of records to its objects."""

from __future__ import annotations

import dataclasses
import datetime
import inspect
import json
import types
import typing
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import Any

from headrace.common._extras import fastavro
from headrace.common.time import Instant
from headrace.common.types import Row, row_of
from headrace.datastream.formats._avro.nodes import Convert, Node, kind_of, logical_type
from headrace.datastream.formats._class_hints import default_of, hints_of, is_record_class
from headrace.errors import DecodeError, PlanError


@dataclass(frozen=True)
class AvroType:
    """An Avro type for a dataclass field, if it is not the default type.

    ``price: Annotated[Decimal, AvroType.decimal(10, 2)]``, or
    ``count: Annotated[int, AvroType("int")]``.
    """

    json: str

    def __init__(self, schema: str | Mapping[str, Any] | list[Any]) -> None:
        object.__setattr__(self, "json", json.dumps(schema))

    @staticmethod
    def decimal(precision: int, scale: int = 0) -> AvroType:
        """Return a decimal type with ``precision`` digits, ``scale`` of them after the point."""
        return AvroType(
            {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
        )


def schema_of_class(record_class: type, namespace: str = "") -> dict[str, Any]:
    """Return the JSON of a dataclass's schema.

    Raises:
        PlanError: the class is not a dataclass, or a field's type has no Avro type.
    """
    if not (isinstance(record_class, type) and dataclasses.is_dataclass(record_class)):
        raise PlanError(
            f"{record_class!r:.120} is no dataclass", hint="decorate it with @dataclass"
        )
    found: dict[str, Any] = _Schemas(namespace).record(record_class)
    return found


class _Schemas:
    """The schemas of one program's classes; a class is defined at its first use."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._defined: dict[str, type] = {}

    def record(self, record_class: type) -> Any:
        if self._is_known(record_class):
            return self._full_name_of(record_class)
        hints = hints_of(record_class)
        fields = [
            self._make_field(record_class, field, hints[field.name])
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

    def _full_name_of(self, named: type) -> str:
        return f"{self._namespace}.{named.__name__}" if self._namespace else named.__name__

    def _make_field(self, owner: type, field: dataclasses.Field[Any], hint: Any) -> dict[str, Any]:
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
            node = [*node[1:], "null"]  # a default must have a union's first type
        return {"name": field.name, "type": node, "default": value}

    def of(self, hint: Any) -> Any:
        """Return the JSON of a type hint's schema."""
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
            return self._make_enum(hint)
        elif isinstance(hint, type) and dataclasses.is_dataclass(hint):
            return self.record(hint)
        raise PlanError(
            f"Avro has no type for {hint!r:.120}",
            hint="say it: Annotated[…, AvroType('bytes')], or pass a schema beside the class",
        )

    def _make_enum(self, enum: type[Enum]) -> Any:
        if self._is_known(enum):
            return self._full_name_of(enum)
        named = {"type": "enum", "name": enum.__name__}
        space = {"namespace": self._namespace} if self._namespace else {}
        return {**named, **space, "symbols": [member.name for member in enum]}


def _as_json(value: Any, node: Any) -> Any:
    """Return a default value as the schema contains it; ``node`` is the JSON of its type.

    Raises:
        PlanError: the value cannot be written in a schema.
    """
    if isinstance(node, list):  # the default's type among several is not known
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
    return _as_json(_to_logical_value(value, known), None)


def _to_logical_value(value: Any, node: Mapping[str, Any]) -> Any:
    """Return the value under a logical type: a number, text or bytes."""
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
        raise PlanError(
            f"the default {value!r:.80} cannot be represented in an Avro schema", hint=reason
        )
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


@dataclass(frozen=True)
class RecordType:
    """The Python types into which a part of a schema is read.

    Fields:
        hint: ``dict``, ``Row``, or a type hint: a dataclass, or the type of one of its fields.
        legacy: values as in Flink's row schemas: timestamps without a zone (UTC), times in
            milliseconds, a UUID as text.
        generic: values as in PyFlink's generic records: a UUID as text.
    """

    hint: Any
    legacy: bool = False
    generic: bool = False

    @staticmethod
    def of(into: Any) -> RecordType:
        """Return the type for records.

        Raises:
            PlanError: ``into`` is neither dict, nor Row, nor a dataclass.
        """
        if into is dict or into is Row or is_record_class(into):
            return RecordType(into)
        raise PlanError(
            f"records cannot become {into!r:.120}", hint="pass dict, Row or a dataclass"
        )

    @property
    def kind(self) -> type:
        """dict, Row or the dataclass."""
        return self.hint if self.hint is Row or is_record_class(self.hint) else dict

    @property
    def by_position(self) -> bool:
        """Whether fields are set by position, as in rows."""
        return self.hint is Row

    @property
    def make(self) -> Callable[..., Any]:
        """The constructor of a record from its fields by name."""
        return self.kind

    def record(self, name: str) -> RecordType:
        """Return the type for a record of this name.

        If there are several dataclasses, return the one with this name.
        """
        choices = [hint for hint in _list_choices(self.hint) if is_record_class(hint)]
        short = name.rpartition(".")[2]
        chosen = [hint for hint in choices if len(choices) == 1 or hint.__name__ == short]
        return self if not chosen else RecordType(chosen[0], self.legacy)

    def has(self, name: str) -> bool:
        """Return whether the record has the field."""
        return not is_record_class(self.hint) or name in _made_fields(self.hint)

    def field(self, name: str) -> RecordType:
        """Return the type of a field."""
        if not is_record_class(self.hint):
            return self
        return RecordType(_strip_annotations(hints_of(self.hint)[name]), self.legacy)

    def element(self) -> RecordType:
        """Return the type of an array's elements, or of a map's values."""
        if self.hint in (dict, Row):
            return self
        parts = [part for part in typing.get_args(self.hint) if part is not Ellipsis]
        return RecordType(_strip_annotations(parts[-1]) if parts else dict, self.legacy)

    def container(self, convert: Convert | None) -> Convert | None:
        """Return the converter of an array or a map whose values are converted by ``convert``."""
        made = _CONTAINERS.get(typing.get_origin(self.hint) or self.hint)
        if made is None:
            return convert
        return made if convert is None else lambda values: made(convert(values))

    def leaf(self, layout: Node) -> Convert | None:
        """Return the converter of a scalar value; None: it is not converted."""
        kind, logical = kind_of(layout), logical_type(layout)
        if self.legacy:
            return _LEGACY.get(f"{kind}-{logical}")
        if self.generic:
            return str if f"{kind}-{logical}" == "string-uuid" else None
        if isinstance(self.hint, type) and issubclass(self.hint, Enum) and kind != "null":
            return _member_of(self.hint)
        if self.hint is Instant and f"{kind}-{logical}" in _INSTANTS:
            return _to_instant
        return None


@lru_cache(maxsize=256)
def _made_fields(record_class: type) -> frozenset[str]:
    return frozenset(field.name for field in dataclasses.fields(record_class) if field.init)


def _list_choices(hint: Any) -> tuple[Any, ...]:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return tuple(part for part in typing.get_args(hint) if part is not type(None))
    return (hint,)


def _strip_annotations(hint: Any) -> Any:
    """Return the hint without ``Annotated`` and ``| None``."""
    if typing.get_origin(hint) is typing.Annotated:
        return _strip_annotations(typing.get_args(hint)[0])
    choices = _list_choices(hint)
    return _strip_annotations(choices[0]) if len(choices) == 1 and choices[0] is not hint else hint


def _member_of(enum: type[Enum]) -> Convert:
    by_symbol = {member.name: member for member in enum}

    def convert(symbol: str) -> Enum:
        try:
            return by_symbol[symbol]
        except KeyError:
            raise DecodeError(f"{enum.__name__} has no member {symbol!r}") from None

    return convert


def _to_instant(moment: datetime.datetime) -> Instant:
    epoch = datetime.datetime(1970, 1, 1, tzinfo=moment.tzinfo)
    micros = (moment - epoch) // datetime.timedelta(microseconds=1)
    return Instant(micros // 1_000_000, micros % 1_000_000 * 1000)


def _without_zone(moment: Any) -> Any:
    return moment.replace(tzinfo=None)


def _to_milliseconds(time: Any) -> Any:
    return time.replace(microsecond=time.microsecond // 1000 * 1000)


_CONTAINERS: dict[Any, Callable[[Any], Any]] = {
    tuple: tuple,
    set: set,
    frozenset: frozenset,
}
_LEGACY: dict[str, Convert] = {
    "long-timestamp-millis": _without_zone,
    "long-timestamp-micros": _without_zone,
    "long-time-micros": _to_milliseconds,
    "string-uuid": str,
}
_INSTANTS = frozenset(
    {
        "long-timestamp-millis",
        "long-timestamp-micros",
        "long-local-timestamp-millis",
        "long-local-timestamp-micros",
    }
)


def record_function(
    fields: Mapping[str, Any], read: Sequence[str], shape: RecordType
) -> Convert | None:
    """Return a function from the dict that was read to the record; None if the dict is the record.

    ``fields``, by name and in order: either (name in the dict, converter or None), or a function
    without arguments that returns the default. ``read``: the names in the dict.
    """
    if shape.kind is dict and _are_fields_unchanged(fields, read):
        return None
    names: dict[str, Any] = {"make": shape.make, "row_of": row_of, "names": tuple(fields)}
    parts = [_generate_argument(index, part, names) for index, part in enumerate(fields.values())]
    if shape.kind is dict:
        pairs = zip(fields, parts, strict=True)
        made = f"{{{', '.join(f'{name!r}: {part}' for name, part in pairs)}}}"
    elif shape.by_position:
        made = f"row_of(names, [{', '.join(parts)}])"
    elif _list_positional_parameters(shape.make)[: len(fields)] == [*fields]:  # 20 % faster
        made = f"make({', '.join(parts)})"
    else:
        pairs = zip(fields, parts, strict=True)
        made = f"make({', '.join(f'{name}={part}' for name, part in pairs)})"
    # A loop over the fields would take three times as long.
    exec(f"def record(read):\n    return {made}", names)
    found: Convert = names["record"]
    return found


def _generate_argument(index: int, part: Any, names: dict[str, Any]) -> str:
    if not isinstance(part, tuple):
        names[f"default{index}"] = part
        return f"default{index}()"
    source, convert = part
    if convert is None:
        return f"read[{source!r}]"
    names[f"convert{index}"] = convert
    return f"convert{index}(read[{source!r}])"


def _list_positional_parameters(make: Callable[..., Any]) -> list[str]:
    """Return the parameters that may be passed by position."""
    parameters = inspect.signature(make).parameters.values()
    return [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]


def _are_fields_unchanged(fields: Mapping[str, Any], read: Sequence[str]) -> bool:
    return list(fields) == list(read) and all(
        isinstance(part, tuple) and part == (name, None) for name, part in fields.items()
    )
