"""Which columns of a table are in the keys of messages, which in values, and which about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common.changelog_mode import ChangelogMode
from headrace.errors import SqlValidationError
from headrace.sql.rel import Column, Columns
from headrace.sql.types import BIGINT, BYTES, INT, STRING, MapType, SqlType, TimestampLtzType
from headrace.table._connectors.connector import MetadataField, TableRequest
from headrace.table._connectors.kafka.options import (
    FORMAT,
    KEY_FIELDS,
    KEY_FORMAT,
    KEY_PREFIX,
    PROPERTIES,
    TOPIC,
    VALUE_FIELDS,
    VALUE_FORMAT,
)
from headrace.table._formats.avro.confluent import AvroConfluentFormat
from headrace.table._formats.format import TableFormat
from headrace.table._formats.registry import find_format, format_options, make_format
from headrace.table._options import TableOption, read_options

METADATA: Mapping[str, SqlType] = {
    "topic": STRING,
    "partition": INT,
    "headers": MapType(STRING, BYTES),
    "leader-epoch": INT,
    "offset": BIGINT,
    "timestamp": TimestampLtzType(3),
    "timestamp-type": STRING,
}
_WRITABLE = ("headers", "timestamp")


@dataclass(frozen=True)
class MessageParts:
    """How a table's rows are split into keys, values and metadata.

    ``key_columns``, ``value_columns``: the table's columns in each, in the order of their format's
    columns, whose names lack the prefix of keys. ``upserts``: a value replaces that of its key.
    """

    columns: Columns
    metadata: tuple[MetadataField, ...]
    key: TableFormat | None
    value: TableFormat
    key_columns: tuple[str, ...]
    value_columns: tuple[str, ...]
    upserts: bool = False


def parts_of(
    request: TableRequest, declared: Sequence[TableOption], *, upserts: bool
) -> tuple[dict[str, Any], MessageParts]:
    """Return a table's parsed options, and the parts of its messages.

    Raises:
        SqlValidationError: options are unknown, missing, wrong, or do not fit each other.
    """
    table, given = request.name, request.options
    if upserts and not request.primary_key:
        raise SqlValidationError(
            f"table {table!r}: 'upsert-kafka' tables require to define a PRIMARY KEY constraint",
            hint="PRIMARY KEY (…) NOT ENFORCED",
        )
    key_name, value_name = given.get(KEY_FORMAT.key), given.get(VALUE_FORMAT.key)
    if value_name is None and not upserts:
        value_name = given.get(FORMAT.key)
    elif FORMAT.key in given and not upserts:
        raise SqlValidationError(f"table {table!r} has both 'format' and 'value.format'")
    if upserts and (key_name is None or value_name is None):
        raise SqlValidationError(f"table {table!r} needs 'key.format' and 'value.format'")
    value_prefix = "value." if VALUE_FORMAT.key in given else ""
    value_kind = find_format(value_name, table, given, "messages")
    formats = [*format_options(value_kind, value_prefix)]
    key_kind = None if key_name is None else find_format(key_name, table, given, "messages")
    if key_kind is not None:
        formats += format_options(key_kind, "key.")
    options = read_options(table, given, (*declared, *formats), (PROPERTIES,))

    of_metadata = {each.name for each in request.metadata}
    physical = [column for column in request.columns if column.name not in of_metadata]
    key_columns = _key_columns(request, options, physical, upserts=upserts)
    without = {*key_columns} if options[VALUE_FIELDS.key] == "EXCEPT_KEY" else set()
    value_columns = tuple(each.name for each in physical if each.name not in without)
    key: TableFormat | None = None
    if key_kind is not None:
        prefix, by_name = options[KEY_PREFIX.key], {each.name: each for each in physical}
        of_key = tuple(
            Column(name.removeprefix(prefix), by_name[name].type) for name in key_columns
        )
        key = _with_subject(make_format(key_kind, table, of_key, options, "key."), options, "key")
        if not key.gives.kinds <= ChangelogMode.insert_only().kinds:
            raise SqlValidationError(
                f"table {table!r}: {key.identifier!r} is not a format of keys: its messages"
                " are changes"
            )
    of_value = tuple(each for each in physical if each.name in value_columns)
    value = make_format(value_kind, table, of_value, options, value_prefix)
    value = _with_subject(value, options, "value")
    _check_metadata(request)
    return options, MessageParts(
        request.columns, request.metadata, key, value, key_columns, value_columns, upserts
    )


def _with_subject(made: TableFormat, options: Mapping[str, Any], part: str) -> TableFormat:
    topics: Sequence[str] = options[TOPIC.key] or ()
    if isinstance(made, AvroConfluentFormat) and len(topics) == 1:
        return made.with_default_subject(f"{topics[0]}-{part}")
    return made


def _key_columns(
    request: TableRequest,
    options: Mapping[str, Any],
    physical: Sequence[Column],
    *,
    upserts: bool,
) -> tuple[str, ...]:
    table, prefix = request.name, options[KEY_PREFIX.key]
    names = [column.name for column in physical]
    found = request.primary_key if upserts else tuple(options[KEY_FIELDS.key])
    if not upserts and bool(found) != (KEY_FORMAT.key in request.options):
        missing = KEY_FORMAT.key if found else KEY_FIELDS.key
        raise SqlValidationError(
            f"table {table!r}: 'key.format' and 'key.fields' must be set together: {missing!r} is"
            " missing"
        )
    for name in found:
        if name not in names:
            raise SqlValidationError(
                f"table {table!r}: the key field {name!r} is not a column",
                where={"columns": ", ".join(names)},
            )
        if not name.startswith(prefix):
            raise SqlValidationError(
                f"table {table!r}: all key fields must begin with the prefix {prefix!r}, but"
                f" {name!r} does not"
            )
    if prefix and options[VALUE_FIELDS.key] == "ALL":
        raise SqlValidationError(
            f"table {table!r}: a key prefix needs 'value.fields-include' = 'EXCEPT_KEY'"
        )
    # In the order of the table, as Flink orders them.
    return tuple(name for name in names if name in found) if upserts else found


def _check_metadata(request: TableRequest) -> None:
    for each in request.metadata:
        if each.key not in METADATA:
            raise SqlValidationError(
                f"table {request.name!r}: Kafka messages have no metadata {each.key!r}",
                where={"column": each.name, "metadata": ", ".join(METADATA)},
                hint="metadata of formats are not supported" if each.key[:6] == "value." else None,
            )


def check_writable(request: TableRequest) -> None:
    """Check that metadata columns of a table that is written can be written.

    Raises:
        SqlValidationError: one cannot.
    """
    for each in request.metadata:
        if each.key not in _WRITABLE:
            raise SqlValidationError(
                f"table {request.name!r}: metadata {each.key!r} cannot be written",
                where={"column": each.name, "writable": ", ".join(_WRITABLE)},
                hint="declare the column VIRTUAL",
            )
