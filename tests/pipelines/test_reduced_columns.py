"""``map_batches`` after ``sum`` and its like gets columns, as a stream and as a batch.

The type of the records is not declared, so columns are all that it can take.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headrace.common import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.connector import Source
from headrace.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.connectors.file_system import FileSource
from headrace.datastream.formats.csv import CsvReaderFormat, CsvSchema
from headrace.errors import PlanError
from headrace.operators import reduce
from headrace.testing import run_pipeline

ROWS = [("a", 1, 0.5), ("b", 2, float("nan")), ("a", 3, 1.5), ("b", 5, 4.0), ("c", 7, 2.0)]
CSV = CsvReaderFormat.for_schema(
    CsvSchema.builder()
    .add_string_column("name")
    .add_number_column("n", Types.INT())
    .add_number_column("x", Types.DOUBLE())
    .set_use_header()
    .build()
)


def of_csv(folder: Path) -> Source:
    lines = ["name,n,x", *(",".join(map(str, row)) for row in ROWS)]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    return FileSource.for_record_stream_format(CSV, str(folder)).build()


def of_columns(_: Path) -> Source:
    names, numbers, floats = zip(*ROWS, strict=True)
    columns = {"name": pa.array(names), "n": pa.array(numbers, pa.int16()), "x": pa.array(floats)}
    columns["kind"] = pa.array(["k"] * len(ROWS)).dictionary_encode()

    def made(indexes: Any) -> dict[str, Any]:
        return {name: column.take(pa.array(indexes)) for name, column in columns.items()}

    return DataGeneratorSource.of_columns(made, len(ROWS))


def stream_of(source: Source, batch: bool) -> DataStream:
    env = StreamExecutionEnvironment()
    if batch:
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "rows")


def described(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows, and of which types they came."""
    kinds = pa.array([str(batch.schema)] * batch.num_rows)
    return pa.RecordBatch.from_arrays([*batch.columns[:3], kinds], ["name", "n", "x", "kinds"])


REDUCTIONS = [
    ("name", "sum", "n"),
    ("name", "min", "x"),
    ("name", "max_by", "x"),
    ("n", "sum", "n"),
]


@pytest.mark.parametrize(
    ("source", "keyed"), [(of_csv, False), (of_csv, True), (of_columns, False), (of_columns, True)]
)
@pytest.mark.parametrize(("key", "call", "field"), REDUCTIONS)
def test_a_batch_gives_what_a_stream_gives_last(
    source: Any,
    keyed: bool,
    key: str,
    call: str,
    field: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where columns cannot be folded (x holds a NaN), or the sum is the key's own field."""
    monkeypatch.setattr(reduce, "_EMIT_BATCH_SIZE", 2)
    made, last = source(tmp_path), []
    for mode in ("streaming", "batch"):
        reduced = getattr(stream_of(made, mode == "batch").key_by(key), call)(field)
        batches = (
            reduced.key_by("name").map_batches(lambda key, batch: described(batch))
            if keyed
            else reduced.map_batches(described)
        )
        found: dict[Any, Any] = {}
        how: Any = {"cuts": [1, 3]} if mode == "streaming" else {}
        for row in run_pipeline(batches, mode, **how).only:
            found[row["name"], row["n"] if key == "n" else None] = row
        last.append({at: repr(row) for at, row in found.items()})
    assert last[0] == last[1] and len(last[0]) == (5 if key == "n" else 3)


@pytest.mark.parametrize("mode", ["streaming", "batch"])
def test_a_field_may_be_given_by_its_position(mode: Any, tmp_path: Path) -> None:
    made = of_csv(tmp_path)
    with (tmp_path / "rows.csv").open("a") as file:
        file.write('"c",1,1.0\n')  # in a batch, rows and columns come from one combiner
    sums = stream_of(made, mode == "batch").key_by("name").sum(1).map_batches(described)
    found = run_pipeline(sums, mode, key_groups=3, parallelism=2).only
    assert {row["name"]: row["n"] for row in found} == {"a": 4, "b": 7, "c": 8}


def test_sums_that_are_rows_whatever_the_mode_are_refused() -> None:
    """Keys that are called for, in the first keyed stage and in the second."""
    rows = stream_of(of_columns(Path()), False)
    with pytest.raises(PlanError, match="needs the type of the records"):
        rows.key_by(lambda row: row["name"]).sum("n").map_batches(described)
    sums = rows.key_by("name").sum("n")
    with pytest.raises(PlanError, match="needs the type of the records"):
        sums.key_by(lambda row: row["name"]).map_batches(lambda key, batch: batch)


def test_what_a_csv_holds_is_known(tmp_path: Path) -> None:
    """A block with a quoted field is read as rows, and so are all sums by such a key."""
    source = of_csv(tmp_path)
    (tmp_path / "more.csv").write_text('name,n,x\n"a",2,2.5\n')
    for mode in ("streaming", "batch"):
        rows = stream_of(source, mode == "batch")
        whole = run_pipeline(rows.map_batches(described), mode).only
        assert len(whole) == len(ROWS) + 1 and len({row["kinds"] for row in whole}) == 1
        rows = stream_of(source, mode == "batch")
        sums = rows.key_by(lambda row: row["name"]).sum("n").map_batches(described)
        found = run_pipeline(sums, mode).only
        assert max(row["n"] for row in found if row["name"] == "a") == 6
