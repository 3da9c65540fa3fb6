"""The contracts of sources and sinks, for those of tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headrace.common.types import row_of
from headrace.connector import ColumnChunk, Sink, Source
from headrace.runtime.columns.shapes import NAMED_ROWS
from headrace.sql.types import BIGINT, STRING
from headrace.table._connectors.connector import TableRequest
from headrace.table._connectors.kafka.connector import KafkaConnector
from headrace.testing._contracts import SinkContract, SourceContract
from tests.connectors.fake_kafka import BROKERS, Broker, FakeClients
from tests.unit.table.harness import columns, copy, rows, sink, source

OF = columns(a=BIGINT, b=STRING)


def row(a: int | None, b: str | None) -> Any:
    return row_of(("a", "b"), [a, b])


class TestDatagen(SourceContract):
    def make_source(self, folder: Path) -> Source:
        options = {"number-of-rows": "700", "rows-per-second": "200000"}
        options |= {"fields.a.min": "0", "fields.a.max": "5", "fields.b.length": "3"}
        return source("datagen", OF, options).source

    def expected(self) -> Sequence[Any]:
        return rows(_Made(self.make_source(Path())))  # type: ignore[arg-type]


class _Made:
    def __init__(self, made: Source) -> None:
        self.source = made


class TestJsonFiles(SourceContract):
    def make_source(self, folder: Path) -> Source:
        lines = [f'{{"a":{n},"b":"{"x" * (n % 9)}"}}' for n in range(100)]
        lines[7] = '{"b":"","a":"7"}'
        (folder / "a.json").write_text("\n".join(lines[:60]))
        (folder / "b.json").write_bytes("\r\n".join(lines[60:]).encode())
        read = source("filesystem", OF, {"path": str(folder), "format": "json"}).source
        assert isinstance(read, Source)
        return replace(read, max_range_bytes=37)  # type: ignore[call-arg,type-var]

    def expected(self) -> Sequence[Any]:
        return [row(n, "" if n == 7 else "x" * (n % 9)) for n in range(100)]

    def grow(self, folder: Path) -> None:
        for path in [*folder.rglob("*.json")]:
            path.write_bytes(path.read_bytes() * 3)


class TestWatchedCsv(SourceContract):
    def make_source(self, folder: Path) -> Source:
        (folder / "a.csv").write_text("".join(f"{n},x{n}\n" for n in range(90)))
        (folder / "b.csv").write_text('1,"a\nb"\n2,"c,"\n')
        options = {"path": str(folder), "format": "csv", "source.monitor-interval": "1 s"}
        return source("filesystem", OF, options).source

    def expected(self) -> Sequence[Any]:
        return [*(row(n, f"x{n}") for n in range(90)), row(1, "a\nb"), row(2, "c,")]


class Bulk(SourceContract):
    format: str

    def make_source(self, folder: Path) -> Source:
        (folder / "in").mkdir()
        (folder / "in" / "a.json").write_text("\n".join(f'{{"a":{n}}}' for n in range(90)))
        read = source("filesystem", OF, {"path": str(folder / "in"), "format": "json"})
        to = {"path": str(folder / "out"), "format": self.format}
        copy(read, sink("filesystem", OF, to, batch=True))
        return source("filesystem", OF, to).source

    def expected(self) -> Sequence[Any]:
        return [row(n, None) for n in range(90)]


class TestParquetFiles(Bulk):
    format = "parquet"


class TestAvroFiles(Bulk):
    format = "avro"


class TestKafka(SourceContract):
    @pytest.fixture(autouse=True)
    def broker(self) -> Iterator[None]:
        BROKERS["contract"] = broker = Broker()
        logs = broker.create("t", 2)
        for number in range(80):
            gap = number % 3
            logs[number % 2].add(b'{"a":%d}' % number, gap=gap)
        logs[0].add(None)
        yield
        del BROKERS["contract"]

    def make_source(self, folder: Path) -> Source:
        options = {"properties.bootstrap.servers": "fake:1", "topic": "t", "format": "json"}
        options |= {"scan.startup.mode": "earliest-offset"}
        options |= {"scan.bounded.mode": "latest-offset"}
        request = TableRequest("t", OF, options)
        return KafkaConnector(FakeClients("contract")).source(request).source

    def expected(self) -> Sequence[Any]:
        return [row(n, None) for n in range(80)]


class FileSinks(SinkContract):
    format: str
    parts: tuple[str, ...] = ()

    def options(self, folder: Path) -> dict[str, str]:
        return {"path": str(folder), "format": self.format}

    def make_sink(self, folder: Path) -> Sink:
        return sink(
            "filesystem", OF, self.options(folder), batch=True, partition_keys=self.parts
        ).sink

    def values(self, count: int) -> list[Any]:
        return [row(n, f"x{n % 3}") for n in range(count)]

    def published(self, folder: Path) -> list[Any]:
        return rows(source("filesystem", OF, self.options(folder), partition_keys=self.parts))


class TestPartitionedSink(FileSinks):
    format = "csv"
    parts = ("b",)


class SinksOfColumns(FileSinks):
    def columns(self, count: int) -> ColumnChunk:
        values = self.values(count)
        names = {"a": [each.a for each in values], "b": [each.b for each in values]}
        schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
        return ColumnChunk(pa.RecordBatch.from_pydict(names, schema), NAMED_ROWS)


class TestJsonSink(SinksOfColumns):
    format = "json"


class TestCsvSink(SinksOfColumns):
    format = "csv"


class TestParquetSink(SinksOfColumns):
    format = "parquet"
