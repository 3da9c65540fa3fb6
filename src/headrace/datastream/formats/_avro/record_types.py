"""What a record becomes: a dict, a ``Row``, or an object of a dataclass."""

from __future__ import annotations

import dataclasses
import datetime
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

from headrace.common.time import Instant
from headrace.common.types import Row
from headrace.datastream.formats._avro.nodes import Node, kind_of, logical_type, parsed
from headrace.datastream.formats._avro.schema import AvroSchema
from headrace.datastream.formats._class_hints import default_of, hints_of, is_record_class
from headrace.errors import DecodeError, PlanError

Convert = Callable[[Any], Any]


@dataclass(frozen=True)
class RecordType:
    """What the values of a part of a schema become.

    Fields:
        hint: ``dict``, ``Row``, or a type hint: a dataclass, or what stands in one.
        legacy: values as Flink's row schemas have them: timestamps without a zone (UTC), times in
            milliseconds, a UUID as text.
        generic: values as PyFlink's generic records have them: a UUID as text.
    """

    hint: Any
    legacy: bool = False
    generic: bool = False

    @staticmethod
    def of(into: Any) -> RecordType:
        """The shape of a record.

        Raises:
            PlanError: it is neither dict, nor Row, nor a dataclass.
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
        """True for rows."""
        return self.hint is Row

    @property
    def make(self) -> Callable[..., Any]:
        """What makes a record of its fields by name."""
        return self.kind

    def record(self, name: str) -> RecordType:
        """The shape of a record of this name: of several dataclasses the one that is called so."""
        choices = [hint for hint in _choices(self.hint) if is_record_class(hint)]
        short = name.rpartition(".")[2]
        chosen = [hint for hint in choices if len(choices) == 1 or hint.__name__ == short]
        return self if not chosen else RecordType(chosen[0], self.legacy)

    def has(self, name: str) -> bool:
        """Whether the record has the field."""
        return not is_record_class(self.hint) or name in _made_fields(self.hint)

    def field(self, name: str) -> RecordType:
        """The shape of a field."""
        if not is_record_class(self.hint):
            return self
        return RecordType(_bare(hints_of(self.hint)[name]), self.legacy)

    def element(self) -> RecordType:
        """The shape of an array's elements, or of a map's values."""
        if self.hint in (dict, Row):
            return self
        parts = [part for part in typing.get_args(self.hint) if part is not Ellipsis]
        return RecordType(_bare(parts[-1]) if parts else dict, self.legacy)

    def container(self, convert: Convert | None) -> Convert | None:
        """The function for an array or a map whose values go through ``convert``."""
        made = _CONTAINERS.get(typing.get_origin(self.hint) or self.hint)
        if made is None:
            return convert
        return made if convert is None else lambda values: made(convert(values))

    def leaf(self, layout: Node) -> Convert | None:
        """The function for a value without parts; None: it stays as it was read."""
        kind, logical = kind_of(layout), logical_type(layout)
        if self.legacy:
            return _LEGACY.get(f"{kind}-{logical}")
        if self.generic:
            return str if f"{kind}-{logical}" == "string-uuid" else None
        if isinstance(self.hint, type) and issubclass(self.hint, Enum) and kind != "null":
            return _member_of(self.hint)
        if self.hint is Instant and f"{kind}-{logical}" in _INSTANTS:
            return _instant
        return None


def checked_class(into: Any, schema: AvroSchema) -> None:
    """Check that a record of the schema has what a dataclass must be given.

    Raises:
        PlanError: a field without a default is not in the schema.
    """
    node = parsed(schema.text)[0]
    if not isinstance(into, type) or not dataclasses.is_dataclass(into):
        return
    if not isinstance(node, dict) or "fields" not in node:
        return
    there = {field["name"] for field in node["fields"]}
    for field in dataclasses.fields(into):
        required = field.init and default_of(field) is dataclasses.MISSING
        if required and field.name not in there:
            raise PlanError(
                f"{into.__name__} needs {field.name!r}, which {schema.name} does not have",
                hint="give the field a default, or add it to the schema",
            )


@lru_cache(maxsize=256)
def _made_fields(record_class: type) -> frozenset[str]:
    return frozenset(field.name for field in dataclasses.fields(record_class) if field.init)


def _choices(hint: Any) -> tuple[Any, ...]:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return tuple(part for part in typing.get_args(hint) if part is not type(None))
    return (hint,)


def _bare(hint: Any) -> Any:
    """The hint without ``Annotated`` and ``| None``."""
    if typing.get_origin(hint) is typing.Annotated:
        return _bare(typing.get_args(hint)[0])
    choices = _choices(hint)
    return _bare(choices[0]) if len(choices) == 1 and choices[0] is not hint else hint


def _member_of(enum: type[Enum]) -> Convert:
    by_symbol = {member.name: member for member in enum}

    def convert(symbol: str) -> Enum:
        try:
            return by_symbol[symbol]
        except KeyError:
            raise DecodeError(f"{enum.__name__} has no member {symbol!r}") from None

    return convert


def _instant(moment: datetime.datetime) -> Instant:
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
