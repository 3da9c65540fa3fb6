"""What vectorised functions get and give."""

from __future__ import annotations

import datetime
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from headrace.sql.python_function import Signature
from headrace.sql.type_names import parse_type
from headrace.sql.types import to_arrow
from headrace.table._functions.vectorised import VectorisedImplementation

NOON = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC)


def computed(function: Any, result: str, zone: str = "UTC", **columns: tuple[str, Any]) -> Any:
    kinds = {name: parse_type(kind) for name, (kind, _) in columns.items()}
    values = [
        pa.array(given, to_arrow(kinds[name]))
        if isinstance(given, list)
        else pa.scalar(given, to_arrow(kinds[name]))
        for name, (_, given) in columns.items()
    ]
    call = Signature("f", tuple(kinds.values()), parse_type(result))
    rows = max(len(each) for each in values if isinstance(each, pa.Array))
    return VectorisedImplementation(function).kernel(call)(values, rows, zone).to_pylist()


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("BOOLEAN", [True, None]),
        ("INT", [1, 2]),
        ("INT", [1, None]),  # a float Series with NaN, and back
        ("DOUBLE", [0.5, None]),
        ("STRING", ["x", None]),
        ("BYTES", [b"x", None]),
        ("DATE", [NOON.date(), None]),
        ("TIME(3)", [datetime.time(1, 2, 3), None]),
        ("TIMESTAMP(3)", [NOON.replace(tzinfo=None), None]),
        ("TIMESTAMP_LTZ(3)", [NOON, None]),
        ("ARRAY<INT>", [[1, 2], None]),
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_what_is_given_back_is_the_same(kind: str, given: list[Any], zone: str) -> None:
    assert computed(lambda series: series, kind, zone, a=(kind, given)) == given


def test_a_moment_is_in_the_time_zone() -> None:
    hours = computed(
        lambda series: series.dt.hour, "INT", "Asia/Tokyo", a=("TIMESTAMP_LTZ(3)", [NOON])
    )
    assert hours == [21]
    naive = computed(
        lambda series: series.dt.tz_localize(None),
        "TIMESTAMP_LTZ(3)",
        "Asia/Tokyo",
        a=("TIMESTAMP_LTZ(3)", [NOON]),
    )
    assert naive == [NOON]


def test_constants_are_values_and_rows_are_frames() -> None:
    def function(series: pd.Series[int], number: int, rows: pd.DataFrame) -> pd.Series[int]:
        assert isinstance(number, int)
        assert [*rows.columns] == ["x", "y"]
        return series + number + rows.x

    found = computed(
        function,
        "BIGINT",
        a=("BIGINT", [1, 2]),
        b=("BIGINT", 10),
        c=("ROW<x BIGINT, y STRING>", [{"x": 100, "y": "p"}, {"x": 200, "y": None}]),
    )
    assert found == [111, 212]


def test_a_frame_is_a_row() -> None:
    found = computed(
        lambda series: pd.DataFrame({"p": series, "q": series.astype(str)}),
        "ROW<x BIGINT, y STRING>",
        a=("BIGINT", [1, 2]),
    )
    assert found == [{"x": 1, "y": "1"}, {"x": 2, "y": "2"}]


def test_no_rows_are_no_call() -> None:
    assert computed(lambda series: 1 / 0, "BIGINT", a=("BIGINT", [])) == []
