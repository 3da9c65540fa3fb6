"""What Spark's own sinks are given."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.types import IntegerType, StructField, StructType

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import TypeMismatchError
from headrace.graph.stream_graph import StreamGraph
from headrace.runners.launch import program_of
from headrace.runners.spark.failures import TaskFailure, failure_in
from headrace.runners.spark.modules import dumps
from headrace.runners.spark.query import worker
from headrace.runners.spark.query.dataframes import _SinkRows
from headrace.runners.spark.query.wire import pack, to_arrow
from headrace.runners.spark.query.worker import ProgramRef
from headrace.runtime.block import Block, Envelope, Kind


def test_a_worker_that_has_seen_nothing_of_a_job_knows_its_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "_jobs", {})
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"parallelism.default": "1"})
    )
    env.from_collection([1]).print()
    program = program_of(StreamGraph.of(env._take_sinks()), env._configuration, "job")
    schema = StructType([StructField("n", IntegerType())])
    (sink,) = program.sinks
    decode = _SinkRows(ProgramRef("run", dumps(program, [])), sink, ["n"], schema.json())
    block = Block(None, [(1,), (2,)], None, False, [], None, 0)
    rows = to_arrow(pack([Envelope(1, 0, sink.id, Kind.DATA, 0, 0, block)], 1))
    (found,) = decode(rows)
    assert isinstance(found, pa.RecordBatch)
    assert found.to_pydict() == {"n": [1, 2]}
    assert [*worker._jobs] == ["run"]


def test_a_record_that_does_not_fit_names_its_sink(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_jobs", {})
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"parallelism.default": "1"})
    )
    env.from_collection([1]).print().name("ledger")
    program = program_of(StreamGraph.of(env._take_sinks()), env._configuration, "job")
    schema = StructType([StructField("n", IntegerType())])
    (sink,) = program.sinks
    decode = _SinkRows(ProgramRef("run", dumps(program, [])), sink, ["n"], schema.json())
    block = Block(None, [(1, 2)], None, False, [], None, 0)
    with pytest.raises(TaskFailure) as raised:
        list(decode(to_arrow(pack([Envelope(1, 0, sink.id, Kind.DATA, 0, 0, block)], 1))))
    found = failure_in(str(raised.value))
    assert isinstance(found, TypeMismatchError)
    assert found.__notes__[0].startswith("sink:     ledger")
