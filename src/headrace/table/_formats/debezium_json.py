"""``debezium-json``: messages that say how a row was before and after a change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from headrace.common._options.values import ValueKind
from headrace.common.changelog_mode import ChangelogMode
from headrace.common.types import RowKind
from headrace.errors import SqlValidationError
from headrace.sql.rel import Column, Columns
from headrace.sql.types import STRING
from headrace.table._formats.format import Decoded, TableFormat
from headrace.table._formats.json.columns import JsonColumns
from headrace.table._formats.json.format import JSON_OPTIONS, JsonTableFormat, row_type
from headrace.table._formats.json.values import JsonRules, parse_text, row_reader
from headrace.table._formats.rows import RowsBuilder, concatenate
from headrace.table._options import TableOption

_SCHEMA = TableOption("schema-include", ValueKind.BOOLEAN, False)
_BLOCK_VALUES = 1 << 14
_REMOVED = frozenset({RowKind.UPDATE_BEFORE.value, RowKind.DELETE.value})


@dataclass(frozen=True)
class DebeziumJsonFormat(TableFormat):
    """Changes of rows as Debezium's JSON. ``schema_include``: a message is in ``payload``."""

    json: JsonTableFormat
    schema_include: bool = False

    identifier = "debezium-json"
    options = (
        _SCHEMA,
        *(option for option in JSON_OPTIONS if option.key != "fail-on-missing-field"),
    )

    @classmethod
    def create(cls, table: str, columns: Columns, options: Mapping[str, Any]) -> Self:
        given = {key: value for key, value in options.items() if key != _SCHEMA.key}
        json = JsonTableFormat.create(table, columns, given | {"fail-on-missing-field": False})
        return cls(columns, json, options[_SCHEMA.key])

    @property
    def gives(self) -> ChangelogMode:
        return ChangelogMode.all()

    @property
    def accepts(self) -> ChangelogMode:
        return ChangelogMode.all()

    def decode(self, values: Sequence[bytes]) -> Decoded:
        parts = [
            self._decode_some(values[at : at + _BLOCK_VALUES], at)
            for at in range(0, len(values), _BLOCK_VALUES)
        ]
        return concatenate(parts) if parts else RowsBuilder(self.schema).build(0)

    def encode(self, columns: Sequence[Sequence[Any]], kinds: Sequence[int] | None) -> list[bytes]:
        if self.schema_include:
            raise SqlValidationError(
                "debezium-json does not write schemas: 'debezium-json.schema-include' must be false"
            )
        rows = self.json.encode(columns, None)
        if kinds is None:
            return [b'{"before":null,"after":%s,"op":"c"}' % row for row in rows]
        return [
            b'{"before":%s,"after":null,"op":"d"}' % row
            if kind in _REMOVED
            else b'{"before":null,"after":%s,"op":"c"}' % row
            for row, kind in zip(rows, kinds, strict=True)
        ]

    def _decode_some(self, values: Sequence[bytes], first: int) -> Decoded:
        if not self.schema_include and self._envelope.usable:
            found = self._envelope.batch(b"\n".join(values), len(values))
            decoded = None if found is None else self._changes(found, first)
            if decoded is not None:
                return decoded
        return self._decode_one_by_one(values, first)

    @cached_property
    def _envelope(self) -> JsonColumns:
        row = row_type(self.columns)
        envelope = (Column("before", row), Column("after", row), Column("op", STRING))
        return JsonColumns(envelope, JsonRules(iso=self.json.rules.iso))

    def _changes(self, found: Any, first: int) -> Decoded | None:
        """Return the rows of well-formed messages; None: one of them is not."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        before, after, ops = found.columns
        code = pc.index_in(ops, pa.array(["c", "r", "u", "d"]))
        if code.null_count:
            return None
        codes = code.to_numpy()
        updates, deletes = codes == 2, codes == 3
        has_before = before.is_valid().to_numpy(zero_copy_only=False)
        has_after = after.is_valid().to_numpy(zero_copy_only=False)
        if not (has_before[updates | deletes].all() and has_after[~deletes].all()):
            return None
        count = len(codes)
        # Two places for each message: the row before, and the row after.
        taken = np.empty((count, 2), bool)
        taken[:, 0], taken[:, 1] = updates | deletes, ~deletes
        kinds = np.empty((count, 2), np.int8)
        kinds[:, 0] = np.where(updates, RowKind.UPDATE_BEFORE.value, RowKind.DELETE.value)
        kinds[:, 1] = np.where(updates, RowKind.UPDATE_AFTER.value, RowKind.INSERT.value)
        places = np.arange(2 * count).reshape(2, count).T[taken]
        rows = pa.concat_arrays([before, after]).take(pa.array(places))
        origins = np.repeat(np.arange(first, first + count), 2).reshape(count, 2)[taken]
        batch = pa.RecordBatch.from_arrays(rows.flatten(), schema=self.schema)
        return Decoded(batch, origins, kinds[taken])

    @cached_property
    def _read(self) -> Callable[[Any], Any]:
        return row_reader(row_type(self.columns), self.json.rules)

    def _decode_one_by_one(self, values: Sequence[bytes], first: int) -> Decoded:
        rows = RowsBuilder(self.schema, first, self.json.rules.ignore_errors)
        for index, value in enumerate(values):
            if not value:
                continue
            try:
                for kind, row in self._changes_of(parse_text(value.decode())):
                    rows.add(index, row, kind.value)
            except (ValueError, ArithmeticError, RecursionError) as error:
                rows.bad(index, str(error) or type(error).__name__)
        return rows.build(len(values))

    def _changes_of(self, message: Any) -> list[tuple[RowKind, list[Any]]]:
        if isinstance(message, dict) and self.schema_include:
            message = message.get("payload")
        if not isinstance(message, dict):
            raise ValueError("a JSON object was expected")
        op = message.get("op")
        match op:
            case "c" | "r":
                return [(RowKind.INSERT, self._row(message, "after", op))]
            case "u":
                return [
                    (RowKind.UPDATE_BEFORE, self._row(message, "before", op)),
                    (RowKind.UPDATE_AFTER, self._row(message, "after", op)),
                ]
            case "d":
                return [(RowKind.DELETE, self._row(message, "before", op))]
        raise ValueError(f"unknown operation {op!r:.40}")

    def _row(self, message: Mapping[str, Any], name: str, op: str) -> list[Any]:
        found = message.get(name)
        if found is None:
            hint = "; does the database give whole rows (REPLICA IDENTITY FULL in Postgres)?"
            raise ValueError(
                f"the field {name!r} of a message with operation {op!r} is null"
                + (hint if name == "before" else "")
            )
        return [*self._read(found).values()]
