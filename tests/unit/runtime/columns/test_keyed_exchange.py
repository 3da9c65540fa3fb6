"""Columns after a keyed stage: receivers read what they would read of rows, by watermark."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.metrics.metricbase import MetricGroup
from headrace.planner.columns import with_columns
from headrace.runtime.block import Envelope, records_of
from headrace.runtime.chain.chain import Chain
from headrace.runtime.columns.batch import Columns
from headrace.runtime.columns.keyed_exchange import KeyedColumnExchangeWriter
from headrace.runtime.columns.selectors import ByColumns
from headrace.runtime.context import TaskInfo
from headrace.runtime.program import SourceProgram, VertexProgram
from headrace.runtime.user_function import UserFunction
from tests.effort import examples
from tests.pipelines.columns import DoubleSpec, WindowSumsSpec
from tests.unit.runtime.columns.test_exchange import columns_of
from tests.unit.runtime.programs import chain_of, exchange, job_of, node, to_exchange
from tests.unit.runtime.tasks.test_stage_call import read, received

GROUPS, HOMES = 5, 4
WATERMARKS = (10, 20, 30)

USERS = st.lists(st.integers(-3, 12), min_size=1, max_size=8)
DEEDS = st.lists(
    st.one_of(
        st.tuples(st.just("columns"), USERS),
        st.tuples(st.just("columns"), USERS),
        st.tuples(st.just("others"), USERS),
        st.tuples(st.just("row"), USERS),
        st.tuples(st.just("next"), st.none()),
        st.tuples(st.just("drain"), st.none()),
    ),
    max_size=10,
)
RUNS = st.lists(st.tuples(st.integers(0, HOMES - 1), DEEDS), min_size=1, max_size=4)


def chain_after_keys(mode: str = "key", spec: Any = None, partitions: int = 1) -> Chain:
    """The chain of a keyed stage, as a source's whose watermarks are those of its task."""
    spec = spec or (WindowSumsSpec() if mode == "key" else DoubleSpec())
    selector = {"selector": UserFunction(ByColumns("user"))} if mode == "key" else {}
    after = exchange(0, groups=GROUPS, mode=mode, **selector)
    program = chain_of(node(1, None, to_exchange(0)), exchanges=[after])
    source = SourceProgram("1", "source", None, None, None, program, 1)
    vertex = VertexProgram(0, 1, mode == "key", GROUPS, 1, chain_of(node(0, spec)))
    job = with_columns(replace(job_of((source,), vertex), partitions=partitions))
    return Chain(job.sources[0].chain, job, TaskInfo(), MetricGroup(), merged_marks=True)


def sent(chain: Chain, runs: Iterable[tuple[int, list[Any]]], as_columns: bool) -> list[Envelope]:
    envelopes: list[Envelope] = []
    first = 0
    for number, (current_group, deeds) in enumerate(runs):
        watermarks = iter(WATERMARKS)
        chain.begin(number, 7, current_group, HOMES, 0, number > 0)
        for what, users in deeds:
            if what == "next":
                if (watermark := next(watermarks, None)) is not None:
                    chain.push_watermark(watermark)
            elif what == "drain":
                envelopes += chain.drain()
            else:
                more = {"other": ["x"] * len(users)} if what == "others" else {}
                columns = columns_of(users, first, **more)
                first += len(users)
                if what == "row" or not as_columns:
                    columns.push_rows(chain.push)
                else:
                    assert chain.push_columns is not None
                    chain.push_columns(columns)
        for watermark in watermarks:
            chain.push_watermark(watermark)
    return [*envelopes, *chain.drain()]


def run_of(runs: list[tuple[int, list[Any]]], number: int) -> int:
    """In which run a record was made: they are counted."""
    for at, (_, deeds) in enumerate(runs):
        number -= sum(len(users) for what, users in deeds if users)
        if number < 0:
            return at
    raise AssertionError("no run made it")


@settings(max_examples=examples(24))
@given(RUNS, st.integers(1, 3))
def test_receivers_read_what_they_would_read_of_rows(runs: list[Any], partitions: int) -> None:
    """Of each group all records under each watermark, in its order, and then the last mark."""
    columns, rows = (chain_after_keys(partitions=partitions) for _ in range(2))
    assert isinstance(columns._exchanges["0"], KeyedColumnExchangeWriter)
    found: list[dict[int, Any]] = []
    for chain in (columns, rows):
        blocks = received(sent(chain, runs, as_columns=chain is columns))
        read_by = {group: read(sent_to) for group, sent_to in blocks.items()}
        found.append(
            {
                group: sorted(records, key=lambda each: (each[0], run_of(runs, each[2]["n"])))
                for group, (records, _) in read_by.items()
                if records
            }
        )
        # Whoever has the number of a group that ran hears of its time, with records or without.
        read_here = {
            group for group in range(GROUPS) if group % HOMES in {home for home, _ in runs}
        }
        assert {read_by[group][1][1] for group in read_here} == {WATERMARKS[-1]}
    assert found[0] == found[1]
    assert columns._exchanges["0"].count == rows._exchanges["0"].count
    assert not columns.buffered_records() and not columns.is_full


def records_by_group(envelopes: Iterable[Envelope]) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for envelope in envelopes:
        block = envelope.payload
        assert block.keys is None
        found.setdefault(envelope.group, []).extend(records_of(block))
    return found


@pytest.mark.parametrize("mode", ["forward", "round-robin", "broadcast"])
def test_subtasks_are_those_of_rows(mode: str) -> None:
    runs = [(1, [("columns", [1, 2, 3, 4])]), (3, [("columns", [5, 6]), ("columns", [7])])]
    # Rows of one task run at a time: how records are dealt out begins anew with each.
    for run in runs:
        columns, rows = chain_after_keys(mode), chain_after_keys(mode)
        found = records_by_group(sent(columns, [run], as_columns=True))
        expected = records_by_group(sent(rows, [run], as_columns=False))
        assert found == expected and sum(map(len, found.values())) in (3, 4)


def test_columns_wait_for_more_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = chain_after_keys()
    chain.begin(1, 7, 0, HOMES, 0, False)
    assert chain.push_columns is not None
    chain.push_columns(columns_of(range(100)))
    assert chain.buffered_records() == 0 and not chain.is_full
    monkeypatch.setattr("headrace.runtime.columns.keyed_exchange.MAX_BUFFERED_BYTES", 1000)
    monkeypatch.setattr("headrace.runtime.chain.chain.MAX_BUFFERED_BYTES", 1000)
    chain.push_columns(columns_of(range(100), 100))
    assert chain.send_context.overflow and chain.is_full
    assert sum(len(envelope.payload.values) for envelope in chain.drain()) == 200


def test_what_a_failed_call_gathered_is_forgotten() -> None:
    chain = chain_after_keys()
    chain.begin(1, 7, 0, HOMES, 0, False)
    assert chain.push_columns is not None
    chain.push_columns(columns_of([1, 2]))
    chain.begin(1, 7, 0, HOMES, 0, False)
    assert not [*chain.drain()]
    assert chain._exchanges["0"].count == 2, "they were sent before the call failed"


def test_keys_that_columns_cannot_give_are_those_of_rows() -> None:
    chain = chain_after_keys()
    chain.begin(1, 7, 0, HOMES, 0, False)
    assert chain.push_columns is not None
    chain.push_columns(columns_of([7]))
    chain.push_columns(Columns(pa.record_batch({"user": pa.array([[1], [2]]), "n": [1, 2]})))
    blocks = [envelope.payload for envelope in chain.drain()]
    found = [value["n"] for block in blocks for value in records_of(block)]
    assert sorted(found) == [0, 1, 2]
    assert any(isinstance(block.values, list) and block.values for block in blocks)
