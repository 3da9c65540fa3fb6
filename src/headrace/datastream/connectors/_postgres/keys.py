"""Keys of tables: their columns, and conditions for key ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.datastream.connectors._postgres.client import identifier, table_name
from headrace.errors import PlanError

Key = list[list[str]]
"""The columns of a key, each with its PostgreSQL type."""

_KEYS = """
    SELECT array_agg(a.attname::text ORDER BY k.n),
           array_agg(format_type(a.atttypid, a.atttypmod) ORDER BY k.n), i.indisprimary
    FROM pg_index i, unnest(i.indkey::int2[]) WITH ORDINALITY AS k(number, n), pg_attribute a
    WHERE i.indrelid = to_regclass(%s) AND i.indisunique AND i.indisvalid AND i.indpred IS NULL
      AND i.indexprs IS NULL AND k.n <= i.indnkeyatts
      AND a.attrelid = i.indrelid AND a.attnum = k.number
    GROUP BY i.indexrelid, i.indisprimary HAVING bool_and(a.attnotnull)
    ORDER BY i.indisprimary DESC, i.indexrelid
"""


def key_of(connection: Any, table: str, wanted: Sequence[str]) -> Key:
    """Return the key with the wanted columns, or the primary key if ``wanted`` is empty.

    Raises:
        PlanError: there is no such table, or no such key.
    """
    quoted = table_name(table)
    place = {"database": f"{connection.info.host}:{connection.info.port}/{connection.info.dbname}"}
    if connection.execute("SELECT to_regclass(%s)", (quoted,)).fetchone()[0] is None:
        raise PlanError(f"there is no table {table} to read", where=place)
    for names, kinds, primary in connection.execute(_KEYS, (quoted,)).fetchall():
        if tuple(names) == tuple(wanted) or (primary and not wanted):
            return [[name, kind] for name, kind in zip(names, kinds, strict=True)]
    missing = f"unique index without nulls on {', '.join(wanted)}" if wanted else "primary key"
    raise PlanError(
        f"{table} has no {missing}, but is read in ranges of a key",
        where=place,
        hint="key=[...]: the columns of a unique index without nulls, in its order",
    )


def columns_of(key: Key) -> str:
    """Return the key's columns for SQL."""
    return ", ".join(identifier(name) for name, _ in key)


def between(key: Key, above: Any, to: Any) -> tuple[str, list[str]]:
    """Return the condition for keys above ``above``, up to ``to`` if any, and its parameters."""
    row = ", ".join(f"%s::{kind}" for _, kind in key)
    parts, values = [], []
    for sign, limit in ((">", above), ("<=", to)):
        if limit is not None:
            parts.append(f"({columns_of(key)}) {sign} ({row})")
            values += limit
    return f"WHERE {' AND '.join(parts)}" if parts else "", values
