"""Who decides that columns go somewhere: sources, operators, sinks and keys say so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from headrace.common import Types, WatermarkStrategy
from headrace.connector import Chunk, ColumnChunk, Sink, SinkWriter, SplitRange, SplitReader
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors._collection import CollectionSource
from headrace.datastream.connectors._hybrid_source import HybridReader
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.formats._avro.parquet import AvroParquetFormat
from headrace.datastream.formats.csv import CsvReaderFormat, CsvSchema
from headrace.datastream.formats.parquet import ParquetFormat
from headrace.graph.stream_graph import StreamGraph
from headrace.planner.plan import PlanOptions, plan
from headrace.runtime.operator import Link
from headrace.runtime.program import ChainProgram


class RowReader(SplitReader):
    def read(self, split_range: SplitRange) -> Iterator[Chunk]:
        return iter(())


class ColumnReader(RowReader):
    def read_columns(self, split_range: SplitRange) -> Iterator[Chunk | ColumnChunk] | None:
        return iter(())


@dataclass(frozen=True)
class TakingSink(Sink):
    """Takes columns, or does not."""

    wants: bool
    accepts = None

    @property
    def takes_columns(self) -> bool:
        return self.wants

    def writer(self, context: Any) -> SinkWriter:
        raise NotImplementedError


OF_COLUMNS = DataGeneratorSource.of_columns(lambda numbers: {"n": numbers}, 9)


def chain_to(source: Any, columns: bool = True, takes_columns: bool = False) -> ChainProgram:
    """The chain of a source that a sink and a sum read."""
    env = StreamExecutionEnvironment.get_execution_environment()
    read = env.from_source(source, WatermarkStrategy.no_watermarks(), "source")
    read.sink_to(TakingSink(takes_columns))
    if not takes_columns:
        read.key_by("n").sum("n").print()
    options = PlanOptions("job", 2, columns=columns)
    (found,) = plan(StreamGraph.of(env._list_sinks()), options).sources
    return found.chain


def links(chain: ChainProgram) -> list[Link]:
    return [link for node in chain.nodes.values() for link in node.links]


def test_readers_say_whether_they_may_have_columns() -> None:
    assert not RowReader().has_columns and ColumnReader().has_columns
    assert HybridReader([RowReader(), ColumnReader()]).has_columns
    assert not HybridReader([RowReader()]).has_columns
    assert OF_COLUMNS.reader().has_columns
    assert not DataGeneratorSource(lambda index: index, 9).reader().has_columns


def test_formats_say_whether_they_may_have_columns() -> None:
    schema = CsvSchema.builder().add_number_column("n").build()
    assert CsvReaderFormat.for_schema(schema).has_columns
    assert not CsvReaderFormat.for_schema(schema, True).has_columns
    assert ParquetFormat().has_columns
    assert AvroParquetFormat.has_columns.fget is not ParquetFormat.has_columns.fget


@pytest.mark.parametrize("columns", [True, False])
def test_a_source_reads_columns_where_they_go_somewhere(columns: bool) -> None:
    chain = chain_to(OF_COLUMNS, columns)
    assert chain.columns is columns
    assert [exchange.key_columns for exchange in chain.exchanges] == [("n",) if columns else ()]
    carried = [link for link in links(chain) if link.columns]
    # Columns that are there go to the sink's task, which makes the rows.
    assert [link.kind for link in carried if link.kind != "node"] == (
        ["sink", "exchange"] if columns else []
    )
    assert {link.rows_because for link in carried if link.kind == "sink"} <= {
        "the sink TakingSink takes records"
    }


def test_a_source_without_columns_says_nothing_of_them() -> None:
    chain = chain_to(CollectionSource(({"n": 1},)))
    assert not chain.columns
    assert {(link.columns, link.rows_because) for link in links(chain)} == {(False, "")}


def test_a_sink_that_takes_columns_is_a_reason_to_read_them() -> None:
    assert chain_to(OF_COLUMNS, takes_columns=True).columns
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_source(OF_COLUMNS, WatermarkStrategy.no_watermarks(), "s").sink_to(TakingSink(False))
    (source,) = plan(StreamGraph.of(env._list_sinks()), PlanOptions("job", 2)).sources
    assert not source.chain.has_columns


def test_a_declared_type_of_the_key_makes_keys_of_records() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    read = env.from_source(OF_COLUMNS, WatermarkStrategy.no_watermarks(), "s")
    read.key_by("n", Types.STRING()).sum("n").print()
    (source,) = plan(StreamGraph.of(env._list_sinks()), PlanOptions("job", 2)).sources
    assert not source.chain.columns
    reasons = {link.kind: link.rows_because for link in links(source.chain) if link.rows_because}
    assert reasons == {"exchange": "the key is computed from each record"}
