"""Which orders a stream can have."""

from __future__ import annotations

from headrace.errors import SqlValidationError
from headrace.sql.refusals import refuse
from headrace.sql.rel import Sort


def check_time_order(rel: Sort) -> None:
    """Check that rows of a stream are sorted by their time first, as later rows come later.

    Raises:
        SqlValidationError: they are not.
        UnsupportedError: they are sorted by processing time.
    """
    name, ascending, _ = rel.keys[0]
    kind = next(column.type for column in rel.columns if column.name == name)
    attribute = getattr(kind, "attribute", None)
    if attribute == "proctime" and ascending:
        refuse("ORDER BY processing time")
    if attribute is None or not ascending:
        raise SqlValidationError(
            "rows of a stream can be sorted by a time attribute, ascending, and then by others;"
            f" {name!r} is {kind}{'' if ascending else ' DESC'}",
            hint="sort in a batch, or add LIMIT where the first rows are wanted",
        )
