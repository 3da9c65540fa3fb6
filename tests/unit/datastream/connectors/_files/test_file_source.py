"""Files as a static set, in every format that the source reads."""

from __future__ import annotations

import csv
import gzip
import json
import os
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.connector import Budget, Source, SplitRange
from headrace.datastream.connectors.file_system import (
    FileEnumeratorProvider,
    FileSource,
    FileSourceBuilder,
    FileSplitAssignerProvider,
    StreamFormat,
)
from headrace.datastream.formats.csv import CsvReaderFormat, CsvSchema
from headrace.datastream.formats.parquet import ParquetColumnarRowInputFormat, ParquetFormat
from headrace.datastream.output_tag import OutputTag
from headrace.errors import DecodeError, JobError, PlanError, UnsupportedError
from headrace.testing._contracts import START_MS, SourceContract, read_source

TAG = OutputTag("bad")
LINES = [f"line {index} " + "äö" * (index % 7) for index in range(120)]


def text_source(*paths: Path | str) -> FileSourceBuilder:
    return FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), *(str(path) for path in paths)
    )


class GrowingFiles(SourceContract):
    """Between two readings of the same micro-batches every file becomes longer, and more appear."""

    def grow(self, folder: Path) -> None:
        for path in [*folder.rglob("*")]:
            if path.is_file():
                path.write_bytes(path.read_bytes() * 3)
                path.with_name(f"{path.name}.new").write_bytes(path.read_bytes())


class TestTextFiles(GrowingFiles):
    """Several files, one empty, one without a last line end, one with CR LF, tiny ranges."""

    def make_source(self, folder: Path) -> Source:
        (folder / "a.txt").write_text("\n".join(LINES[:60]))
        (folder / "b.txt").write_bytes("".join(f"{line}\r\n" for line in LINES[60:]).encode())
        (folder / "empty.txt").write_text("")
        (folder / "below").mkdir()
        (folder / "below" / "c.txt").write_text("x\n\n\ny\n")
        (folder / ".hidden").write_text("no\n")
        (folder / "_SUCCESS").write_text("no\n")
        return text_source(folder).set_max_range_bytes(37).build()

    def expected(self) -> Sequence[Any]:
        return [*LINES, "x", "", "", "y"]


class TestJsonLines(GrowingFiles):
    """Undecodable lines go to the tag, wherever files are cut."""

    def make_source(self, folder: Path) -> Source:
        lines = [json.dumps({"n": index}) for index in range(80)]
        lines[10:10] = ["{broken", "", "[1]", '"text"', '{"n": NaN}', "[" * 9_000]
        (folder / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + "\n".join(lines).encode())
        (folder / "b.jsonl").write_bytes(b'{"n": 1.10}\n\xff\xfe\n')
        return (
            FileSource.for_record_stream_format(
                StreamFormat.json_lines_format(decimal=True), str(folder)
            )
            .set_max_range_bytes(64)
            .on_error(TAG)
            .build()
        )

    def expected(self) -> Sequence[Any]:
        return [*({"n": index} for index in range(80)), {"n": Decimal("1.10")}]

    def test_bad_lines_are_given_with_place_and_reason(
        self, source: Source, directory: Path
    ) -> None:
        bad = read_source(source, directory).bad
        assert [record.raw[:7] for record in bad] == [
            b"{broken",
            b"[1]",
            b'"text"',
            b'{"n": N',
            b"[" * 7,
            b"\xff\xfe",
        ]
        for record in bad:
            content = Path(record.split).read_bytes()
            assert content[record.position :].startswith(record.raw)
            assert record.reason


class TestCsvWithHeader(SourceContract):
    """The header is read from the file's beginning by every range."""

    def make_source(self, folder: Path) -> Source:
        with open(folder / "a.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["other", "price", "name"])
            for index in range(90):
                writer.writerow(["x", Decimal(index) / 4, f'na"me, {index}'])
        schema = (
            CsvSchema.builder()
            .add_string_column("name")
            .add_number_column("price", Types.BIG_DEC())
            .set_use_header()
            .build()
        )
        return (
            FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), str(folder))
            .set_max_range_bytes(50)
            .build()
        )

    def expected(self) -> Sequence[Any]:
        return [Row(name=f'na"me, {index}', price=Decimal(index) / 4) for index in range(90)]


class TestMultilineCsv(SourceContract):
    """Quoted line ends: files are read whole."""

    def make_source(self, folder: Path) -> Source:
        text = "".join(f'{index},"a\nb\r\n""{index}"\n\n' for index in range(40))
        (folder / "a.csv").write_bytes(text.encode())
        schema = CsvSchema.builder().add_number_column("n").add_string_column("s").build()
        return FileSource.for_record_stream_format(
            CsvReaderFormat.for_schema(schema, multiline=True), str(folder)
        ).build()

    def expected(self) -> Sequence[Any]:
        return [Row(n=index, s=f'a\nb\r\n"{index}') for index in range(40)]


class TestGzip(SourceContract):
    """Packed files, next to plain ones."""

    def make_source(self, folder: Path) -> Source:
        (folder / "a.txt.gz").write_bytes(gzip.compress("\n".join(LINES[:70]).encode()))
        (folder / "b.txt").write_text("\n".join(LINES[70:]))
        return text_source(folder / "*.txt*").build()

    def expected(self) -> Sequence[Any]:
        return LINES


class TestBytesWithPosition(GrowingFiles):
    def make_source(self, folder: Path) -> Source:
        (folder / "a.fix").write_bytes(b"one\x01\n\xff\r\n\nfour")
        self.path = str(folder / "a.fix")
        return FileSource.for_record_stream_format(
            StreamFormat.bytes_line_format(with_position=True), str(folder)
        ).build()

    def expected(self) -> Sequence[Any]:
        return [
            (b"one\x01", self.path, 0),
            (b"\xff", self.path, 5),
            (b"", self.path, 8),
            (b"four", self.path, 9),
        ]


class TestParquet(SourceContract):
    """Row groups of 7 rows, in two files."""

    def make_source(self, folder: Path) -> Source:
        for name, at in (("a", 0), ("b", 40)):
            rows = self.rows()[at : at + 40]
            pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet", row_group_size=7)
        return (
            FileSource.for_bulk_file_format(ParquetFormat(), str(folder))
            .set_max_range_bytes(300)
            .build()
        )

    def expected(self) -> Sequence[Any]:
        return self.rows()

    @staticmethod
    def rows() -> list[dict[str, Any]]:
        return [
            {
                "n": index,
                "price": Decimal(index).scaleb(-2),
                "at": datetime(2024, 1, 2, 3, 4, 5, index, tzinfo=ZoneInfo("UTC")),
                "tags": [str(index)] * (index % 3),
            }
            for index in range(80)
        ]

    def test_ranges_are_cut_between_row_groups(self, source: Source, directory: Path) -> None:
        ranges = read_source(source, directory).ranges
        assert len(ranges) > 4
        assert all(r.payload[1] % 7 == 0 for r in ranges)


def test_parquet_rows_by_declared_type(tmp_path: Path) -> None:
    pq.write_table(pa.table({"b": ["x", None], "N": [1, 2], "c": [0, 0]}), tmp_path / "a.parquet")
    row_type = Types.ROW_NAMED(["n", "b"], [Types.BIG_DEC(), Types.STRING()])
    folding = ParquetColumnarRowInputFormat(row_type, is_case_sensitive=False)
    source = FileSource.for_bulk_file_format(folding, str(tmp_path)).build()
    assert read_source(source, tmp_path).all() == [
        Row(n=Decimal(1), b="x"),
        Row(n=Decimal(2), b=None),
    ]
    exact = FileSource.for_bulk_file_format(
        ParquetColumnarRowInputFormat(row_type), str(tmp_path)
    ).build()
    with pytest.raises(DecodeError, match="'n'"):
        read_source(exact, tmp_path)


def test_static_set_shares_the_budget_evenly(tmp_path: Path) -> None:
    for name, count in (("a", 1000), ("b", 1000), ("short", 10)):
        (tmp_path / name).write_text("0123456789\n" * count)
    enumerator = text_source(tmp_path).build().enumerator("")
    start = enumerator.initial(START_MS)
    progress = enumerator.advance(start, Budget(400, 1 << 30), START_MS, frozenset())
    left = [position for position, _ in progress.positions.values()]
    assert len(progress.finished) == 1
    # What the short file did not need goes to the others: (400 - 10) / 2 records of 11 bytes.
    assert left == [195 * 11, 195 * 11]


def test_a_range_says_about_how_many_records_it_has(tmp_path: Path) -> None:
    """Tasks get equal shares by it."""
    (tmp_path / "a").write_text("0123456789\n" * 1000)
    enumerator = text_source(tmp_path).build().enumerator("")
    start = enumerator.initial(START_MS)
    end = enumerator.advance(start, Budget(400, 1 << 30), START_MS, frozenset()).positions
    assert [found.records for found in enumerator.ranges(start, end, frozenset())] == [400]


def test_a_list_of_files_and_a_watched_folder_are_sources_of_two_kinds(tmp_path: Path) -> None:
    builder = text_source(tmp_path)
    assert builder.build().kind == "files"
    assert builder.monitor_continuously(timedelta(seconds=1)).build().kind == "watched-folder"


def test_positions_are_line_starts_and_long_lines_progress(tmp_path: Path) -> None:
    lines = [b"x" * 5000 + b"\n", b"y\n", b"z" * 300 + b"\n"]
    (tmp_path / "a").write_bytes(b"".join(lines))
    enumerator = text_source(tmp_path / "a").build().enumerator("")
    positions = enumerator.initial(START_MS)
    seen = []
    while positions:
        progress = enumerator.advance(positions, Budget(1, 1), START_MS, frozenset())
        positions = progress.positions
        seen += [position for position, _ in positions.values()]
    assert seen == [5001, 5003]


def test_what_is_appended_later_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\ntw")
    enumerator = text_source(tmp_path / "a").build().enumerator("")
    start = enumerator.initial(START_MS)
    with open(tmp_path / "a", "a") as file:
        file.write("o\nthree\n")
    progress = enumerator.advance(start, Budget(100, 1000), START_MS, frozenset())
    reader = text_source(tmp_path / "a").build().reader()
    ranges = enumerator.ranges(start, dict(progress.finished), frozenset(progress.finished))
    assert [c.values for r in ranges for c in reader.read(r)] == [["one", "tw"]]


def test_without_a_tag_the_first_bad_record_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"a":1}\n{"a":\n')
    source = FileSource.for_record_stream_format(
        StreamFormat.json_lines_format(), str(tmp_path)
    ).build()
    assert not source.reports_bad_records
    with pytest.raises(DecodeError) as raised:
        read_source(source, tmp_path)
    where = raised.value.where
    assert where["file"].endswith("a.jsonl")
    assert (where["position"], where["record"]) == ("8", "b'{\"a\":'")
    assert "on_error" in (raised.value.hint or "")


@pytest.mark.parametrize("name", ["broken.jsonl.gz", "cut.jsonl.gz", "not.parquet", "cut.parquet"])
def test_corrupt_files_are_one_bad_record_each(tmp_path: Path, name: str) -> None:
    table = pa.table({"a": list(range(50_000)), "b": [str(n * n) for n in range(50_000)]})
    pq.write_table(table, tmp_path / "whole.parquet", row_group_size=1000)
    damaged = bytearray((tmp_path / "whole.parquet").read_bytes())
    os.remove(tmp_path / "whole.parquet")
    damaged[len(damaged) // 2 : len(damaged) // 2 + 2000] = bytes(2000)
    packed = gzip.compress(b'{"a":1}\n' * 5000)
    content = {
        "broken.jsonl.gz": b"this is no gzip",
        "cut.jsonl.gz": packed[:-12],
        "not.parquet": b"nor is this Parquet",
        "cut.parquet": bytes(damaged),
    }[name]
    (tmp_path / name).write_bytes(content)
    builder = (
        FileSource.for_bulk_file_format(ParquetFormat(), str(tmp_path))
        if name.endswith("parquet")
        else FileSource.for_record_stream_format(StreamFormat.json_lines_format(), str(tmp_path))
    )
    reading = read_source(builder.on_error(TAG).build(), tmp_path)
    assert len(reading.bad) >= 1
    assert reading.bad[0].split.endswith(name)
    assert "corrupt" in reading.bad[0].reason
    with pytest.raises(DecodeError, match=name):
        read_source(builder.on_error(None).build(), tmp_path)


def test_a_file_that_vanished_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\n")
    source = text_source(tmp_path / "a").build()
    enumerator = source.enumerator("")
    start = enumerator.initial(START_MS)
    progress = enumerator.advance(start, Budget(10, 100), START_MS, frozenset())
    (planned,) = enumerator.ranges(start, dict(progress.finished), frozenset(progress.finished))
    os.remove(tmp_path / "a")
    with pytest.raises(JobError, match=r"/a' was listed"):
        list(source.reader().read(planned))
    with pytest.raises(JobError, match=r"/a' was listed"):
        source.enumerator("").advance(start, Budget(10, 100), START_MS, frozenset())


def test_a_file_that_became_shorter_is_no_shorter_input(tmp_path: Path) -> None:
    lines, table = tmp_path / "lines", tmp_path / "table"
    lines.write_text("one\ntwo\n")
    pq.write_table(pa.table({"a": [1, 2, 3]}), table)
    of_lines = text_source(lines).build()
    of_rows = FileSource.for_bulk_file_format(ParquetFormat(), str(table)).build()
    planned: list[SplitRange] = []
    for source in (of_lines, of_rows):
        enumerator = source.enumerator("")
        start = enumerator.initial(START_MS)
        progress = enumerator.advance(start, Budget(10, 1 << 20), START_MS, frozenset())
        ends: dict[str, Any] = {**progress.finished}
        planned += enumerator.ranges(start, ends, frozenset(ends))
    lines.write_text("one\n")
    pq.write_table(pa.table({"a": [1, 2]}), table)

    with pytest.raises(JobError, match="had at least 8 bytes when it was listed"):
        list(of_lines.reader().read(planned[0]))
    with pytest.raises(DecodeError, match="2 rows, and had at least 3"):
        list(of_rows.reader().read(planned[1]))


def test_paths(tmp_path: Path) -> None:
    for name in ("x1.txt", "x2.txt", "y.txt"):
        (tmp_path / name).write_text(name)
    uri = (tmp_path / "y.txt").as_uri()
    source = text_source(tmp_path / "x*.txt", uri, tmp_path / "x1.txt").build()
    assert read_source(source, tmp_path).all() == ["x1.txt", "x2.txt", "y.txt"]
    with pytest.raises(JobError, match="missing"):
        read_source(text_source(tmp_path / "missing").build(), tmp_path)
    assert read_source(text_source(tmp_path / "z*").build(), tmp_path).all() == []
    with pytest.raises(UnsupportedError, match=r"s3(?s:.*)from_dataframe"):
        text_source("s3://bucket/key")


def test_builder_takes_what_pyflink_has(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("line\n" * 1000)
    source = (
        text_source(tmp_path)
        .process_static_file_set()
        .set_max_range_bytes(10)
        .set_file_enumerator(FileEnumeratorProvider.default_non_splittable_file_enumerator())
        .set_split_assigner(FileSplitAssignerProvider.locality_aware_split_assigner())
        .build()
    )
    assert source.bounded
    assert len(read_source(source, tmp_path).ranges) == 1
    with pytest.raises(PlanError):
        text_source()
    with pytest.raises(PlanError):
        FileSource.for_record_stream_format("text", "a")  # type: ignore[arg-type]
