from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.datastream.formats._parquet import batches
from headrace.datastream.formats._parquet.batches import MAX_OPEN_FILES, BatchReader
from headrace.datastream.formats.parquet import ParquetFormat

ROWS = 100


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("files") / "x.parquet")
    table = pa.table({"n": range(ROWS), "s": [f"s{n % 3}" for n in range(ROWS)]})
    pq.write_table(table, path, row_group_size=30)
    return path


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The files that are opened, in order."""
    files: list[Any] = []

    def open_file(path: str) -> Any:
        files.append(io.BytesIO(Path(path).read_bytes()))
        return files[-1]

    monkeypatch.setattr(batches, "open_file", open_file)
    return files


def names_of(schema: Any) -> list[str]:
    return list(schema.names)


def numbers(reader: BatchReader, path: str, start: int, end: int) -> list[int]:
    return [n for batch in reader.read(path, start, end) for n in batch.column("n").to_pylist()]


@given(
    cuts=st.lists(st.integers(0, ROWS), max_size=8),
    batch_size=st.sampled_from([1, 7, 30, 200]),
    order=st.randoms(use_true_random=False),
)
def test_ranges_in_any_order_give_each_row_once(
    file: str, cuts: list[int], batch_size: int, order: Any
) -> None:
    reader = BatchReader(names_of, batch_size)
    ranges = [*pairwise(sorted([0, *cuts, ROWS]))]
    order.shuffle(ranges)
    for start, end in ranges:
        assert numbers(reader, file, start, end) == [*range(start, end)]
    reader.close()


def test_ranges_that_follow_each_other_open_a_file_once(file: str, opened: list[Any]) -> None:
    reader = BatchReader(names_of, 1000)
    for start in range(0, ROWS, 10):
        assert numbers(reader, file, start, start + 10) == [*range(start, start + 10)]
    assert len(opened) == 1
    assert opened[0].closed


def test_a_range_that_is_read_again_opens_the_file_again(file: str, opened: list[Any]) -> None:
    reader = BatchReader(names_of, 1000)
    for start in (0, 10, 0, 10):
        assert numbers(reader, file, start, start + 10) == [*range(start, start + 10)]
    assert len(opened) == 2
    reader.close()
    assert all(each.closed for each in opened)


def test_files_beyond_a_number_are_closed(file: str, opened: list[Any]) -> None:
    reader = BatchReader(names_of, 1000)
    for number in range(MAX_OPEN_FILES + 3):
        numbers(reader, file, 0, number + 1)
    assert sum(not each.closed for each in opened) == MAX_OPEN_FILES
    reader.close()
    assert all(each.closed for each in opened)


def test_a_format_keeps_files_open_only_for_a_reader(file: str, opened: list[Any]) -> None:
    shared = ParquetFormat()
    for found in (shared.read(file, 0, 5, ROWS), shared.read_columns(file, 5, 9, ROWS)):
        assert found is not None and [*found]
    assert [each.closed for each in opened] == [True, True]
    own = shared.for_reader()
    assert [*own.read(file, 0, 5, ROWS)]
    assert not opened[-1].closed
    own.close()
    assert opened[-1].closed


def test_a_range_that_is_left_closes_its_file(file: str, opened: list[Any]) -> None:
    reader = BatchReader(names_of, 5)
    found = reader.read(file, 0, 50)
    next(iter(found))
    found.close()  # type: ignore[attr-defined]
    assert opened[0].closed


@pytest.mark.parametrize(
    ("texts", "has_dictionary"),
    [
        (["a", "b", None] * 40_000, True),
        ([f"text {n}" for n in range(120_000)], False),
    ],
)
def test_texts_keep_a_dictionary_that_spares_something(
    tmp_path: Path, texts: list[str | None], has_dictionary: bool
) -> None:
    path = str(tmp_path / "x.parquet")
    pq.write_table(pa.table({"n": range(len(texts)), "s": texts}), path)
    found = [*BatchReader(names_of, 1 << 16, dictionaries=True).read(path, 0, len(texts))]
    assert {pa.types.is_dictionary(each.column("s").type) for each in found} == {has_dictionary}
    assert [s for each in found for s in each.column("s").to_pylist()] == texts
