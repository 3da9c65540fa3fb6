"""What tables say of their rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from headrace.common.types import Row, RowKind, row_of
from headrace.errors import TypeMismatchError
from headrace.operators.columns.constraints import NotNullSpec, UpsertChangesSpec
from headrace.testing import ProcessHarness

SCHEMA = pa.schema([("a", pa.int32()), ("b", pa.string())])


def given(spec: Any, rows: list[Row]) -> list[tuple[Any, ...]]:
    with ProcessHarness(spec) as harness:
        for row in rows:
            harness.process(row)
        harness.end_input()
        return [(each.get_row_kind().sign, *each) for each in harness.output()]


def rows(*values: tuple[Any, ...]) -> list[Row]:
    made = []
    for kind, *fields in values:
        made.append(row_of(("a", "b"), fields))
        made[-1].set_row_kind(next(each for each in RowKind if each.sign == kind))
    return made


def test_a_null_fails_the_job_or_its_row_is_left_out() -> None:
    found = rows(("+I", 1, "x"), ("+I", None, "y"), ("+U", 2, None))
    with pytest.raises(TypeMismatchError, match="column 'a' is NOT NULL"):
        given(NotNullSpec(SCHEMA, ("a",)), found)
    spec = NotNullSpec(SCHEMA, ("a", "b"), drops=True)
    assert given(spec, found) == [("+I", 1, "x")]
    assert given(NotNullSpec(SCHEMA, ("a",), drops=True), found)[1:] == [("+U", 2, None)]


def test_rows_that_are_left_out_are_counted() -> None:
    with ProcessHarness(NotNullSpec(SCHEMA, ("a",), drops=True)) as harness:
        for row in rows(("+I", None, "x"), ("+I", None, "y"), ("+I", 1, None)):
            harness.process(row)
        harness.end_input()
        found = harness.metrics.values()
    (count,) = (found[key] for key in found if "numNullRecordsDropped" in str(key))
    assert count.value == 2


def test_rows_before_updates_are_left_out_or_deleted() -> None:
    found = rows(("+I", 1, "x"), ("-U", 1, "x"), ("+U", 1, "y"), ("-D", 1, "y"))
    kinds = [each[0] for each in given(UpsertChangesSpec(SCHEMA), found)]
    assert kinds == ["+I", "+U", "-D"]
    deleting = UpsertChangesSpec(SCHEMA, deletes=True)
    assert [each[0] for each in given(deleting, found)] == ["+I", "-D", "+U", "-D"]
