"""``DataTypes`` in the schemas of files, as PyFlink takes them."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from headrace.common import Row, Types, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink, FileSource
from headrace.datastream.formats.csv import CsvSchema
from headrace.datastream.formats.orc import OrcBulkWriters
from headrace.datastream.formats.parquet import ParquetBulkWriters, ParquetColumnarRowInputFormat
from headrace.errors import PlanError
from headrace.table import DataTypes
from headrace.testing import run_pipeline

ROW = DataTypes.ROW(
    [
        DataTypes.FIELD("a", DataTypes.INT()),
        DataTypes.FIELD("d", DataTypes.DECIMAL(10, 2)),
        DataTypes.FIELD("t", DataTypes.TIMESTAMP(3)),
        DataTypes.FIELD("r", DataTypes.ROW([DataTypes.FIELD("x", DataTypes.STRING())])),
    ]
)
RECORD = Row(a=1, d=Decimal("1.25"), t=datetime.datetime(2020, 1, 2, 3), r=Row(x="q"))


def test_rows_of_parquet_files(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    writers = ParquetBulkWriters.for_row_type(ROW)
    written = env.from_collection([RECORD])
    written.sink_to(FileSink.for_bulk_format(str(tmp_path), writers).build())
    run_pipeline({"records": written})
    (path,) = tmp_path.rglob("part-*")
    assert pq.read_schema(path).field("d").type.precision == 10
    read = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(ROW), str(tmp_path))
    stream = env.from_source(read.build(), WatermarkStrategy.no_watermarks(), "files")
    assert run_pipeline(stream)["stream"] == [RECORD]


def test_rows_of_orc_files() -> None:
    assert OrcBulkWriters.for_row_type(ROW).row_type.names == ["a", "d", "t", "r"]
    with pytest.raises(PlanError, match="time of day"):
        OrcBulkWriters.for_row_type(DataTypes.ROW([DataTypes.FIELD("t", DataTypes.TIME())]))


def test_columns_of_csv_files() -> None:
    schema = CsvSchema.builder().add_number_column("a", number_type=DataTypes.SMALLINT())
    schema.add_array_column("b", element_type=DataTypes.INT())
    assert schema.build().types == (Types.SHORT(), Types.OBJECT_ARRAY(Types.INT()))
    with pytest.raises(PlanError, match="column 'c' has the type 'INT'"):
        schema.add_number_column("c", "INT")
