from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from headrace.sql.functions.time_zones import java_zone


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Asia/Tokyo", "Asia/Tokyo"),
        ("EST", "EST"),
        ("EAT", "Africa/Addis_Ababa"),
        ("VST", "Asia/Ho_Chi_Minh"),
        ("GMT+8", "+08:00"),
        ("GMT-530", "-05:30"),
        ("GMT+23:59", "+23:59"),
        ("GMT+24", "UTC"),
        ("GMT+25:00", "UTC"),
        ("GMT+8:60", "UTC"),
        ("Asia/Tokio", "UTC"),
        ("", "UTC"),
    ],
)
def test_a_name_is_read_as_java_reads_it(name: str, expected: str) -> None:
    assert java_zone(name) == expected
    assert pc.assume_timezone(pa.array([0], pa.timestamp("ms")), expected).null_count == 0
