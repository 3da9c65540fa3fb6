"""Which function a union's value goes through: found by what was read."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from headrace.datastream.formats._avro.nodes import Mismatch

Convert = Callable[[Any], Any]


@dataclass(frozen=True)
class Branch:
    """A type of the writer's union: how it is read, and what becomes of it.

    ``tag`` is the name under which a named type is read, ``why`` the reason that values of it have
    no place in the reader's schema.
    """

    layout: Any
    convert: Convert | None
    kind: str
    logical: str | None
    tag: str | None
    why: str

    @property
    def function(self) -> Convert | None:
        """What its values go through."""
        return self.convert if not self.why else _refusing(self.why)

    @property
    def read_as(self) -> type:
        """The Python type of what is read."""
        return _LOGICAL.get(f"{self.kind}-{self.logical}", _PYTHON[self.kind])


def union_function(branches: Sequence[Branch], tagged: bool) -> Convert | None:
    """A function for values of the union; None where they stay as they are.

    ``tagged``: values of named types come as (name, value).

    Raises:
        Mismatch: what was read does not tell two of the types apart, and it matters.
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
        return _dispatching(by_type, by_tag)
    if not any(by_type.values()):
        return None
    if len(by_type) == 2 and by_type.get(type(None), len) is None:
        (convert,) = [found for found in by_type.values() if found is not None]
        return lambda value: None if value is None else convert(value)
    return _dispatching(by_type, {})


def _dispatching(by_type: dict[type, Convert | None], by_tag: dict[str, Convert | None]) -> Convert:
    def convert(value: Any) -> Any:
        kind = type(value)
        if kind is tuple:  # no value of Avro's is a tuple
            tag, value = value
            found = by_tag[tag]
        else:
            found = by_type[kind]
        return value if found is None else found(value)

    return convert


def _refusing(why: str) -> Convert:
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
