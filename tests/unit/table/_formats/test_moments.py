from __future__ import annotations

import pyarrow as pa
import pytest

from headrace.sql.types import TimestampLtzType, TimestampType
from headrace.table._formats.moments import timestamp_reader, timestamps_of_texts


@pytest.mark.parametrize("text", ["9999-12-31 00:00:00", "1600-01-01 00:00:00"])
def test_nanoseconds_beyond_their_years_are_refused(text: str) -> None:
    nanoseconds, moments = TimestampType(9), TimestampLtzType(9)
    assert timestamps_of_texts(pa.array([text]), nanoseconds, iso=False) is None
    assert timestamps_of_texts(pa.array([text + "Z"]), moments, iso=False) is None
    with pytest.raises(ValueError, match="from 1677 to 2262"):
        timestamp_reader(nanoseconds, iso=False)(text)
    found = timestamps_of_texts(pa.array([text]), TimestampType(3), iso=False)
    assert found is not None
    assert found[0].value == timestamp_reader(TimestampType(3), iso=False)(text)


def test_digits_that_a_column_has_not_are_left_out() -> None:
    texts = pa.array(["2020-01-01 00:00:00.123456"])
    for precision, digits in ((3, "123"), (6, "123456"), (9, "123456000")):
        found = timestamps_of_texts(texts, TimestampType(precision), iso=False)
        assert found is not None and str(found[0].value).endswith(digits)
