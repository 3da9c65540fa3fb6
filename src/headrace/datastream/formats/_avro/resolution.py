"""Schema resolution: reads bytes of one Avro schema as values of another.

The bytes are read with the writer's schema, and a function converts the result to the reader's
schema: fields are renamed, dropped, or added with their defaults, numbers are promoted, and records
get the wanted type. It is made once per pair of schemas; if nothing changes, there is no function.
The rules are those of the specification's "Schema Resolution", with two exceptions: the names of
records matter in unions only, and a logical type that only one side has is no mismatch.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from headrace.common._extras import fastavro
from headrace.datastream.formats._avro.classes import RecordType, record_function
from headrace.datastream.formats._avro.nodes import (
    NAMED,
    Convert,
    Mismatch,
    Node,
    Walker,
    default_maker,
    definition_of,
    kind_of,
    logical_type,
    parsed,
)
from headrace.datastream.formats._avro.schema import AvroSchema
from headrace.errors import DecodeError


@dataclass(frozen=True)
class Resolution:
    """How to read: the layout of the bytes, and the conversion of the values.

    ``tagged``: values of unions with several named types are read as (name, value).
    """

    layout: Any
    convert: Convert | None
    tagged: bool


def resolve(writer: AvroSchema, reader: AvroSchema, shape: RecordType) -> Resolution:
    """Return how bytes of the writer's schema are read with the reader's schema.

    Raises:
        Mismatch: no bytes of the one can be read with the other.
    """
    steps = _Resolver(parsed(writer.text)[1], parsed(reader.text)[1])
    layout, convert = steps.visit(parsed(writer.text)[0], parsed(reader.text)[0], shape)
    return Resolution(fastavro().parse_schema(layout), convert, steps.tagged)


class _Resolver(Walker[tuple[Node, Convert | None]]):
    """The layout and the conversion of each part of a pair of schemas.

    It visits the writer's schema together with the reader's; the reader is None for a part that is
    dropped.
    """

    def __init__(self, written: Mapping[str, Node], wanted: Mapping[str, Node]) -> None:
        super().__init__(written)
        self._wanted = wanted
        self._done: dict[tuple[str, str | None, RecordType | None], _Pair] = {}
        self._fixed: dict[str, Node] = {}
        self.tagged = False

    def visit(self, writer: Node, reader: Node, shape: RecordType) -> tuple[Node, Convert | None]:
        """Return the layout and the conversion of one part."""
        writer, reader = definition_of(writer, self._named), definition_of(reader, self._wanted)
        if isinstance(reader, list) and not isinstance(writer, list):
            reader = definition_of(self._branch_for(writer, reader), self._wanted)
        return super().visit(writer, reader, shape)

    def skipped(self, writer: Node) -> Node:
        """Return the layout of a part that is read and dropped."""
        return self.visit(writer, None, RecordType.of(dict))[0]

    def _branch_for(self, writer: Node, union: Node) -> Node:
        """Return the first branch of the reader's union that equals or accepts the writer."""
        for fits in (_is_same_type, _can_promote):
            for branch in union:
                if fits(writer, definition_of(branch, self._wanted)):
                    return branch
        raise Mismatch(f"{_type_text(writer)} is none of the reader's types {_type_text(union)}")

    def union(
        self, writer: list[Node], reader: Node, shape: RecordType
    ) -> tuple[Node, Convert | None]:
        branches = [self._resolve_branch(part, reader, shape) for part in writer]
        tags = sum(branch.tag is not None for branch in branches)
        self.tagged = self.tagged or tags > 1
        if reader is not None and all(branch.why for branch in branches):
            raise Mismatch(branches[0].why)
        return [branch.layout for branch in branches], union_function(branches, tags > 1)

    def _resolve_branch(self, part: Node, reader: Node, shape: RecordType) -> Branch:
        part = definition_of(part, self._named)
        why, convert = "", None
        done = dict(self._done)
        try:
            layout, convert = self.visit(part, reader, shape)
        except Mismatch as error:
            self._done = done  # the types that it named are in no layout
            layout, why = self.skipped(part), reason(error)
        logical = logical_type(self._fixed.get(layout, layout) if type(layout) is str else layout)
        if kind_of(part) not in NAMED:
            return Branch(layout, convert, kind_of(layout), logical, None, why)
        tag = str(layout["name"] if isinstance(layout, dict) else layout)
        return Branch(layout, convert, kind_of(part), logical, tag, why)

    def record(self, writer: Node, reader: Node, shape: RecordType) -> tuple[Node, Convert | None]:
        return self._named_type(writer, reader, shape)

    def array(self, writer: Node, reader: Node, shape: RecordType) -> tuple[Node, Convert | None]:
        return self._resolve_container(writer, reader, shape, "items", _convert_elements)

    def map(self, writer: Node, reader: Node, shape: RecordType) -> tuple[Node, Convert | None]:
        return self._resolve_container(writer, reader, shape, "values", _convert_map_values)

    def scalar(
        self, writer: Node, kind: str, reader: Node, shape: RecordType
    ) -> tuple[Node, Convert | None]:
        return (self._named_type if kind in NAMED else self._resolve_primitive)(
            writer, reader, shape
        )

    def _named_type(
        self, writer: Node, reader: Node, shape: RecordType
    ) -> tuple[Node, Convert | None]:
        kind = kind_of(writer)
        if reader is not None and kind_of(reader) != kind:
            raise Mismatch(f"{_type_text(writer)} cannot be read as {_type_text(reader)}")
        key = (
            writer["name"],
            None if reader is None else reader["name"],
            None if reader is None else shape,
        )
        pair = self._done.get(key)
        if pair is not None:
            return pair.layout_name, pair.later()
        shape = shape if reader is None else shape.record(reader["name"])
        # Each pair gets a separate name, as one type may be read as two.
        pair = self._done[key] = _Pair(f"headrace.T{len(self._done)}")
        if kind in ("record", "error"):
            layout, convert = self._record(writer, reader, shape, pair.layout_name)
        elif kind == "enum":
            layout = {"type": "enum", "name": pair.layout_name, "symbols": writer["symbols"]}
            convert = _convert_symbols(writer, reader, shape)
        else:
            if reader is not None and writer["size"] != reader["size"]:
                raise Mismatch(f"{writer['size']} bytes cannot be read as {reader['size']}")
            layout = {"type": "fixed", "name": pair.layout_name, "size": writer["size"]}
            layout |= _resolve_logical_type(writer, reader)
            self._fixed[pair.layout_name] = layout
            convert = shape.leaf(layout)
        pair.convert, pair.finished = convert, True
        return layout, convert

    def _record(
        self, writer: Node, reader: Node, shape: RecordType, name: str
    ) -> tuple[dict[str, Node], Convert | None]:
        def laid_out(types: Sequence[Node]) -> dict[str, Node]:
            names = [field["name"] for field in writer["fields"]]
            fields = [{"name": n, "type": t} for n, t in zip(names, types, strict=True)]
            return {"type": "record", "name": name, "fields": fields}

        if reader is None:
            return laid_out([self.skipped(field["type"]) for field in writer["fields"]]), None
        sources = _source_fields(writer, reader)
        types: dict[str, Node] = {}
        made: dict[str, Any] = {}
        # In the order of the bytes, so a name is defined before it is used.
        for field in writer["fields"]:
            target = next(
                (f for f in reader["fields"] if sources.get(f["name"]) == field["name"]), None
            )
            if target is None or not shape.has(target["name"]):
                types[field["name"]] = self.skipped(field["type"])
                continue
            inner = shape.field(target["name"])
            try:
                types[field["name"]], convert = self.visit(field["type"], target["type"], inner)
            except Mismatch as error:
                raise _add_field_path(error, target["name"]) from None
            made[target["name"]] = (field["name"], convert)
        layout = laid_out([types[field["name"]] for field in writer["fields"]])
        for field in reader["fields"]:
            if field["name"] not in made and shape.has(field["name"]):
                made[field["name"]] = self._make_default(field, shape.field(field["name"]))
        ordered = {f["name"]: made[f["name"]] for f in reader["fields"] if f["name"] in made}
        return layout, record_function(ordered, [f["name"] for f in writer["fields"]], shape)

    def _make_default(self, field: Mapping[str, Any], shape: RecordType) -> Any:
        if "default" not in field:
            raise Mismatch(f"the field {field['name']!r} was not written, and has no default")
        steps = _Resolver(self._wanted, self._wanted)
        convert = steps.visit(field["type"], field["type"], shape)[1]
        if steps.tagged:
            convert = None  # a default is never read as (name, value)
        return default_maker(field["type"], self._wanted, field["default"], convert)

    def _resolve_container(
        self,
        writer: Node,
        reader: Node,
        shape: RecordType,
        part: str,
        each: Callable[[Convert], Convert],
    ) -> tuple[Node, Convert | None]:
        kind = kind_of(writer)
        if reader is None:
            return {"type": kind, part: self.skipped(writer[part])}, None
        if kind_of(reader) != kind:
            raise Mismatch(f"{_type_text(writer)} cannot be read as {_type_text(reader)}")
        layout, convert = self.visit(writer[part], reader[part], shape.element())
        made = shape.container(None if convert is None else each(convert))
        return {"type": kind, part: layout}, made

    def _resolve_primitive(
        self, writer: Node, reader: Node, shape: RecordType
    ) -> tuple[Node, Convert | None]:
        kind = kind_of(writer)
        if reader is None:
            return kind, None
        wanted = kind_of(reader)
        # a class with an int field gets the number, not the time
        logical = {} if shape.hint is int else _resolve_logical_type(writer, reader)
        if wanted == kind:
            layout = {"type": kind, **logical} if logical else kind
            return layout, shape.leaf(layout)
        if (kind, wanted) == ("int", "long"):  # the same bytes
            layout = {"type": "long", **logical} if logical else "int"
            return layout, shape.leaf(layout)
        if (kind, wanted) not in _PROMOTIONS:
            raise Mismatch(f"{_type_text(writer)} cannot be read as {_type_text(reader)}")
        promote, then = _PROMOTIONS[kind, wanted], shape.leaf(wanted)
        if promote is None or then is None:
            return kind, promote or then
        return kind, lambda value: then(promote(value))


class _Pair:
    """A named type of the writer and one of the reader, during and after resolution."""

    def __init__(self, layout_name: str) -> None:
        self.layout_name = layout_name
        self.convert: Convert | None = None
        self.finished = False

    def later(self) -> Convert | None:
        """Return the conversion.

        Inside the type itself, return a function that looks the conversion up when it is called.
        """
        if self.finished:
            return self.convert
        return lambda value: value if self.convert is None else self.convert(value)


def _source_fields(writer: Node, reader: Node) -> dict[str, str]:
    """Return the writer's field that each field of the reader is read from."""
    written = {field["name"] for field in writer["fields"]}
    found: dict[str, str] = {}
    for field in reader["fields"]:
        names = [field["name"], *field.get("aliases", ())]
        source = next((name for name in names if name in written), None)
        if source is not None:
            found[field["name"]] = source
    return found


def _convert_symbols(writer: Node, reader: Node, shape: RecordType) -> Convert | None:
    if reader is None:
        return None
    leaf = shape.leaf(reader)
    known = set(reader["symbols"])
    unknown = set(writer["symbols"]) - known
    if not unknown:
        return leaf
    instead = reader.get("default")

    def convert(symbol: str) -> Any:
        if symbol not in known:
            if instead is None:
                raise Mismatch(f"{symbol!r} is no symbol of the reader's enum {reader['name']}")
            symbol = instead
        return symbol if leaf is None else leaf(symbol)

    return convert


def _resolve_logical_type(writer: Node, reader: Node) -> dict[str, Any]:
    """Return the logical type of the values that are read.

    It is the writer's if both have one, as it defines the meaning of the numbers; the reader's if
    only the reader has one; none if the reader has the plain type.
    """
    if reader is None or logical_type(reader) is None:
        return {}
    source = writer if logical_type(writer) is not None else reader
    return {name: source[name] for name in ("logicalType", "precision", "scale") if name in source}


def _convert_elements(convert: Convert) -> Convert:
    return lambda values: [convert(value) for value in values]


def _convert_map_values(convert: Convert) -> Convert:
    return lambda entries: {key: convert(value) for key, value in entries.items()}


def _is_same_type(writer: Node, reader: Node) -> bool:
    kind = kind_of(writer)
    if kind != kind_of(reader) or kind not in NAMED:
        return kind == kind_of(reader)
    return _short_name(writer["name"]) == _short_name(reader["name"]) or _has_alias(
        reader, writer["name"]
    )


def _can_promote(writer: Node, reader: Node) -> bool:
    pair = (kind_of(writer), kind_of(reader))
    return pair in _PROMOTIONS or pair == ("int", "long")


def _short_name(name: str) -> str:
    return name.rpartition(".")[2]


def _has_alias(reader: Node, name: str) -> bool:
    aliases = reader.get("aliases", ())
    return name in aliases or _short_name(name) in map(_short_name, aliases)


def _type_text(node: Node) -> str:
    if isinstance(node, list):
        return f"[{', '.join(map(_type_text, node))}]"
    if isinstance(node, dict) and "name" in node:
        return f"{kind_of(node)} {node['name']}"
    return kind_of(node)


def _add_field_path(error: Mismatch, name: str) -> Mismatch:
    inner = error.where.get("field")
    return Mismatch(error.message, where={"field": f"{name}.{inner}" if inner else name})


def reason(error: DecodeError) -> str:
    """Return the reason for an error, in one line."""
    field = error.where.get("field")
    return f"{error.message} (field {field!r})" if field else error.message


_PROMOTIONS: dict[tuple[str, str], Convert | None] = {
    ("int", "float"): float,
    ("int", "double"): float,
    ("long", "float"): float,
    ("long", "double"): float,
    ("float", "double"): None,
    ("string", "bytes"): str.encode,
    ("bytes", "string"): bytes.decode,
}


@dataclass(frozen=True)
class Branch:
    """A type of the writer's union: how it is read and converted.

    ``tag``: the name with which a named type is read. ``why``: the reason if its values cannot be
    converted to the reader's schema.
    """

    layout: Any
    convert: Convert | None
    kind: str
    logical: str | None
    tag: str | None
    why: str

    @property
    def function(self) -> Convert | None:
        """The conversion of its values."""
        return self.convert if not self.why else _always_refuse(self.why)

    @property
    def read_as(self) -> type:
        """The Python type that is read."""
        return _LOGICAL.get(f"{self.kind}-{self.logical}", _PYTHON[self.kind])


def union_function(branches: Sequence[Branch], tagged: bool) -> Convert | None:
    """Return a function for values of the union; None if they do not change.

    ``tagged``: values of named types are (name, value).

    Raises:
        Mismatch: two types that must be converted differently look the same after reading.
    """
    by_tag = {branch.tag: branch.function for branch in branches if tagged and branch.tag}
    by_type: dict[type, Convert | None] = {}
    for branch in branches:
        if tagged and branch.tag:
            continue
        known = branch.read_as in by_type
        if known and by_type[branch.read_as] is not branch.function:
            raise Mismatch(
                f"values of two types of a union look alike ({branch.kind}), "
                "and are to become different ones"
            )
        by_type[branch.read_as] = branch.function
    if by_tag:
        return _dispatch_by_type(by_type, by_tag)
    if not any(by_type.values()):
        return None
    if len(by_type) == 2 and by_type.get(type(None), len) is None:
        (convert,) = [found for found in by_type.values() if found is not None]
        return lambda value: None if value is None else convert(value)
    return _dispatch_by_type(by_type, {})


def _dispatch_by_type(
    by_type: dict[type, Convert | None], by_tag: dict[str, Convert | None]
) -> Convert:
    def convert(value: Any) -> Any:
        kind = type(value)
        if kind is tuple:  # no Avro value is a tuple
            tag, value = value
            found = by_tag[tag]
        else:
            found = by_type[kind]
        return value if found is None else found(value)

    return convert


def _always_refuse(why: str) -> Convert:
    def refuse(value: Any) -> Any:
        raise Mismatch(why)

    return refuse


_PYTHON: dict[str, type] = {
    "null": type(None),
    "boolean": bool,
    "int": int,
    "long": int,
    "float": float,
    "double": float,
    "string": str,
    "bytes": bytes,
    "fixed": bytes,
    "enum": str,
    "array": list,
    "map": dict,
    "record": dict,
    "error": dict,
}
_LOGICAL: dict[str, type] = {
    "int-date": datetime.date,
    "int-time-millis": datetime.time,
    "long-time-micros": datetime.time,
    "long-timestamp-millis": datetime.datetime,
    "long-timestamp-micros": datetime.datetime,
    "long-local-timestamp-millis": datetime.datetime,
    "long-local-timestamp-micros": datetime.datetime,
    "bytes-decimal": Decimal,
    "fixed-decimal": Decimal,
    "string-uuid": uuid.UUID,
}
