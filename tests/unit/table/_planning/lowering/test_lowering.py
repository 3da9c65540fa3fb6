"""Which streams plans become, and which plans are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headrace.common.changelog_mode import ChangelogMode
from headrace.common.configuration import Configuration
from headrace.datastream.data_stream import DataStream
from headrace.errors import SqlValidationError, UnsupportedError
from headrace.operators.timestamps import TimestampsSpec
from headrace.sql.rel import (
    Aggregate,
    AggregateCall,
    ChangelogNormalize,
    Column,
    CountWindowAggregate,
    Rel,
    Scan,
    SetOperation,
    Sort,
    StreamScan,
    Union,
    Values,
    Watermark,
    Window,
    WindowAggregate,
    WindowSpec,
    reference,
)
from headrace.sql.types import BIGINT, STRING, TimestampType
from headrace.table._planning.lowering.lowering import Lowering
from headrace.table._planning.options import PlanningOptions
from tests.unit.table._planning.plans import environment

pytest.importorskip("sqlglot")

TIME = Column("ts", TimestampType(3, attribute="rowtime"))
SCAN = Scan(("c", "d", "t"), (Column("k", STRING), TIME))
COUNT = AggregateCall("n", "COUNT", (), BIGINT)
COUNTS = Aggregate(SCAN, ("k",), (COUNT,))
HOP = WindowSpec("HOP", "ts", 10_000, 3_000)
SESSION = WindowSpec("SESSION", "ts", 10_000)
BY_TIME = (("ts", True, True),)


class Sources:
    """Makes sources, and notes which ones were asked for."""

    def __init__(self) -> None:
        self.env = environment()
        self.asked: list[str] = []

    def scan(self, scan: Scan, uid: str, dictionaries: bool = False) -> DataStream:
        self.asked.append("dictionaries" if dictionaries else "plain")
        return self.env.from_collection([("a", 1)])

    def stream(self, scan: StreamScan) -> DataStream:
        raise NotImplementedError

    def values(self, values: Values) -> DataStream:
        raise NotImplementedError

    def mode(self, scan: Scan) -> ChangelogMode:
        return ChangelogMode.insert_only()

    def locator(self, scan: Scan) -> str:
        return "somewhere"


def lowering(sources: Sources | None = None, **settings: str) -> Lowering:
    options = PlanningOptions.of(Configuration.from_dict(settings))
    return Lowering(sources or Sources(), options)


def test_a_table_is_read_once() -> None:
    sources = Sources()
    made = lowering(sources)
    made.lower(Union((SCAN, COUNTS, SCAN)))
    assert sources.asked == ["plain"]


def test_the_watermarks_of_tables_do_not_wait_for_splits_without_rows() -> None:
    watermark = Watermark(SCAN, "ts", reference(TIME), SCAN.columns)
    stream = lowering(**{"table.exec.source.idle-timeout": "3 s"}).lower(watermark)
    node = stream._configurable_operator
    assert node is not None and isinstance(node.spec, TimestampsSpec)
    assert node.spec.strategy.idle_timeout_ms == 3_000


def test_texts_are_decoded_for_operators_that_need_it() -> None:
    sources = Sources()
    made = lowering(sources)
    encoded = made.lower_encoded(SCAN)
    assert made.lower_encoded(SCAN) is encoded
    assert made.lower(SCAN) is not encoded
    assert sources.asked == ["dictionaries"], "the decoded rows are those of the same source"


def test_results_in_a_batch_do_not_change() -> None:
    assert lowering().changes(COUNTS)
    assert not lowering(**{"execution.runtime-mode": "BATCH"}).changes(COUNTS)


@pytest.mark.parametrize(
    ("rel", "problem"),
    [
        (Sort(SCAN, BY_TIME, limit=3), "Top-N"),
        (Sort(COUNTS, (("n", True, True),)), "ORDER BY of rows that change"),
        (Sort(COUNTS, (), limit=3), "LIMIT of rows that change"),
        (Sort(SCAN, (), offset=3), "OFFSET without LIMIT"),
        (CountWindowAggregate(COUNTS, ("k",), (COUNT,), 2, 2), "over rows that change"),
        (
            WindowAggregate(
                SCAN,
                replace(HOP, slide_ms=5_000),
                ("k",),
                (AggregateCall("f", "FIRST_VALUE", ("k",), STRING),),
                (),
            ),
            "FIRST_VALUE in windows of HOP",
        ),
    ],
)
def test_what_a_stream_does_not_support_is_refused(rel: Rel, problem: str) -> None:
    with pytest.raises(UnsupportedError, match=problem):
        lowering().lower(rel)


@pytest.mark.parametrize(
    ("rel", "problem"),
    [
        (Window(SCAN, SESSION, SCAN.fields), "SESSION in a batch"),
        (WindowAggregate(SCAN, SESSION, ("k",), (COUNT,), ()), "SESSION in a batch"),
        (
            WindowAggregate(SCAN, replace(HOP, processing_time=True), ("k",), (COUNT,), ()),
            "processing time in a batch",
        ),
        (CountWindowAggregate(SCAN, ("k",), (COUNT,), 2, 2), "number of rows in a batch"),
    ],
)
def test_what_a_batch_does_not_support_is_refused(rel: Rel, problem: str) -> None:
    with pytest.raises(UnsupportedError, match=problem):
        lowering(**{"execution.runtime-mode": "BATCH"}).lower(rel)


@pytest.mark.parametrize(
    "rel",
    [
        Sort(SCAN, (), limit=3),
        ChangelogNormalize(SCAN, ("k",)),
        SetOperation(SCAN, SCAN, "EXCEPT", all=False),
        Aggregate(SCAN, ("k",), (COUNT,)),
    ],
    ids=lambda rel: type(rel).__name__,
)
def test_state_has_the_time_to_live_of_the_configuration(rel: Rel) -> None:
    times = {"1 h": 3_600_000, "0 s": 0}
    for text, ttl_ms in times.items():
        node = lowering(None, **{"table.exec.state.ttl": text}).lower(rel)._configurable_operator
        assert node is not None
        specs: list[Any] = [node.spec, *(edge.source.spec for edge in node.inputs)]
        assert [each.ttl_ms for each in specs if hasattr(each, "ttl_ms")] == [ttl_ms]


def test_windows_are_whole_numbers_of_slides() -> None:
    with pytest.raises(SqlValidationError, match=r"10000 ms.* multiple of the slide .3000 ms"):
        lowering().lower(WindowAggregate(SCAN, HOP, ("k",), (COUNT,), ()))
