"""The present time, and the watermark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from headrace.errors import SqlValidationError
from headrace.sql.expressions import Call, Expression
from headrace.sql.functions import moments
from headrace.sql.functions.function import Function, Kernel, Session, Signature, table_row
from headrace.sql.functions.rules import NOT_NULL, takes
from headrace.sql.types import (
    DATE,
    SqlType,
    TimestampLtzType,
    TimestampType,
    TimeType,
    to_arrow,
)

_STAMP = TimestampType(3)
_MOMENT = TimestampLtzType(3)


def _now(kind: SqlType) -> Kernel:
    """Return the kernel of the present time, as a type."""

    def kernel(call: Call, arguments: Sequence[Any], session: Session) -> Any:
        import pyarrow as pa

        moment = pa.scalar(session.now_ms, pa.timestamp("ms", "UTC"))
        if isinstance(kind, TimeType):
            moment = pa.scalar(session.now_ms // 1000 * 1000, pa.timestamp("ms", "UTC"))
        return moments.convert(moment, _MOMENT, kind, session)

    return kernel


def _present(name: str, kind: SqlType, forms: str, about: str) -> Function:
    rule = takes(gives=kind, nulls=NOT_NULL)
    return table_row(name, rule, _now(kind), forms, about, of_session=True)


def _current_watermark_rule(
    arguments: Sequence[Expression], options: Sequence[str]
) -> Signature | None:
    if len(arguments) != 1:
        return None
    kind = arguments[0].type
    if getattr(kind, "attribute", None) != "rowtime":
        raise SqlValidationError(
            f"CURRENT_WATERMARK takes a time attribute, and {arguments[0]} is {kind}",
            hint="declare WATERMARK FOR the column in CREATE TABLE; a batch has no watermarks",
        )
    zoned = isinstance(kind, TimestampLtzType)
    return Signature((kind,), TimestampLtzType(3) if zoned else TimestampType(3))


def _current_watermark(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow as pa

    return pa.scalar(session.watermark_ms, pa.int64()).cast(to_arrow(call.type))


FUNCTIONS = (
    Function(
        "CURRENT_WATERMARK",
        _current_watermark_rule,
        _current_watermark,
        ("CURRENT_WATERMARK(rowtime)",),
        "The watermark of the column's table at the row; NULL before the first watermark.",
        of_session=True,
        of_watermark=True,
    ),
    _present("CURRENT_TIMESTAMP", _MOMENT, "CURRENT_TIMESTAMP | NOW()", "The present time."),
    _present("CURRENT_ROW_TIMESTAMP", _MOMENT, "CURRENT_ROW_TIMESTAMP()", "The present time."),
    _present(
        "PROCTIME",
        replace(_MOMENT, attribute="proctime"),
        "PROCTIME()",
        "The present time; as a column it is the processing time of the rows.",
    ),
    _present(
        "LOCALTIMESTAMP", _STAMP, "LOCALTIMESTAMP", "The present time in the session's time zone."
    ),
    _present("CURRENT_DATE", DATE, "CURRENT_DATE", "The present day in the session's time zone."),
    _present("LOCALTIME", TimeType(0), "LOCALTIME", "The present time of day."),
    _present("CURRENT_TIME", TimeType(0), "CURRENT_TIME", "The present time of day."),
)
