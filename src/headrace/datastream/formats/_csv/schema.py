"""CSV: the schema of its columns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from headrace.common._types.other_forms import as_type_information
from headrace.common.typeinfo import RowTypeInfo, TypeInformation, Types
from headrace.datastream.formats._csv.fields import CsvDialect
from headrace.errors import PlanError


@dataclass(frozen=True)
class CsvSchema:
    """The columns of a CSV file, their types, and the syntax of the text.

    With a header, columns are found by name and other columns are ignored; without a header,
    columns are found by position. A line with another number of fields cannot be decoded. An empty
    field is None, except in string columns; ``null_value`` is None in every column.
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
        """Return a new builder."""
        return CsvSchemaBuilder()

    def size(self) -> int:
        """Return the number of columns."""
        return len(self.names)

    @property
    def row_type(self) -> RowTypeInfo:
        """The type of the rows that are read."""
        return Types.ROW_NAMED(self.names, self.types)


class CsvSchemaBuilder:
    """Builds a ``CsvSchema`` from columns, in order, and options."""

    def __init__(self) -> None:
        self._columns: list[tuple[str, TypeInformation, str]] = []
        self._schema = CsvSchema()

    def build(self) -> CsvSchema:
        """Return the schema.

        Raises:
            PlanError: a name occurs twice.
        """
        names, types, separators = zip(*self._columns, strict=True) if self._columns else ((),) * 3
        if len(set(names)) != len(names):
            raise PlanError(f"a CSV schema has a name twice: {', '.join(names)}")
        return replace(self._schema, names=names, types=types, separators=separators)

    def add_array_column(
        self, name: str, separator: str = ";", element_type: Any = None
    ) -> CsvSchemaBuilder:
        """Add a column of lists, by default of strings; ``separator`` is between the elements.

        ``element_type``: of ``Types`` or of the ``DataTypes`` of tables.
        """
        element = as_type_information(element_type or Types.STRING())
        return self._add(name, Types.OBJECT_ARRAY(element), separator)

    def add_boolean_column(self, name: str) -> CsvSchemaBuilder:
        """Add a column of booleans: true and false."""
        return self._add(name, Types.BOOLEAN())

    def add_number_column(self, name: str, number_type: Any = None) -> CsvSchemaBuilder:
        """Add a column of numbers, by default 64-bit integers.

        ``number_type``: of ``Types`` or of the ``DataTypes`` of tables.
        """
        return self._add(name, as_type_information(number_type or Types.LONG()))

    def add_string_column(self, name: str) -> CsvSchemaBuilder:
        """Add a column of strings."""
        return self._add(name, Types.STRING())

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        """Add the columns of another schema."""
        self._columns += zip(schema.names, schema.types, schema.separators, strict=True)
        return self

    def clear_columns(self) -> CsvSchemaBuilder:
        """Remove all columns that were added so far."""
        self._columns.clear()
        return self

    def set_allow_comments(self, allow: bool = True) -> CsvSchemaBuilder:
        """Set whether lines that begin with ``#`` are skipped."""
        return self._set(allow_comments=allow)

    def set_any_property_name(self, name: str) -> CsvSchemaBuilder:
        """Allow lines with more fields than columns; the additional fields are ignored."""
        return self._set(allow_more_columns=bool(name))

    def disable_array_element_separator(self) -> CsvSchemaBuilder:
        """Treat the text of each array column as one element."""
        return self.set_array_element_separator("")

    def remove_array_element_separator(self, index: int) -> CsvSchemaBuilder:
        """Treat the text of the column with this index as one element."""
        name, kind, _ = self._columns[index]
        self._columns[index] = (name, kind, "")
        return self

    def set_array_element_separator(self, separator: str) -> CsvSchemaBuilder:
        """Set the separator between elements for all array columns that were added so far."""
        self._columns = [(name, kind, separator) for name, kind, _ in self._columns]
        return self

    def set_column_separator(self, char: str) -> CsvSchemaBuilder:
        """Set the character between fields (default comma)."""
        return self._set_dialect(delimiter=char)

    def disable_escape_char(self) -> CsvSchemaBuilder:
        """Use no escape character (the default)."""
        return self._set_dialect(escape=None)

    def set_escape_char(self, char: str) -> CsvSchemaBuilder:
        """Set the character that escapes the next one (default none)."""
        return self._set_dialect(escape=char)

    def set_line_separator(self, separator: str) -> CsvSchemaBuilder:
        r"""Set the line end for writing (default ``\n``); reading accepts LF and CR LF."""
        return self._set_dialect(line_end=separator)

    def set_null_value(self, null_value: str) -> CsvSchemaBuilder:
        """Set the text that means None (default none)."""
        return self._set_dialect(null=null_value)

    def disable_quote_char(self) -> CsvSchemaBuilder:
        """Use no quote character."""
        return self._set_dialect(quote=None)

    def set_quote_char(self, char: str) -> CsvSchemaBuilder:
        """Set the character that quotes fields with special characters (default double quote)."""
        return self._set_dialect(quote=char)

    def set_skip_first_data_row(self, skip: bool = True) -> CsvSchemaBuilder:
        """Set whether the first line is skipped; with a header, the first line after it."""
        return self._set(skip_first_data_row=skip)

    def set_strict_headers(self, strict: bool = True) -> CsvSchemaBuilder:
        """Set whether the header must contain exactly the schema's columns, in order."""
        return self._set(strict_headers=strict)

    def set_use_header(self, use: bool = True) -> CsvSchemaBuilder:
        """Set whether the first line contains the names of the columns."""
        return self._set(use_header=use)

    def size(self) -> int:
        """Return the number of columns so far."""
        return len(self._columns)

    def _add(self, name: str, kind: TypeInformation, separator: str = "") -> CsvSchemaBuilder:
        if not isinstance(kind, TypeInformation):
            raise PlanError(
                f"column {name!r} has the type {kind!r}",
                hint="use Types or DataTypes, as in Types.INT()",
            )
        self._columns.append((name, kind, separator))
        return self

    def _set(self, **changes: Any) -> CsvSchemaBuilder:
        self._schema = replace(self._schema, **changes)
        return self

    def _set_dialect(self, **changes: Any) -> CsvSchemaBuilder:
        return self._set(dialect=replace(self._schema.dialect, **changes))
