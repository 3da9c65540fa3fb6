import pickle
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common import Duration, Instant, Time
from headrace.common.time import epoch_ms_of, milliseconds_of
from headrace.errors import PlanError, TypeMismatchError


def test_durations():
    assert Duration.of_days(1) == Duration.of_hours(24) == Duration.of_minutes(1440)
    assert Duration.of_seconds(1) == Duration.of_millis(1000) == Duration.of_nanos(10**9)
    assert hash(Duration.of_seconds(1)) == hash(Duration.of_millis(1000))
    assert Duration.of_seconds(1) != Duration.of_seconds(2)
    assert Duration.of_seconds(1) != Time.seconds(1)
    assert Duration.of_seconds(90).to_millis() == 90_000
    assert Duration.of_nanos(1_999_999).to_millis() == 1
    assert Duration.of_seconds(-2).to_millis() == -2000
    assert repr(Duration.of_seconds(2)) == "Duration.of_millis(2000)"
    assert repr(Duration.of_nanos(2)) == "Duration.of_nanos(2)"


def test_times():
    assert Time.days(1) == Time.hours(24) == Time.minutes(1440) == Time.seconds(86_400)
    assert Time.milliseconds(5).to_milliseconds() == Time(5).to_milliseconds() == 5
    assert str(Time.seconds(2)) == "2000 ms"
    assert len({Time.seconds(1), Time.milliseconds(1000)}) == 1


@pytest.mark.parametrize(
    "make",
    [Duration.of_seconds, Duration.of_nanos, Duration.of_days, Time.seconds, Time.days, Time],
)
def test_fractions_are_refused(make):
    with pytest.raises(TypeMismatchError, match=r"0\.5 is not a whole number"):
        make(0.5)


@given(st.integers(-(2**60), 2**60))
def test_instants_keep_their_milliseconds(ms):
    instant = Instant.of_epoch_milli(ms)
    assert instant.to_epoch_milli() == ms
    assert 0 <= instant.nanos < 10**9
    assert pickle.loads(pickle.dumps(instant)) == instant


def test_instants():
    assert Instant(1, 999_999).to_epoch_milli() == 1000
    assert repr(Instant(1, 2)) == "Instant<1, 2>"
    assert Instant(1, 2) != Instant(1, 3)


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        (Time.seconds(3), 3000),
        (Duration.of_minutes(1), 60_000),
        (timedelta(seconds=1, microseconds=1500), 1001),
        (timedelta(days=-1), -86_400_000),
        (250, 250),
    ],
)
def test_milliseconds_of(amount, expected):
    assert milliseconds_of(amount) == expected


@pytest.mark.parametrize("amount", [1.5, "5 s", None, True, datetime(2020, 1, 1)])
def test_milliseconds_of_nothing_else(amount):
    with pytest.raises(TypeMismatchError, match="the gap is") as caught:
        milliseconds_of(amount, "the gap")
    assert "timedelta" in str(caught.value)


def test_milliseconds_of_has_a_floor_where_asked():
    assert milliseconds_of(0, at_least=0) == 0
    with pytest.raises(PlanError, match=r"the gap is .* at least 1 ms"):
        milliseconds_of(timedelta(microseconds=999), "the gap", at_least=1)


def test_epoch_ms():
    assert epoch_ms_of(datetime(1970, 1, 1, 0, 0, 1)) == 1000
    assert epoch_ms_of(datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))) == 0
    assert epoch_ms_of(datetime(1969, 12, 31, 23, 59, 59, 999_500, UTC)) == -1


@given(st.datetimes(timezones=st.none() | st.just(UTC)))
def test_epoch_ms_is_exact(moment):
    moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    ms = epoch_ms_of(moment)
    assert datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms) == moment.replace(
        tzinfo=UTC
    )
