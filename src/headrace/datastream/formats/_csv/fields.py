"""The fields of a CSV line: reading, writing, and taking them from records."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common.typeinfo import BasicType, BasicTypeInfo, TypeInformation
from headrace.common.types import Row
from headrace.datastream.formats._json.values import element_type, scalar_from_json, to_text
from headrace.errors import PlanError, TypeMismatchError


@dataclass(frozen=True)
class CsvDialect:
    """The special characters of a CSV text."""

    delimiter: str = ","
    quote: str | None = '"'
    escape: str | None = None
    null: str | None = None
    line_end: str = "\n"

    def __post_init__(self) -> None:
        for what, char in (
            ("separator", self.delimiter),
            ("quote", self.quote),
            ("escape", self.escape),
        ):
            if char is not None and len(char) != 1:
                raise PlanError(f"the {what} of a CSV text must be one character, not {char!r}")

    def options(self) -> dict[str, Any]:
        """Return the arguments for the ``csv`` module."""
        quoting = csv.QUOTE_NONE if self.quote is None else csv.QUOTE_MINIMAL
        return {
            "delimiter": self.delimiter,
            "quotechar": self.quote,
            "escapechar": self.escape,
            "quoting": quoting,
            "strict": True,
        }


def field_reader(kind: TypeInformation, separator: str, null: str | None) -> Callable[[str], Any]:
    """Return a function from a field's text to a value.

    It raises ``ValueError`` for invalid text.
    """
    element = element_type(kind)
    if element is not None:
        read_element = field_reader(element, "", null)
        if not separator:
            return lambda text: None if text == null else [read_element(text)]
        return lambda text: (
            None
            if text == null
            else [read_element(part) for part in text.split(separator)]
            if text
            else []
        )
    if isinstance(kind, BasicTypeInfo) and kind._basic_type is BasicType.STRING:
        if null is None:
            return lambda text: text
        return lambda text: None if text == null else text
    convert, coerce = scalar_from_json(kind), kind.coercer()

    def read(text: str) -> Any:
        bare = text.strip()
        if not bare or text == null:
            return None
        try:
            value = convert(bare)
            return value if coerce is None else coerce(value)
        except TypeMismatchError as error:
            raise ValueError(error.message) from error
        except (ValueError, TypeError, ArithmeticError):
            raise ValueError(f"{text!r:.80} is no {kind}") from None

    return read


def field_writer(kind: TypeInformation | None, separator: str, null: str) -> Callable[[Any], str]:
    """Return a function from a value to a field's text.

    Without a type, the type of the value decides.
    """
    if kind is None:
        return lambda value: null if value is None else _text_of(value)
    element = element_type(kind)
    if element is not None:
        write_element = field_writer(element, "", null)
        return lambda value: null if value is None else separator.join(map(write_element, value))
    if isinstance(kind, BasicTypeInfo) and kind._basic_type is BasicType.STRING:
        return lambda value: null if value is None else value
    write = to_text(kind)
    return lambda value: null if value is None else write(value).strip('"')


def _text_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if hasattr(value, "isoformat"):
        text: str = value.isoformat()
        return text
    return str(value)


class CsvLines:
    """Makes CSV lines from sequences of values, with one writer per column."""

    def __init__(self, writes: Sequence[Callable[[Any], str]], dialect: CsvDialect) -> None:
        self._writes = writes
        options = dialect.options()
        self._text = io.StringIO()
        self._writer = csv.writer(self._text, lineterminator=dialect.line_end, **options)

    def of(self, rows: Sequence[Sequence[Any]]) -> bytes:
        """Return the lines of many rows.

        Raises:
            TypeMismatchError: a row has the wrong number of fields, or must be quoted and may not.
        """
        writes, width = self._writes, len(self._writes)
        lines = []
        for row in rows:
            if len(row) != width:
                raise TypeMismatchError(f"{len(row)} fields for {width} columns: {row!r:.120}")
            lines.append([write(value) for write, value in zip(writes, row, strict=True)])
        return self.of_fields(lines)

    def of_fields(self, lines: Sequence[Sequence[Any]]) -> bytes:
        """Return the lines of rows whose values are text or numbers.

        Raises:
            TypeMismatchError: a field must be quoted and may not.
        """
        try:
            self._writer.writerows(lines)
            return self._text.getvalue().encode()
        except csv.Error as error:
            raise TypeMismatchError(f"a record cannot be written as CSV: {error}") from error
        finally:
            self._text.seek(0)
            self._text.truncate()


def fields_of(value: Any, columns: Sequence[str] | None) -> Sequence[Any]:
    """Return the fields of a record in the order of the columns.

    Raises:
        TypeMismatchError: the record has no such fields.
    """
    if isinstance(value, Row):
        if columns is None or not hasattr(value, "_fields"):
            return list(value)
        return value.get_fields_by_names(columns)
    if isinstance(value, tuple | list):
        return value
    try:
        if isinstance(value, Mapping):
            return [value[name] for name in columns] if columns else list(value.values())
        if dataclasses.is_dataclass(value):
            names = columns or [field.name for field in dataclasses.fields(value)]
            return [getattr(value, name) for name in names]
    except (KeyError, AttributeError) as error:
        raise TypeMismatchError(f"a record has no field {error}: {value!r:.120}") from error
    raise TypeMismatchError(
        f"a {type(value).__name__} cannot be written as CSV: {value!r:.120}",
        hint="map the records to tuples, dicts, dataclasses or rows",
    )
