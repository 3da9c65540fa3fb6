"""Converts records to Avro's bytes, and back.

fastavro truncates fractions to integers, accepts any value as a boolean, and reads a timestamp
without a zone as local time. Here the first two are errors, and the last is UTC.
"""

from __future__ import annotations

import dataclasses
import datetime
import struct
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from io import BytesIO
from operator import index
from typing import Any

from headrace.common._extras import fastavro
from headrace.common.time import Instant
from headrace.common.types import Row
from headrace.datastream.formats._avro.classes import RecordType
from headrace.datastream.formats._avro.nodes import (
    Node,
    Walker,
    default_maker,
    definition_of,
    kind_of,
    logical_type,
    parsed,
)
from headrace.datastream.formats._avro.resolution import resolve
from headrace.datastream.formats._avro.schema import AvroSchema
from headrace.errors import DecodeError, HeadraceError, TypeMismatchError

Prepare = Callable[[Any], Any]
Decode = Callable[[bytes], Any]

MISFITS = (TypeError, ValueError, KeyError, AttributeError, ArithmeticError, LookupError)
"""What is raised for records that do not fit."""


TAGGED = {"return_named_type": True, "return_named_type_override": True}

UNREADABLE = (
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    EOFError,
    MemoryError,
    RecursionError,
    struct.error,
)
"""What fastavro raises for bytes that are not of the schema."""


def encoder(schema: AvroSchema) -> Callable[[Any], bytes]:
    """Return a function from a record to its bytes, without any header.

    It raises ``TypeMismatchError`` for a record that does not fit the schema.
    """
    prepare, write, node = preparation(schema), fastavro().schemaless_writer, parsed(schema.text)[0]

    def encode(value: Any) -> bytes:
        out = BytesIO()
        try:
            write(out, node, value if prepare is None else prepare(value))
            return out.getvalue()
        except MISFITS as error:
            raise misfit(schema, value, error) from error

    return encode


def misfit(schema: AvroSchema, value: Any, error: Exception) -> TypeMismatchError:
    """Return the error for a record that does not fit."""
    if isinstance(error, TypeMismatchError):
        return error
    why = f"{error.args[0]!r} is missing" if type(error) is KeyError else str(error)
    return TypeMismatchError(
        f"a record does not fit the Avro schema {schema.name}: {why}",
        where={"value": repr(value)[:200], "type": type(value).__name__},
    )


def preparation(schema: AvroSchema) -> Prepare | None:
    """Return a function from a record to what fastavro writes.

    Return None if records are written unchanged.
    """
    node, named = parsed(schema.text)
    return _Preparation(named).visit(node)


class _Preparation(Walker[Prepare | None]):
    """The functions for one schema. There is one per record type, which may be recursive."""

    def __init__(self, named: Mapping[str, Node]) -> None:
        super().__init__(named)
        self._records: dict[str, Prepare] = {}

    def array(self, node: Node) -> Prepare | None:
        each = self.visit(node["items"])
        return list if each is None else lambda values: [each(value) for value in values]

    def map(self, node: Node) -> Prepare | None:
        prepare = self.visit(node["values"])
        if prepare is None:
            return None
        return lambda entries: {key: prepare(value) for key, value in entries.items()}

    def scalar(self, node: Node, kind: str) -> Prepare | None:
        return _SCALARS.get(f"{kind}-{logical_type(node)}") or _SCALARS.get(kind)

    def record(self, node: Node) -> Prepare:
        name = node["name"]
        if name not in self._records:
            self._records[name] = lambda value: self._records[name](value)
            self._records[name] = self._of_fields(node)
        return self._records[name]

    def _of_fields(self, node: Node) -> Prepare:
        fields: dict[str, Prepare | None] = {
            field["name"]: self.visit(field["type"]) for field in node["fields"]
        }
        missing = {f["name"]: self._default_maker(f) for f in node["fields"]}
        by_class: dict[type, Prepare] = {}

        def retry_with_defaults(value: Mapping[str, Any], error: KeyError) -> Any:
            absent = {name: make() for name, make in missing.items() if name not in value}
            if not absent:
                raise error  # it is not about a field
            return of_dict({**value, **absent})

        def convert_other(value: Any) -> Any:
            kind = type(value)
            if kind is Row:
                return of_row(value)
            found = by_class.get(kind)
            if found is None:
                own = {part.name for part in dataclasses.fields(kind)} if _is_record(value) else ()
                if not all(name in own for name in fields):
                    return of_dict(_by_name(value, names))
                found = by_class[kind] = _compile_record_function(fields, "value.{name}")
            return found(value)

        def of_row(row: Row) -> Any:
            try:
                values = row.get_fields_by_names(names)
            except KeyError:  # the field has a default, or is reported as missing
                return of_dict(_by_name(row, names))
            return of_values(values if len(values) == len(names) else _zip_fields(names, values))

        names = tuple(fields)
        of_dict: Prepare = _compile_record_function(
            fields, "value[{name!r}]", convert_other, retry_with_defaults
        )
        of_values = _compile_record_function(fields, "value[{position}]")
        return of_dict

    def _default_maker(self, field: Mapping[str, Any]) -> Callable[[], Any]:
        if "default" in field:
            return default_maker(field["type"], self._named, field["default"], None)
        if isinstance(field["type"], list) and "null" in field["type"]:
            return lambda: None

        def refuse() -> Any:
            raise TypeMismatchError(f"a record has no field {field['name']!r}")

        return refuse

    def union(self, node: list[Node]) -> Prepare | None:
        branches = [definition_of(branch, self._named) for branch in node]
        prepares = [(part, self.visit(part)) for part in branches if part != "null"]
        if len(prepares) == 1 and len(branches) == 2:
            return _make_nullable(prepares[0][1])
        by_type: dict[type, Prepare] = {}
        by_record: dict[str, tuple[str, Prepare]] = {}
        for branch, prepare in prepares:
            if kind_of(branch) in ("record", "error") and prepare is not None:
                by_record[branch["name"].rpartition(".")[2]] = (branch["name"], prepare)
            elif prepare is not None:
                for kind in _TAKEN_BY.get(f"{kind_of(branch)}-{logical_type(branch)}", ()):
                    by_type[kind] = prepare
        only = next(iter(by_record.values())) if len(by_record) == 1 else None
        maps = any(kind_of(branch) == "map" for branch in branches)

        def prepare_branch(value: Any) -> Any:
            found = by_type.get(type(value))
            if found is not None:
                return found(value)
            if isinstance(value, Enum):
                return value.name
            if isinstance(value, Row) or _is_record(value):
                named = by_record.get(type(value).__name__, only)
                return value if named is None else (named[0], named[1](value))
            if type(value) is dict and only is not None and not maps:
                return (only[0], only[1](value))
            return value

        return prepare_branch


def _make_nullable(prepare: Prepare | None) -> Prepare | None:
    return None if prepare is None else lambda value: None if value is None else prepare(value)


def _compile_record_function(
    fields: Mapping[str, Prepare | None],
    access: str,
    convert_other: Prepare | None = None,
    retry_with_defaults: Callable[[Any, KeyError], Any] | None = None,
) -> Prepare:
    """Return the generated function from a record to a dict; a loop would take twice as long.

    Common types of fields are checked inline. With ``convert_other`` the function is for dicts:
    ``convert_other`` handles other values, and ``retry_with_defaults`` handles dicts without one of
    the keys. A dict in which nothing changes is returned itself.
    """
    names: dict[str, Any] = {
        "convert_other": convert_other,
        "retry_with_defaults": retry_with_defaults,
    }
    parts, fits = [], [f"len(value) == {len(fields)}"]
    for number, (name, prepare) in enumerate(fields.items()):
        taken = access.format(name=name, position=number)
        if prepare is None:
            fits.append(f"{name!r} in value")
        else:
            names[f"prepare{number}"] = prepare
            check = _INLINE.get(prepare)
            if check is None:
                fits = ["False"]
                taken = f"prepare{number}({taken})"
            else:
                fits.append(check.format(f"(x := {taken})"))
                taken = f"x if {fits[-1]} else prepare{number}(x)"
        parts.append(f"{name!r}: {taken}")
    made = f"{{{', '.join(parts)}}}"
    lines = [f"return {made}"]
    if convert_other is not None:
        lines = [
            "if type(value) is not dict: return convert_other(value)",
            f"try: return value if {' and '.join(fits)} else {made}",
            "except KeyError as error: return retry_with_defaults(value, error)",
        ]
    exec("\n    ".join(["def record(value):", *lines]), names)
    found: Prepare = names["record"]
    return found


def _by_name(value: Any, fields: Sequence[str]) -> Mapping[str, Any]:
    """Return the fields of a record that is not a dict, by name."""
    if isinstance(value, Row):
        names = getattr(value, "_fields", None)
        return _zip_fields(fields if names is None else names, list(value))
    if _is_record(value):
        own = {field.name for field in dataclasses.fields(value)}
        return {name: getattr(value, name) for name in fields if name in own}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple | list):
        return _zip_fields(fields, value)
    raise TypeMismatchError(
        f"a {type(value).__name__} is no record: {value!r:.120}",
        hint="map the records to dicts, dataclasses or rows",
    )


def _is_record(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _zip_fields(names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    if len(names) != len(values):
        raise TypeMismatchError(f"{len(values)} values for {len(names)} fields: {values!r:.120}")
    return dict(zip(names, values, strict=True))


def _check_long(value: Any) -> int:
    return _check_int(value, 63)


def _check_int32(value: Any) -> int:
    return _check_int(value, 31)


def _check_int(value: Any, bits: int) -> int:
    """Return ``value`` as an int; raise ValueError if it does not fit ``bits`` bits and a sign."""
    number = index(value)  # raises for a fraction
    if not -(1 << bits) <= number < 1 << bits:
        raise ValueError(f"{number} has more than {bits + 1} bits")
    return number


def _check_boolean(value: Any) -> bool:
    if value is True or value is False:
        return value
    plain = getattr(value, "item", lambda: None)()  # numpy's
    if not isinstance(plain, bool):
        raise TypeError(f"{value!r:.120} is no boolean")
    return plain


def _to_utc_timestamp(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC)
    return _to_datetime(value)


def _to_datetime(value: Any) -> Any:
    if isinstance(value, Instant):
        epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
        micros = value.seconds * 1_000_000 + value.nanos // 1000
        return epoch + datetime.timedelta(microseconds=micros)
    return value


def _to_symbol(value: Any) -> Any:
    return value.name if isinstance(value, Enum) else value


def _return_unchanged(value: Any) -> Any:
    return value


_SCALARS: dict[str, Prepare] = {
    "int": _check_int32,
    "long": _check_long,
    "boolean": _check_boolean,
    "enum": _to_symbol,
    "string-uuid": str,
    "int-date": _return_unchanged,
    "int-time-millis": _return_unchanged,
    "long-time-micros": _return_unchanged,
    "long-timestamp-millis": _to_utc_timestamp,
    "long-timestamp-micros": _to_utc_timestamp,
    "long-local-timestamp-millis": _return_unchanged,
    "long-local-timestamp-micros": _return_unchanged,
}
_INLINE: dict[Prepare, str] = {
    _check_long: f"type({{}}) is int and {-1 << 63} <= x < {1 << 63}",
    _check_int32: f"type({{}}) is int and {-1 << 31} <= x < {1 << 31}",
    _check_boolean: "type({}) is bool",
    _to_symbol: "type({}) is str",
}
"""Checks of values that stay as they are."""
_TAKEN_BY: dict[str, tuple[type, ...]] = {
    "long-timestamp-millis": (datetime.datetime, Instant),
    "long-timestamp-micros": (datetime.datetime, Instant),
    "array-None": (list, tuple, set, frozenset),
}


def decoder(
    writer: AvroSchema, reader: AvroSchema, shape: RecordType, exact: bool = True
) -> Decode:
    """Return a function from bytes, without any header, to their value.

    It raises ``DecodeError`` with the reason in one line. ``exact``: bytes after the value are an
    error, too; Flink ignores them.

    Raises:
        Mismatch: no bytes of the writer's schema can be read with the reader's.
    """
    found = resolve(writer, reader, shape)
    read, layout, convert = fastavro().schemaless_reader, found.layout, found.convert
    options = TAGGED if found.tagged else {}

    def decode(data: bytes) -> Any:
        file = BytesIO(data)
        try:
            value = read(file, layout, None, **options)
            if convert is not None:
                value = convert(value)
        except HeadraceError:
            raise
        except UNREADABLE as error:
            raise DecodeError(unreadable(error)) from error
        if exact and file.tell() != len(data):
            left = len(data) - file.tell()
            raise DecodeError(f"it does not match the schema: {left} bytes are left after its end")
        return value

    return decode


def unreadable(error: BaseException) -> str:
    """Return the reason why bytes could not be decoded, in one line."""
    text = str(error)
    # fastavro raises IndexError when a varint reads beyond the end
    if isinstance(error, EOFError) or text == "string index out of range":
        return "it is truncated"
    if isinstance(error, UnicodeDecodeError):
        return f"it does not match the schema: a string is not UTF-8 ({error.reason})"
    return f"it does not match the schema: {text or type(error).__name__}"
