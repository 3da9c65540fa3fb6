from __future__ import annotations

from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from headrace.common._options import catalogue as options
from headrace.common._options.table import TIME_ZONE
from headrace.common._time_zones import normalized, zone_of
from headrace.common.configuration import Configuration
from headrace.errors import ConfigurationError


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("GMT-08:00", "-08:00"),
        ("GMT+5:30", "+05:30"),
        ("+08:00", "+08:00"),
        ("UTC", "UTC"),
        ("Europe/Warsaw", "Europe/Warsaw"),
    ],
)
def test_arrow_and_python_have_the_same_zone(name: str, found: str) -> None:
    assert normalized(name) == found
    local = datetime(2026, 7, 1)
    moment = pc.assume_timezone(pa.scalar(local, pa.timestamp("us")), found).cast(pa.int64())
    offset = zone_of(found).utcoffset(local)
    expected = (local - offset - datetime(1970, 1, 1)) // timedelta(microseconds=1)  # type: ignore[operator]
    assert moment.as_py() == expected


@pytest.mark.parametrize("name", ["Mars/Base", "UTC+8", "GMT+25:00", "+8:99", "", "/etc/passwd"])
def test_what_is_no_zone_cannot_be_set(name: str) -> None:
    with pytest.raises(ConfigurationError, match="local-time-zone is"):
        Configuration().set_string("table.local-time-zone", name)


def test_the_option_gives_the_name_that_arrow_knows() -> None:
    config = Configuration().set_string("table.local-time-zone", "GMT+2")
    assert options.read(config, TIME_ZONE) == "+02:00"
