"""A task run that failed leaves nothing in its operators: the records come again."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from headrace.common import Time, WatermarkStrategy
from headrace.connector import ColumnChunk
from headrace.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment
from headrace.datastream._build import execution
from headrace.datastream.aggregates import Aggregates, Sum
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from headrace.metrics.metricbase import MetricGroup
from headrace.operators.aggregates.aggregate import FieldAggregate, FirstRecord
from headrace.operators.reduce import ReduceSpec
from headrace.runners.launch import program_of
from headrace.runtime.block import Block, records_of
from headrace.runtime.chain.chain import Chain
from headrace.runtime.columns.batch import Columns
from headrace.runtime.columns.keys import ColumnKeys
from headrace.runtime.columns.selectors import ByColumns, TimestampColumn
from headrace.runtime.columns.shapes import DICTS
from headrace.runtime.context import TaskInfo
from headrace.runtime.program import VertexProgram
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.tasks.keyed_task import KeyedTask, TaskInput
from headrace.runtime.user_function import UserFunction
from tests.unit.runtime.programs import chain_of as chain_of_nodes
from tests.unit.runtime.programs import exchange, job_of, node, sent, to_exchange

TUMBLING = TumblingEventTimeWindows.of(Time.milliseconds(10))
SESSIONS = EventTimeSessionWindows.with_gap(Time.milliseconds(10))
TIMES = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimestampColumn("at"))

Build = Callable[[DataStream], DataStream]

COMBINED: dict[str, tuple[bool, Build]] = {
    "sum of a batch": (True, lambda s: s.key_by(ByColumns("k")).sum("n")),
    "windows": (False, lambda s: timed(s).window(TUMBLING).sum("n")),
    "sessions": (False, lambda s: timed(s).window(SESSIONS).aggregate(Aggregates(n=Sum("n")))),
}


def timed(stream: DataStream) -> Any:
    return stream.assign_timestamps_and_watermarks(TIMES).key_by(ByColumns("k"))


def rows(indexes: Any) -> dict[str, Any]:
    return {"k": indexes * 0, "n": indexes + 1, "at": indexes}


def chain_of(build: Build, batch: bool) -> Chain:
    """The chain of a source of columns, with the combiner before its exchange."""
    env = StreamExecutionEnvironment()
    if batch:
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    source = DataGeneratorSource.of_columns(rows, 9)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "rows")
    graph = execution._build_graph((build(stream)._collecting_sink(),), env._configuration)
    program = program_of(graph, env._configuration, None)
    source_chain = program.sources[0].chain
    assert any("combine" in node.spec.kind for node in source_chain.nodes.values() if node.spec)
    return Chain(source_chain, program, TaskInfo(), MetricGroup(), merged_marks=False)


def begin(chain: Chain) -> None:
    chain.begin(sender=0, now_ms=0)
    chain.begin_channel("split", {})


def push(chain: Chain, n: int, columns: bool) -> None:
    record = {"k": 0, "n": n, "at": n}
    if columns:
        chain.push_column_chunk(ColumnChunk(pa.RecordBatch.from_pylist([record]), shape=DICTS))
    else:
        chain.push_all([record], None)


def left(chain: Chain) -> list[bytes]:
    """What leaves the chain at the end of a task run, as pickled records."""
    chain.complete()
    blocks = [envelope.payload for envelope in chain.drain()]
    return [pickle.dumps(value) for block in blocks for value in records_of(block)]


@pytest.mark.parametrize("columns", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("name", COMBINED)
def test_a_combiner_drops_what_a_failed_call_left(name: str, columns: bool) -> None:
    batch, build = COMBINED[name]
    chain, other = chain_of(build, batch), chain_of(build, batch)
    columns = columns and chain.push_columns is not None  # sessions are combined as rows
    begin(chain)
    push(chain, 5, columns)  # and then the reader fails, say: the run ends here
    for each in (chain, other):
        begin(each)
        push(each, 3, columns)
    wanted = left(other)
    assert len(wanted) == 1
    assert left(chain) == wanted


def test_a_reduction_of_columns_drops_what_a_failed_call_made() -> None:
    fold = FirstRecord(FieldAggregate("sum", "n"))
    head = node(0, ReduceSpec(UserFunction(fold)), to_exchange(0))
    vertex = VertexProgram(0, 1, True, 1, 1, chain_of_nodes(head, exchanges=[exchange(0)]))
    task = KeyedTask(vertex, job_of((), vertex), TaskInfo(), MetricGroup())

    def results(numbers: list[int | None]) -> list[Any]:
        columns = Columns(pa.record_batch({"k": [0] * len(numbers), "n": numbers}))
        block = Block(ColumnKeys(columns, ("k",)), columns, None, False, [], None, 0)
        return sent(task.advance(TaskInput(0, [block], 0), HeapBackend()), 1)

    with pytest.raises(TypeError):
        results([1, None])  # the second record, when the first has a result
    assert results([2]) == [{"k": 0, "n": 2}]
