"""CSV: the schema of its columns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from headrace.common.typeinfo import RowTypeInfo, TypeInformation, Types
from headrace.datastream.formats._csv.fields import CsvDialect
from headrace.errors import PlanError


@dataclass(frozen=True)
class CsvSchema:
    """The columns of a CSV file, with their types, and how its text is to be read.

    With a header, columns are found by name and others are left out; without, by position. A line
    with another number of fields is undecodable. An empty field is None where the column is no
    string; ``null_value`` is None in every column.
    """

    names: tuple[str, ...] = ()
    types: tuple[TypeInformation, ...] = ()
    separators: tuple[str, ...] = ()
    dialect: CsvDialect = field(default_factory=lambda: CsvDialect())
    use_header: bool = False
    strict_headers: bool = False
    skip_first_data_row: bool = False
    allow_comments: bool = False
    allow_more_columns: bool = False

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """A new builder."""
        return CsvSchemaBuilder()

    def size(self) -> int:
        """How many columns there are."""
        return len(self.names)

    @property
    def row_type(self) -> RowTypeInfo:
        """The type of the rows that are read."""
        return Types.ROW_NAMED(self.names, self.types)


class CsvSchemaBuilder:
    """Collects the columns, in order, and the options of a ``CsvSchema``."""

    def __init__(self) -> None:
        self._columns: list[tuple[str, TypeInformation, str]] = []
        self._schema = CsvSchema()

    def build(self) -> CsvSchema:
        """The schema.

        Raises:
            PlanError: a name occurs twice.
        """
        names, types, separators = zip(*self._columns, strict=True) if self._columns else ((),) * 3
        if len(set(names)) != len(names):
            raise PlanError(f"a CSV schema has a name twice: {', '.join(names)}")
        return replace(self._schema, names=names, types=types, separators=separators)

    def add_array_column(
        self, name: str, separator: str = ";", element_type: TypeInformation | None = None
    ) -> CsvSchemaBuilder:
        """A column of lists (of strings, unless told otherwise) and what separates elements."""
        return self._add(name, Types.OBJECT_ARRAY(element_type or Types.STRING()), separator)

    def add_boolean_column(self, name: str) -> CsvSchemaBuilder:
        """A column of true and false."""
        return self._add(name, Types.BOOLEAN())

    def add_number_column(
        self, name: str, number_type: TypeInformation | None = None
    ) -> CsvSchemaBuilder:
        """A column of numbers: 64-bit integers unless told otherwise, as ``Types.BIG_DEC()``."""
        return self._add(name, number_type or Types.LONG())

    def add_string_column(self, name: str) -> CsvSchemaBuilder:
        """A column of strings."""
        return self._add(name, Types.STRING())

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        """The columns of another schema."""
        self._columns += zip(schema.names, schema.types, schema.separators, strict=True)
        return self

    def clear_columns(self) -> CsvSchemaBuilder:
        """Drop the columns named so far."""
        self._columns.clear()
        return self

    def set_allow_comments(self, allow: bool = True) -> CsvSchemaBuilder:
        """Pass over lines that begin with ``#``."""
        return self._set(allow_comments=allow)

    def set_any_property_name(self, name: str) -> CsvSchemaBuilder:
        """Allow lines with more fields than columns; the further fields are left out."""
        return self._set(allow_more_columns=bool(name))

    def disable_array_element_separator(self) -> CsvSchemaBuilder:
        """Take the text of array columns for one element."""
        return self.set_array_element_separator("")

    def remove_array_element_separator(self, index: int) -> CsvSchemaBuilder:
        """Take the text of one column for one element."""
        name, kind, _ = self._columns[index]
        self._columns[index] = (name, kind, "")
        return self

    def set_array_element_separator(self, separator: str) -> CsvSchemaBuilder:
        """Set the separator between elements, in all array columns named so far."""
        self._columns = [(name, kind, separator) for name, kind, _ in self._columns]
        return self

    def set_column_separator(self, char: str) -> CsvSchemaBuilder:
        """Set the character between fields; a comma otherwise."""
        return self._set_dialect(delimiter=char)

    def disable_escape_char(self) -> CsvSchemaBuilder:
        """Let no character escape the next one."""
        return self._set_dialect(escape=None)

    def set_escape_char(self, char: str) -> CsvSchemaBuilder:
        """Set the character that takes the next one literally; none otherwise."""
        return self._set_dialect(escape=char)

    def set_line_separator(self, separator: str) -> CsvSchemaBuilder:
        r"""Set what is written at the end of a line, ``\n`` otherwise; read are LF and CR LF."""
        return self._set_dialect(line_end=separator)

    def set_null_value(self, null_value: str) -> CsvSchemaBuilder:
        """Set the text that stands for None."""
        return self._set_dialect(null=null_value)

    def disable_quote_char(self) -> CsvSchemaBuilder:
        """Let no character quote a field."""
        return self._set_dialect(quote=None)

    def set_quote_char(self, char: str) -> CsvSchemaBuilder:
        """Set the character around fields that hold special ones; a double quote otherwise."""
        return self._set_dialect(quote=char)

    def set_skip_first_data_row(self, skip: bool = True) -> CsvSchemaBuilder:
        """Pass over the first line (after the header, if there is one)."""
        return self._set(skip_first_data_row=skip)

    def set_strict_headers(self, strict: bool = True) -> CsvSchemaBuilder:
        """Require the header to name exactly the columns of the schema, in order."""
        return self._set(strict_headers=strict)

    def set_use_header(self, use: bool = True) -> CsvSchemaBuilder:
        """Take the first line for the names of the columns."""
        return self._set(use_header=use)

    def size(self) -> int:
        """How many columns there are so far."""
        return len(self._columns)

    def _add(self, name: str, kind: TypeInformation, separator: str = "") -> CsvSchemaBuilder:
        if not isinstance(kind, TypeInformation):
            raise PlanError(
                f"column {name!r} has the type {kind!r}", hint="use Types, as in Types.INT()"
            )
        self._columns.append((name, kind, separator))
        return self

    def _set(self, **changes: Any) -> CsvSchemaBuilder:
        self._schema = replace(self._schema, **changes)
        return self

    def _set_dialect(self, **changes: Any) -> CsvSchemaBuilder:
        return self._set(dialect=replace(self._schema.dialect, **changes))
