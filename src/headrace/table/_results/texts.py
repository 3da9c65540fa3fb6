"""Values as texts, for people."""

from __future__ import annotations

from typing import Any

from headrace.sql.types import BytesType, SqlType, to_arrow
from headrace.table._results.tableau import NULL


def text_of(value: Any, kind: SqlType, time_zone: str, null: str = NULL) -> str:
    """Return a value as CAST to STRING gives it; NULL as ``null``, bytes as x'...'."""
    import pyarrow as pa

    from headrace.sql.functions.function import Session
    from headrace.sql.functions.text_casts import to_text

    if value is None:
        return null
    if isinstance(kind, BytesType):
        return f"x'{value.hex()}'"
    texts = to_text(pa.array([value], to_arrow(kind)), kind, Session(time_zone))
    return str(texts[0].as_py())
