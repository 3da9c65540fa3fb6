"""``JdbcSink`` at PyFlink's path: writes rows to PostgreSQL with psycopg."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from headrace.common._arguments import require_at_least
from headrace.common._extras import optional
from headrace.common.time import TimeAmount
from headrace.common.typeinfo import RowTypeInfo, Types
from headrace.common.types import Row
from headrace.connector import DeliveryGuarantee
from headrace.datastream.connectors._external.addresses import HIDDEN, without_secrets
from headrace.datastream.connectors._postgres.client import PostgresConnection
from headrace.datastream.connectors._postgres.jdbc_urls import libpq_parameters, with_percent_marks
from headrace.datastream.connectors._postgres.sink import PostgresSink
from headrace.errors import PlanError

__all__ = ["JdbcConnectionOptions", "JdbcExecutionOptions", "JdbcSink"]


class JdbcConnectionOptions:
    """The address of the database; made by its builder. Its ``repr`` hides the password."""

    def __init__(
        self,
        url: str,
        driver_name: str | None = None,
        user_name: str | None = None,
        password: str | None = None,
    ) -> None:
        self._url, self._driver_name = url, driver_name
        self._user_name, self._password = user_name, password

    def get_db_url(self) -> str:
        """Return the configured URL."""
        return self._url

    def get_driver_name(self) -> str | None:
        """Return the configured Java class of the driver, or None; it has no effect."""
        return self._driver_name

    def get_user_name(self) -> str | None:
        """Return the configured user, or None."""
        return self._user_name

    def get_password(self) -> str | None:
        """Return the configured password, or None."""
        return self._password

    def __repr__(self) -> str:
        shown = "jdbc:" + without_secrets(self._url.removeprefix("jdbc:"))
        password = None if self._password is None else HIDDEN
        return f"JdbcConnectionOptions({shown!r}, user={self._user_name!r}, password={password})"

    class JdbcConnectionOptionsBuilder:
        """Builds ``JdbcConnectionOptions``."""

        def __init__(self) -> None:
            self._url: str | None = None
            self._driver_name: str | None = None
            self._user_name: str | None = None
            self._password: str | None = None

        def with_url(self, url: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the URL, ``jdbc:postgresql://host:port/database``."""
            self._url = url
            return self

        def with_driver_name(
            self, driver_name: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Store the Java class of the driver; it has no effect: psycopg is used."""
            self._driver_name = driver_name
            return self

        def with_user_name(
            self, user_name: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the user."""
            self._user_name = user_name
            return self

        def with_password(
            self, password: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the password."""
            self._password = password
            return self

        def build(self) -> JdbcConnectionOptions:
            """Return the options.

            Raises:
                PlanError: the URL is missing.
            """
            if not isinstance(self._url, str) or not self._url:
                raise PlanError(
                    "JDBC connection options need a URL",
                    hint='.with_url("jdbc:postgresql://host:5432/database")',
                )
            return JdbcConnectionOptions(
                self._url, self._driver_name, self._user_name, self._password
            )


@dataclass(frozen=True)
class JdbcExecutionOptions:
    """The options of writing; made by its builder."""

    _batch_interval_ms: int = 0
    _batch_size: int = 5000
    _max_retries: int = 3

    def get_batch_interval_ms(self) -> int:
        """Return the configured interval in ms (default 0); it has no effect."""
        return self._batch_interval_ms

    def get_batch_size(self) -> int:
        """Return the number of rows that are sent at once (default 5000)."""
        return self._batch_size

    def get_max_retries(self) -> int:
        """Return how often a failed transaction is retried (default 3)."""
        return self._max_retries

    @staticmethod
    def defaults() -> JdbcExecutionOptions:
        """Return the default options: 5000 rows at a time, 3 retries."""
        return JdbcExecutionOptions()

    @staticmethod
    def builder() -> JdbcExecutionOptions.Builder:
        """Return a new builder."""
        return JdbcExecutionOptions.Builder()

    class Builder:
        """Builds ``JdbcExecutionOptions``."""

        def __init__(self) -> None:
            self._size, self._interval_ms, self._retries = 5000, 0, 3

        def with_batch_size(self, size: int) -> JdbcExecutionOptions.Builder:
            """Set the number of rows that are sent at once; 0 for all rows of a transaction."""
            self._size = size
            return self

        def with_batch_interval_ms(self, interval_ms: int) -> JdbcExecutionOptions.Builder:
            """Store the interval; it has no effect: each micro-batch writes its rows at its end."""
            self._interval_ms = interval_ms
            return self

        def with_max_retries(self, max_retries: int) -> JdbcExecutionOptions.Builder:
            """Set how often a transaction is retried after a deadlock or a similar error."""
            self._retries = max_retries
            return self

        def build(self) -> JdbcExecutionOptions:
            """Return the options.

            Raises:
                PlanError: a number is not an int, or the retries are below 0.
            """
            require_at_least(self._retries, 0, "max_retries")
            for number in (self._size, self._interval_ms):
                if isinstance(number, bool) or not isinstance(number, int):
                    raise PlanError(f"JDBC execution options are ints, not {number!r}")
            return JdbcExecutionOptions(self._interval_ms, self._size, self._retries)


@dataclass(frozen=True, repr=False)
class JdbcSink(PostgresSink):
    """Writes rows to PostgreSQL by a statement with ``?``, exactly once (see ``PostgresSink``)."""

    @staticmethod
    def sink(
        sql: str,
        type_info: RowTypeInfo,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
        *,
        guarantee: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE,
        max_outage: TimeAmount = timedelta(minutes=2),
    ) -> JdbcSink:
        """Return a sink that runs the statement for each record, with its fields in order.

        Raises:
            PlanError: the number of ``?`` is not that of the fields, or an option cannot be used.
            UnsupportedError: the URL is not a PostgreSQL URL.
        """
        if not isinstance(type_info, RowTypeInfo):
            raise PlanError(f"JdbcSink.sink() takes a row type, not {type_info!r}")
        if not isinstance(jdbc_connection_options, JdbcConnectionOptions):
            raise PlanError(
                f"JdbcConnectionOptions are wanted, not {type(jdbc_connection_options).__name__}"
            )
        nested = [kind for kind in type_info.get_field_types() if isinstance(kind, RowTypeInfo)]
        if nested:
            raise PlanError(f"a field of a statement cannot be a row: {nested[0]}")
        text, count = with_percent_marks(sql)
        names = type_info.get_field_names()
        if count != len(names):
            raise PlanError(
                f"the statement has {count} '?' for {len(names)} fields: {', '.join(names)}",
                where={"statement": sql},
            )
        options = jdbc_execution_options or JdbcExecutionOptions.defaults()
        parameters = libpq_parameters(jdbc_connection_options.get_db_url())
        given = {
            "user": jdbc_connection_options.get_user_name(),
            "password": jdbc_connection_options.get_password(),
        }
        return JdbcSink(
            PostgresConnection.of("", **{**parameters, **{k: v for k, v in given.items() if v}}),
            sql=text,
            values=_RowValues(type_info),
            batch_rows=max(options.get_batch_size(), 0),
            max_retries=options.get_max_retries(),
            guarantee=guarantee,
            max_outage=max_outage,
        )

    @property
    def kind(self) -> str:
        return "jdbc"


_NUMBERS = [
    (Types.BYTE(), "Int2"),
    (Types.SHORT(), "Int2"),
    (Types.INT(), "Int4"),
    (Types.LONG(), "Int8"),
    (Types.FLOAT(), "Float4"),
    (Types.DOUBLE(), "Float8"),
]
"""The types as which psycopg sends numbers; by default it uses the smallest that is sufficient."""


class _RowValues:
    """The fields of records by a row type."""

    def __init__(self, type_info: RowTypeInfo) -> None:
        self._type = type_info
        self._coerce = type_info.coercer()
        numeric = optional("psycopg.types.numeric")
        self._numbers = [
            (index, getattr(numeric, name))
            for index, kind in enumerate(type_info.get_field_types())
            for known, name in _NUMBERS
            if kind == known
        ]

    def __call__(self, record: Any) -> Sequence[Any]:
        """The values in order, converted to their types."""
        row = record if self._coerce is None else self._coerce(record)
        values = [*(row._values if isinstance(row, Row) else row)]
        for index, number in self._numbers:
            if values[index] is not None:
                values[index] = number(values[index])
        return values

    def __reduce__(self) -> tuple[Any, ...]:
        return (_RowValues, (self._type,))
