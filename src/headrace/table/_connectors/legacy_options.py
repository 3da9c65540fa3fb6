"""The old options of Flink's CSV source, such as ``connector.type``, with their current names."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.errors import SqlValidationError

_TYPE, _QUOTE = "connector.type", "format.quote-character"

_NAMES = {
    "connector.path": "path",
    "format.field-delimiter": "csv.field-delimiter",
    _QUOTE: "csv.quote-character",
}

_FALSE_ONLY = ("format.ignore-first-line", "format.ignore-parse-errors")
"""Old options that are refused if they are true: here the rows would be different."""

_WITHOUT_MEANING = (
    "connector.property-version",
    "format.property-version",
    "format.derive-schema",
    "update-mode",
)


def with_current_names(table: str, options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a source table with their current names.

    Raises:
        SqlValidationError: an old option has no current name.
    """
    if "connector" in options or _TYPE not in options:
        return dict(options)
    kinds = (options[_TYPE], options.get("format.type"))
    if kinds != ("filesystem", "csv"):
        raise _refused(table, _TYPE, options[_TYPE])
    made = {"connector": "filesystem", "format": "csv"}
    if _QUOTE not in options:
        made["csv.disable-quote-character"] = "true"
    for key, value in options.items():
        if key in _NAMES:
            made[_NAMES[key]] = value
        elif key in _FALSE_ONLY and value.lower() == "false":
            continue
        elif key not in (_TYPE, "format.type", *_WITHOUT_MEANING):
            raise _refused(table, key, value)
    return made


def _refused(table: str, key: str, value: str) -> SqlValidationError:
    return SqlValidationError(
        f"table {table!r}: the old option {key!r} = {value!r} is not supported",
        where={"table": table, "old options": ", ".join(sorted((_TYPE, *_NAMES)))},
        hint="'connector' = 'filesystem', 'path' = '…', 'format' = 'csv'",
    )
