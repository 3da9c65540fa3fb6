"""What operators keep of their own has the declared type of their streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.common import Row
from headrace.common.time import Time
from headrace.common.typeinfo import TypeInformation, Types
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.data_stream import KeyedStream
from headrace.datastream.functions import ProcessJoinFunction
from headrace.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    TumblingEventTimeWindows,
)
from headrace.errors import CheckpointError
from headrace.runtime.operator import OperatorSpec
from headrace.testing import KeyedHarness
from tests.unit.operators.windowing import STRATEGY, Numbers

Build = Callable[[KeyedStream], DataStream]

INT = Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()])
TEXT = Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.STRING()])

WINDOW = TumblingEventTimeWindows.of(Time.milliseconds(20))
SESSION = EventTimeSessionWindows.with_gap(Time.milliseconds(5))


class Pairs(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        yield left, right


def interval(keyed: KeyedStream) -> DataStream:
    around = Time.milliseconds(-5), Time.milliseconds(5)
    return keyed.interval_join(keyed).between(*around).process(Pairs())


def as_of(keyed: KeyedStream) -> DataStream:
    return keyed.as_of_join(keyed).apply(lambda left, right: left)


def newest(one: Row, other: Row) -> Row:
    return other


# An operator, and what its state holds of records with fields of type INT.
OPERATORS: dict[str, tuple[Build, str]] = {
    "reduce": (
        lambda keyed: keyed.reduce(newest),
        "value of TUPLE<ROW<k: STRING, v: INT>, LONG>",
    ),
    # The field is added up in 64 bits.
    "sum": (
        lambda keyed: keyed.sum("v"),
        "value of TUPLE<ROW<k: STRING, v: LONG>, LONG>",
    ),
    "windows, reduce": (
        lambda keyed: keyed.window(WINDOW).reduce(newest),
        "reducing of ROW<k: STRING, v: INT>",
    ),
    "windows, sum": (
        lambda keyed: keyed.window(WINDOW).sum("v"),
        "reducing of ROW<k: STRING, v: LONG>",
    ),
    "windows, process": (
        lambda keyed: keyed.window(WINDOW).process(Numbers()),
        "list of LIST<ROW<k: STRING, v: INT>>",
    ),
    "windows with a trigger": (
        lambda keyed: keyed.window(WINDOW).trigger(CountTrigger.of(9)).reduce(newest),
        "reducing of ROW<k: STRING, v: INT>",
    ),
    "windows with a trigger, process": (
        lambda keyed: keyed.window(WINDOW).trigger(CountTrigger.of(9)).process(Numbers()),
        "list of LIST<ROW<k: STRING, v: INT>>",
    ),
    # All records are kept, whatever comes of them.
    "windows with an evictor": (
        lambda keyed: keyed.window(WINDOW).evictor(CountEvictor.of(9)).sum("v"),
        "list of LIST<TUPLE<ROW<k: STRING, v: INT>, LONG>>",
    ),
    "sessions": (
        lambda keyed: keyed.window(SESSION).reduce(newest),
        "value of SESSIONS<ROW<k: STRING, v: INT>>",
    ),
    "interval join": (interval, "times of ROW<k: STRING, v: INT>"),
    "as-of join": (as_of, "times of ROW<k: STRING, v: INT>"),
}


def spec_of(build: Build, declared: TypeInformation | None) -> OperatorSpec:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([1]).map(lambda number: Row(k="a", v=number), declared)
    timed = stream.assign_timestamps_and_watermarks(STRATEGY)
    node = build(timed.key_by(lambda record: record.k))._configurable_operator
    assert node is not None and node.spec is not None
    return node.spec


def harness(name: str, declared: TypeInformation | None) -> KeyedHarness:
    spec = spec_of(OPERATORS[name][0], declared)
    return KeyedHarness(spec, lambda record: record.k, backend="paged")


@pytest.mark.parametrize("name", OPERATORS)
def test_records_of_another_type_are_refused(name: str) -> None:
    with harness(name, INT) as task:
        task.process(Row(k="a", v=1), 45)
        held = task.snapshot()
    with harness(name, TEXT) as other, pytest.raises(CheckpointError) as refused:
        other.restore(held)
        other.process(Row(k="a", v="1"), 46)
        other.advance_watermark(200)
    before = OPERATORS[name][1]
    assert f"was stored as {before} " in str(refused.value)
    assert "restore the declared type" in str(refused.value)


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize(("before", "now"), [(INT, INT), (None, INT), (INT, None)], ids=str)
def test_records_whose_type_may_be_the_same_go_on(
    name: str, before: TypeInformation | None, now: TypeInformation | None
) -> None:
    with harness(name, before) as task:
        task.process(Row(k="a", v=1), 45)
        held = task.snapshot()
    with harness(name, now) as other:
        other.restore(held)
        other.process(Row(k="a", v=2), 46)
        other.advance_watermark(44)
        assert other.snapshot() != held
