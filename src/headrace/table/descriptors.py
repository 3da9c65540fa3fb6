"""``Rowtime`` and ``Schema``: older descriptions of tables, which no connector reads."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.common._unsupported import unsupported_method
from headrace.errors import PlanError
from headrace.sql.types import SqlType, VarCharType
from headrace.table._types.data_types import DataType
from headrace.table._types.sql import to_sql
from headrace.table.table_schema import TableSchema

__all__ = ["Descriptor", "Rowtime", "Schema"]

_JAVA = "there is no JVM that has the class"
_OLD_NAMES = {"SQL_DATE": "DATE", "SQL_TIME": "TIME(0)", "SQL_TIMESTAMP": "TIMESTAMP(3)"}


class Descriptor:
    """Properties by key."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}

    def to_properties(self) -> dict[str, str]:
        """Return the properties."""
        return dict(self._properties)


class Rowtime(Descriptor):
    """Where the event time of a column comes from, and its watermarks."""

    def _set(self, part: str, kind: str, **more: str) -> Rowtime:
        self._properties[f"rowtime.{part}.type"] = kind
        self._properties.update({f"rowtime.{part}.{key}": each for key, each in more.items()})
        return self

    def timestamps_from_field(self, field_name: str) -> Rowtime:
        """Take the event time from a column."""
        return self._set("timestamps", "from-field", **{"from": field_name})

    def timestamps_from_source(self) -> Rowtime:
        """Take the event time from the records of a stream."""
        return self._set("timestamps", "from-source")

    timestamps_from_extractor = unsupported_method(_JAVA)

    def watermarks_periodic_ascending(self) -> Rowtime:
        """Expect ascending times."""
        return self._set("watermarks", "periodic-ascending")

    def watermarks_periodic_bounded(self, delay: int) -> Rowtime:
        """Expect times that are out of order by at most ``delay`` milliseconds."""
        return self._set("watermarks", "periodic-bounded", delay=str(delay))

    def watermarks_from_source(self) -> Rowtime:
        """Keep the watermarks of a stream."""
        return self._set("watermarks", "from-source")

    watermarks_from_strategy = unsupported_method(_JAVA)


class Schema(Descriptor):
    """Columns, in their order; methods about a column are for the last one."""

    def __init__(
        self,
        schema: TableSchema | None = None,
        fields: Mapping[str, DataType | str] | None = None,
        rowtime: Rowtime | None = None,
    ) -> None:
        super().__init__()
        self._columns: dict[str, dict[str, str]] = {}
        if schema is not None:
            self.schema(schema)
        if fields is not None:
            self.fields(fields)
        if rowtime is not None:
            self.rowtime(rowtime)

    def schema(self, table_schema: TableSchema) -> Schema:
        """Replace the columns by those of a schema."""
        self._columns = {}
        names, kinds = table_schema.get_field_names(), table_schema.get_field_data_types()
        return self.fields(dict(zip(names, kinds, strict=True)))

    def field(self, field_name: str, field_type: DataType | str) -> Schema:
        """Add a column."""
        if field_name in self._columns:
            raise PlanError(f"the field {field_name!r} already exists")
        if isinstance(field_type, str):
            shown = _OLD_NAMES.get(field_type, field_type)
        else:
            shown = _full_text(to_sql(field_type))
        self._columns[field_name] = {"data-type": shown}
        return self

    def fields(self, fields: Mapping[str, DataType | str]) -> Schema:
        """Add columns."""
        if not isinstance(fields, Mapping):
            raise TypeError("fields must be stored in a dict or OrderedDict")
        for name, kind in fields.items():
            self.field(name, kind)
        return self

    def _last(self) -> dict[str, str]:
        if not self._columns:
            raise PlanError("there is no field", hint="add one with .field(name, type)")
        return next(reversed(self._columns.values()))

    def from_origin_field(self, origin_field_name: str) -> Schema:
        """Set the name that the last column has in the connector."""
        self._last()["from"] = origin_field_name
        return self

    def proctime(self) -> Schema:
        """Make the last column the processing time."""
        self._last()["proctime"] = "true"
        return self

    def rowtime(self, rowtime: Rowtime) -> Schema:
        """Make the last column the event time."""
        self._last().update(rowtime.to_properties())
        return self

    def to_properties(self) -> dict[str, str]:
        found = {}
        for place, (name, properties) in enumerate(self._columns.items()):
            found[f"schema.{place}.name"] = name
            found.update({f"schema.{place}.{key}": each for key, each in properties.items()})
        return found


def _full_text(kind: SqlType) -> str:
    """Return a type as Flink writes it into properties."""
    if isinstance(kind, VarCharType):
        return f"VARCHAR({kind.length}){'' if kind.nullable else ' NOT NULL'}"
    return str(kind)
