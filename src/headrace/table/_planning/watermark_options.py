"""The options ``scan.watermark.*`` of tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.common._options.values import ValueKind
from headrace.common.time import Duration
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.errors import SqlValidationError
from headrace.sql.refusals import refuse
from headrace.sql.rel import Scan
from headrace.table._options import TableOption

_PREFIX = "scan.watermark."
IDLE = TableOption("scan.watermark.idle-timeout", ValueKind.DURATION)
_EMIT = TableOption(
    "scan.watermark.emit.strategy", ValueKind.CHOICE, choices=("on-event", "on-periodic")
)
_GROUP = TableOption("scan.watermark.alignment.group")
_MAX_DRIFT = TableOption("scan.watermark.alignment.max-drift", ValueKind.DURATION)
_UPDATE_INTERVAL = TableOption("scan.watermark.alignment.update-interval", ValueKind.DURATION)
_OPTIONS = {each.key: each for each in (IDLE, _EMIT, _GROUP, _MAX_DRIFT, _UPDATE_INTERVAL)}


def watermark_options(scan: Scan) -> Mapping[str, Any]:
    """Return the values of the options of a table that is read, by key.

    Raises:
        SqlValidationError: an option has a wrong value, or alignment lacks one.
        UnsupportedError: there is no such option.
    """
    table, given = scan.table[-1], dict[str, Any]()
    for key, text in scan.options:
        if key in _OPTIONS:
            given[key] = _OPTIONS[key].parse(text, table)
        elif key.startswith(_PREFIX):
            refuse(f"the option {key} of a table")
    if given.keys() & {_GROUP.key, _MAX_DRIFT.key, _UPDATE_INTERVAL.key}:
        missing = [each.key for each in (_GROUP, _MAX_DRIFT) if each.key not in given]
        if missing:
            raise SqlValidationError(
                f"table {table!r} needs the option {missing[0]!r} for watermark alignment",
                where={"table": table, "missing": ", ".join(missing)},
                hint=f"{_GROUP.key!r} and {_MAX_DRIFT.key!r} belong together",
            )
    return given


def with_watermark_options(
    strategy: WatermarkStrategy, given: Mapping[str, Any]
) -> WatermarkStrategy:
    """Return the strategy with the values of options.

    The emit strategy has no effect: rows are late as with a watermark for each row.
    """
    if given.get(IDLE.key):
        strategy = strategy.with_idleness(Duration.of_millis(given[IDLE.key]))
    if _GROUP.key in given:
        interval_ms = given.get(_UPDATE_INTERVAL.key)
        strategy = strategy.with_watermark_alignment(
            given[_GROUP.key],
            Duration.of_millis(given[_MAX_DRIFT.key]),
            Duration.of_millis(interval_ms) if interval_ms else None,
        )
    return strategy
