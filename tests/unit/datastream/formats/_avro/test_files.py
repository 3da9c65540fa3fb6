"""Avro container files: any cuts give the same records, and damage is reported."""

from __future__ import annotations

import io
import itertools
import pickle
import uuid
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet as pq
import pytest

from headrace.common import Configuration, Row, Types
from headrace.connector import BadRecord
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink, FileSource
from headrace.datastream.formats.avro import (
    AvroBulkWriters,
    AvroFormat,
    AvroInputFormat,
    AvroSchema,
    GenericRecordAvroTypeInfo,
)
from headrace.datastream.formats.parquet import AvroParquetReaders, AvroParquetWriters
from headrace.errors import DecodeError, PlanError, TypeMismatchError
from headrace.testing._contracts import SinkContract

SCHEMA = AvroSchema(
    {
        "type": "record",
        "name": "Click",
        "fields": [{"name": "id", "type": "long"}, {"name": "user", "type": ["null", "string"]}],
    }
)
NEWER = AvroSchema(
    {
        "type": "record",
        "name": "Click",
        "fields": [
            {"name": "user", "type": ["null", "string"]},
            {"name": "page", "type": "string", "default": "/"},
        ],
    }
)
RECORDS = [{"id": index, "user": f"u{index}" if index % 3 else None} for index in range(300)]


def write_file(path: Path, codec: str = "null", block_bytes: int = 200) -> str:
    with open(path, "wb") as file:
        fastavro.writer(file, fastavro.parse_schema(_node()), RECORDS, codec, block_bytes)
    return str(path)


def _node() -> Any:
    import json

    return json.loads(SCHEMA.text)


def records(form: AvroFormat, path: str, start: int = 0, end: int | None = None) -> list[Any]:
    extent = form.measure(path).extent
    found = []
    for chunk in form.read(path, start, extent if end is None else end, extent):
        bad = iter(chunk.bad)
        following = next(bad, None)
        for index in range(len(chunk.values) + 1):
            while following is not None and following[0] == index:
                found.append(following[1])
                following = next(bad, None)
            if index < len(chunk.values):
                found.append(chunk.values[index])
    return found


@pytest.mark.parametrize("codec", ["null", "deflate", "bzip2"])
def test_any_cuts_give_the_records_of_the_whole(tmp_path: Path, codec: str) -> None:
    path, form = write_file(tmp_path / "a.avro", codec), AvroFormat()
    assert form.measure(path).extent == 300
    assert records(form, path) == RECORDS
    for cut in (0, 1, 17, 150, 299, 300):
        assert records(form, path, 0, cut) + records(form, path, cut) == RECORDS
    cuts = [0, *form.cuts(path, 0, 300, 500), 300]
    assert len(cuts) > 3
    parts = [records(form, path, low, high) for low, high in itertools.pairwise(cuts)]
    assert [record for part in parts for record in part] == RECORDS
    assert not list(form.cuts(path, 0, 300, 1 << 30))


@dataclass
class Visit:
    user: str | None
    page: str = "/"


def test_files_are_read_by_the_readers_schema(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.avro")
    assert records(AvroFormat(NEWER), path, 0, 2) == [
        {"user": None, "page": "/"},
        {"user": "u1", "page": "/"},
    ]
    assert records(pickle.loads(pickle.dumps(AvroFormat(Visit))), path, 1, 2) == [Visit("u1")]
    assert records(AvroFormat(NEWER, Row), path, 1, 2) == [Row(user="u1", page="/")]
    other = AvroSchema({"type": "record", "name": "X", "fields": [{"name": "x", "type": "int"}]})
    (bad,) = records(AvroFormat(other), path)
    assert "schema does not match the reader's: the field 'x' was not written" in bad.reason


def test_a_damaged_file_gives_what_is_whole(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.avro")
    whole = Path(path).read_bytes()
    (tmp_path / "cut.avro").write_bytes(whole[:-40])
    found = records(AvroFormat(), str(tmp_path / "cut.avro"))
    bad = found.pop()
    assert isinstance(bad, BadRecord)
    assert "the last block is truncated" in bad.reason
    assert found == RECORDS[: bad.position]

    packed = bytearray(Path(write_file(tmp_path / "b.avro", "deflate", 500)).read_bytes())
    packed[len(packed) // 2] ^= 0xFF
    (tmp_path / "flipped.avro").write_bytes(packed)
    found = records(AvroFormat(), str(tmp_path / "flipped.avro"))
    assert sum(isinstance(record, BadRecord) for record in found) == 1
    assert sum(isinstance(record, dict) for record in found) > 100

    (tmp_path / "no.avro").write_bytes(b"no")
    with pytest.raises(DecodeError, match="is no Avro file"):
        AvroFormat().measure(str(tmp_path / "no.avro"))


def test_an_empty_file_has_no_records(tmp_path: Path) -> None:
    with open(tmp_path / "a.avro", "wb") as file:
        writer = AvroBulkWriters.for_generic_record(SCHEMA).create(file)
        writer.finish()
    assert records(AvroFormat(), str(tmp_path / "a.avro")) == []


def environment(mode: str = "BATCH") -> StreamExecutionEnvironment:
    settings = Configuration()
    settings.set_string("execution.target", "local")
    settings.set_string("execution.runtime-mode", mode)
    return StreamExecutionEnvironment.get_execution_environment(settings)


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_a_program_writes_and_another_reads(tmp_path: Path, codec: str) -> None:
    env = environment()
    clicks = env.from_collection(RECORDS[:20], type_info=Types.PICKLED_BYTE_ARRAY())
    factory = AvroBulkWriters.for_generic_record(SCHEMA, codec=codec)
    sink = FileSink.for_bulk_format(str(tmp_path), factory).build()
    clicks.map(lambda e: e, output_type=GenericRecordAvroTypeInfo(SCHEMA)).sink_to(sink)
    env.execute()

    env = environment("STREAMING")
    read = env.create_input(AvroInputFormat(str(tmp_path), NEWER))
    assert AvroInputFormat(str(tmp_path), NEWER).get_produced_type() == GenericRecordAvroTypeInfo(
        NEWER
    )
    with read.map(lambda e: (e["user"], e["page"])).execute_and_collect() as found:
        assert sorted(found, key=str) == sorted([(e["user"], "/") for e in RECORDS[:20]], key=str)


class TestAvroFiles(SinkContract):
    def make_sink(self, folder: Path) -> Any:
        factory = AvroBulkWriters.for_generic_record(SCHEMA)
        return FileSink.for_bulk_format(str(folder), factory).build()

    def values(self, count: int) -> list[Any]:
        return [{"id": index, "user": None} for index in range(count)]

    def published(self, folder: Path) -> list[Any]:
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        shown = [path for path in files if ".headrace-staging" not in path.parts]
        return [value for path in shown for value in fastavro.reader(io.BytesIO(path.read_bytes()))]


def test_writers_refuse_what_does_not_fit(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="no codec 'zip'"):
        AvroBulkWriters.for_generic_record(SCHEMA, codec="zip")
    writer = AvroBulkWriters.for_generic_record(SCHEMA).create(io.BytesIO())
    with pytest.raises(TypeMismatchError, match="no field 'id'"):
        writer.write([{"user": "x"}])


# Records of an Avro schema in Parquet

WIDE = AvroSchema(
    {
        "type": "record",
        "name": "Wide",
        "fields": [
            {"name": "id", "type": "int"},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "many", "type": {"type": "array", "items": "string"}},
            {"name": "by", "type": {"type": "map", "values": ["null", "long"]}},
            {
                "name": "in",
                "type": [
                    "null",
                    {
                        "type": "record",
                        "name": "In",
                        "fields": [{"name": "m", "type": {"type": "map", "values": "int"}}],
                    },
                ],
            },
            {"name": "side", "type": {"type": "enum", "name": "S", "symbols": ["A", "B"]}},
            {"name": "key", "type": {"type": "string", "logicalType": "uuid"}},
            {
                "name": "price",
                "type": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2},
            },
        ],
    }
)


def test_records_of_a_schema_lie_in_parquet(tmp_path: Path) -> None:
    import datetime

    moment = datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC)
    values = [
        {"id": 1, "at": moment, "many": ["a"], "by": {"k": 1, "n": None}, "in": {"m": {"x": 1}},
         "side": "A", "key": uuid.UUID(int=1), "price": Decimal("1.50")},
        {"id": 2, "at": moment, "many": [], "by": {}, "in": None, "side": "B",
         "key": uuid.UUID(int=2), "price": Decimal("-1.00")},
    ]  # fmt: skip
    path = tmp_path / "a.parquet"
    with open(path, "wb") as file:
        writer = AvroParquetWriters.for_generic_record(WIDE).create(file)
        writer.write(values)
        writer.finish()
    assert pq.read_metadata(path).metadata[b"parquet.avro.schema"].decode() == WIDE.text
    form = pickle.loads(pickle.dumps(AvroParquetReaders.for_generic_record(WIDE)))
    (chunk,) = form.read(str(path), 0, 2, 2)
    assert chunk.values == [{**value, "key": str(value["key"])} for value in values]
    source = FileSource.for_record_stream_format(form, str(path)).build()
    assert source.format == form

    newer = AvroSchema(
        {
            "type": "record",
            "name": "Wide",
            "fields": [
                {"name": "id", "type": "int"},
                {"name": "tag", "type": "bytes", "default": "\u0001"},
            ],
        }
    )
    (chunk,) = AvroParquetReaders.for_generic_record(newer).read(str(path), 0, 2, 2)
    assert chunk.values == [{"id": 1, "tag": b"\1"}, {"id": 2, "tag": b"\1"}]
    missing = AvroSchema({"type": "record", "name": "W", "fields": [{"name": "x", "type": "int"}]})
    (chunk,) = AvroParquetReaders.for_generic_record(missing).read(str(path), 0, 2, 2)
    assert [bad.position for _, bad in chunk.bad] == [0, 1]
    with pytest.raises(PlanError, match="union of several types"):
        AvroParquetWriters.for_generic_record(
            AvroSchema(
                {
                    "type": "record",
                    "name": "U",
                    "fields": [{"name": "u", "type": ["int", "string"]}],
                }
            )
        )
