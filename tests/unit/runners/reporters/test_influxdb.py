"""Points in InfluxDB's line protocol."""

from __future__ import annotations

import math

import pytest

from headrace.metrics._merging import Number
from headrace.runners.reporters.influxdb import line_of
from headrace.runners.reporters.samples import Kind, Sample, Scope, Summary


def line(
    kind: Kind, value: Number | Summary, count: int | None = None, *, is_user: bool = False
) -> str:
    return line_of(Sample(Scope.JOB, "m", kind, value, {"host": "h"}, (), count, is_user), 5)


def test_each_kind_has_flinks_fields_and_types() -> None:
    assert line(Kind.COUNTER, 3) == "jobmanager_job_m,host=h count=3i 5"
    assert line(Kind.GAUGE, 3) == "jobmanager_job_m,host=h value=3i 5"
    assert line(Kind.GAUGE, 0.5) == "jobmanager_job_m,host=h value=0.5 5"
    assert line(Kind.METER, 2, 7) == "jobmanager_job_m,host=h count=7i,rate=2.0 5"
    distribution = Summary(2, 5, 2, 3)
    assert line(Kind.HISTOGRAM, distribution) == (
        "jobmanager_job_m,host=h count=2i,min=2.0,max=3.0,mean=2.5,sum=5.0 5"
    )
    assert line(Kind.HISTOGRAM, Summary(0, 0)) == "jobmanager_job_m,host=h count=0i,sum=0.0 5"


def test_the_gauge_of_a_function_keeps_its_type() -> None:
    assert line(Kind.GAUGE, 1, is_user=True).split()[1] == "value=1.0"
    assert line(Kind.GAUGE, 0.5, is_user=True).split()[1] == "value=0.5"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1 << 63, 10**400])
def test_what_influxdb_cannot_hold_is_left_out(value: float) -> None:
    assert line(Kind.GAUGE, value) == ""


def test_numbers_of_numpy_are_numbers() -> None:
    numpy = pytest.importorskip("numpy")
    assert line(Kind.COUNTER, numpy.int64(3)).split()[1] == "count=3i"
    assert line(Kind.COUNTER, numpy.float64(0.5)).split()[1] == "count=0.5"
    assert line(Kind.METER, numpy.float64(2), numpy.int64(7)).split()[1] == "count=7i,rate=2.0"


def test_texts_are_escaped() -> None:
    variables = {"job_name": "a, b=c", "host": "", "task": "x\\", "tm id": "n\nl"}
    sample = Sample(Scope.JOB, "my, name", Kind.COUNTER, 1, variables)
    assert line_of(sample, 5) == (
        "jobmanager_job_my\\,\\ name,job_name=a\\,\\ b\\=c,task=x/,tm\\ id=n\\ l count=1i 5"
    )


def test_a_name_stays_apart_from_the_tags_after_it() -> None:
    sample = Sample(Scope.JOB, "a\\", Kind.COUNTER, 1, {"file": "caf\udce9"})
    assert line_of(sample, 5) == "jobmanager_job_a/,file=caf? count=1i 5"
