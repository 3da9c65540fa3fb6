"""Connections to PostgreSQL, and the meaning of their errors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.common._extras import optional
from headrace.common.types import Row
from headrace.connector import KeepsSecrets
from headrace.errors import PlanError

_NOTICE_OUTAGES = {"connect_timeout": "10", "keepalives_idle": "30", "tcp_user_timeout": "30000"}
"""TCP settings that detect a vanished host; the program's settings override them."""

_UNAVAILABLE = frozenset({"57P01", "57P02", "57P03", "53300", "25006"})
"""Shutdown, crash, startup, too many clients, now a standby; besides these, class 08."""

_RETRIABLE = frozenset({"40001", "40P01", "55P03"})
"""Serialization failure, deadlock, lock not available: the same transaction may succeed if
repeated."""

_REFUSED = (
    "authentication failed",
    "no password supplied",
    "no pg_hba.conf entry",
    "does not exist",
    "is not permitted to log in",
    "permission denied",
)


def psycopg() -> Any:
    """Import psycopg, and return it.

    Raises:
        MissingExtraError: psycopg is not installed.
    """
    return optional("psycopg")


_SECRETS = {"PGPASSWORD": "password", "PGSSLPASSWORD": "sslpassword"}
"""By environment variable; libpq itself reads only the first one."""


@dataclass(frozen=True)
class PostgresConnection(KeepsSecrets):
    """How to connect to a database. Its ``repr`` shows the location only."""

    parameters: tuple[tuple[str, str], ...] = field(repr=False)
    place: str

    @staticmethod
    def of(conninfo: str, **overrides: str | None) -> PostgresConnection:
        """Parse a libpq connection string: a URL or ``key=value`` pairs. ``overrides`` win.

        Raises:
            PlanError: the string cannot be parsed, or names no database.
            MissingExtraError: psycopg is not installed.
        """
        read = optional("psycopg.conninfo").conninfo_to_dict
        if not isinstance(conninfo, str):
            raise PlanError(f"the connection must be a str, not {conninfo!r}")
        try:
            found = {k: str(v) for k, v in read(conninfo).items() if v is not None}
        except psycopg().ProgrammingError:
            raise PlanError(  # libpq's message may contain the password
                "the connection string of PostgreSQL cannot be parsed",
                hint="postgresql://user:password@host:5432/database",
            ) from None
        found |= {key: value for key, value in overrides.items() if value is not None}
        place = f"{found.get('host', 'localhost')}:{found.get('port', '5432')}"
        named = found.get("dbname") or found.get("user", "")
        found = {**_NOTICE_OUTAGES, "application_name": "headrace", **found}
        return PostgresConnection(tuple(sorted(found.items())), f"postgresql://{place}/{named}")

    @property
    def secrets(self) -> Mapping[str, str]:
        """The passwords."""
        given = dict(self.parameters)
        return {name: given[key] for name, key in _SECRETS.items() if key in given}

    def with_secrets(self, found: Mapping[str, str]) -> PostgresConnection:
        """Return a copy with the passwords in ``found``."""
        kept = {k: v for k, v in self.parameters if k not in _SECRETS.values()}
        kept |= {_SECRETS[name]: value for name, value in found.items()}
        return replace(self, parameters=tuple(sorted(kept.items())))

    def open(self) -> Any:
        """Return an autocommit connection."""
        return _adapt_dicts(psycopg().connect(**dict(self.parameters), autocommit=True))

    async def open_async(self) -> Any:
        """Return an autocommit connection for asyncio."""
        made = psycopg().AsyncConnection.connect(**dict(self.parameters), autocommit=True)
        return _adapt_dicts(await made)


def _adapt_dicts(connection: Any) -> Any:
    """Return the connection, with dicts adapted to JSON."""
    types = optional("psycopg.types.json")
    connection.adapters.register_dumper(dict, types.JsonbDumper)
    types.set_json_dumps(_compact, connection)
    return connection


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def is_outage(error: Exception) -> bool:
    """Return whether the database is temporarily unavailable, or has dropped the connection."""
    library_of = psycopg()
    if isinstance(error, library_of.InterfaceError):
        return "closed" in str(error)
    if not isinstance(error, library_of.OperationalError):
        return False
    if error.sqlstate is not None:
        return error.sqlstate in _UNAVAILABLE or error.sqlstate.startswith("08")
    return not any(words in str(error) for words in _REFUSED)


def is_retriable(error: Exception) -> bool:
    """Return whether the same transaction may succeed if it is repeated."""
    return isinstance(error, psycopg().Error) and getattr(error, "sqlstate", None) in _RETRIABLE


def identifier(name: str) -> str:
    """Return a name, quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def table_name(name: str) -> str:
    """Return a table's name, quoted for SQL; a dot separates schema and table."""
    return ".".join(map(identifier, name.split(".")))


def named_row(names: list[str], values: Sequence[Any]) -> Row:
    """Return a row of a result, with the names of its columns."""
    row = Row(*values)
    row.set_field_names(names)
    return row
