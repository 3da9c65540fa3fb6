"""Collection, number sequence, data generator."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from headrace.connector import Budget, ColumnChunk, Source, SplitRange
from headrace.datastream.connectors._collection import CollectionSource
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.connectors.number_seq import NumberSequenceSource
from headrace.errors import PlanError, TypeMismatchError
from headrace.testing._contracts import START_MS, SourceContract, read_source


def rolled(index: int, dice: random.Random) -> tuple[int, int]:
    return index, dice.randint(1, 6)


class TestCollectionSource(SourceContract):
    VALUES = tuple(f"v{index}" for index in range(150))

    def make_source(self, folder: Path) -> Source:
        return CollectionSource(self.VALUES)

    def expected(self) -> Sequence[Any]:
        return self.VALUES

    def test_order_is_kept(self, source: Source, directory: Path) -> None:
        assert read_source(source, directory, lambda: Budget(7, 1)).all() == list(self.VALUES)


class TestNumberSequenceSource(SourceContract):
    def make_source(self, folder: Path) -> Source:
        return NumberSequenceSource(-20, 30)

    def expected(self) -> Sequence[Any]:
        return range(-20, 31)


class TestDataGeneratorSource(SourceContract):
    def make_source(self, folder: Path) -> Source:
        return DataGeneratorSource(rolled, 60, seed=7)

    def expected(self) -> Sequence[Any]:
        return [rolled(index, random.Random((7 << 64) + index)) for index in range(60)]


def squares(indexes: Any) -> Any:
    return {"n": indexes, "square": indexes * indexes}


class TestDataGeneratorOfColumns(SourceContract):
    def make_source(self, folder: Path) -> Source:
        return DataGeneratorSource.of_columns(squares, 60)

    def expected(self) -> Sequence[Any]:
        return [{"n": index, "square": index * index} for index in range(60)]

    def test_it_has_columns(self, source: Source, directory: Path) -> None:
        (found,) = read_source(source, directory).ranges
        (chunk,) = source.reader().read_columns(found) or ()
        assert isinstance(chunk, ColumnChunk)
        assert chunk.batch.column("square").to_pylist() == [n * n for n in range(60)]


def test_a_generator_of_columns_must_make_as_many_rows_as_it_is_asked_for(tmp_path: Path) -> None:
    source = DataGeneratorSource.of_columns(lambda indexes: {"n": indexes[1:]}, 10)
    with pytest.raises(TypeMismatchError, match="9 rows for 10 indexes"):
        read_source(source, tmp_path)


class TestDataGeneratorSourceWithRate(SourceContract):
    def make_source(self, folder: Path) -> Source:
        return DataGeneratorSource(hex, 60, rate_per_second=12.5)

    def expected(self) -> Sequence[Any]:
        return [hex(index) for index in range(60)]


def test_empty_collection_ends_at_once(tmp_path: Path) -> None:
    reading = read_source(CollectionSource(()), tmp_path)
    assert (reading.all(), reading.steps) == ([], 1)


def test_long_sequences_are_cut_for_several_tasks(tmp_path: Path) -> None:
    reading = read_source(NumberSequenceSource(1, 100_000), tmp_path)
    assert reading.all() == list(range(1, 100_001))
    assert len(reading.ranges) > 3


USERS = [{"name": "ann"}, {"name": "bob"}]
THE_ONE: dict[str, Any] = {}


def the_one(index: int) -> dict[str, Any]:
    THE_ONE["n"] = index
    return THE_ONE


def late_to_change(index: int) -> Any:
    return (index, "x") if index < 20_000 else the_one(index)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (the_one, lambda index: {"n": index}),
        (lambda index: USERS[index % 2], lambda index: USERS[index % 2]),
        (lambda index: {"user": USERS[index % 2]}, lambda index: {"user": USERS[index % 2]}),
        (lambda index: (index, USERS[0]), lambda index: (index, USERS[0])),
        (late_to_change, lambda i: (i, "x") if i < 20_000 else {"n": i}),
    ],
)
def test_what_a_generator_holds_itself_is_copied(make: Any, expected: Any) -> None:
    reader = DataGeneratorSource(make).reader()
    ranges = [SplitRange("generator", at, at + 500, None, 500) for at in range(19_000, 21_000, 500)]
    found = [value for part in ranges for chunk in reader.read(part) for value in chunk.values]
    assert found == [expected(index) for index in range(19_000, 21_000)]
    mutable = [held for value in found for held in (value, *inside(value)) if type(held) is dict]
    assert len({id(held) for held in mutable}) == len(mutable)
    assert not {id(held) for held in mutable} & {id(held) for held in (THE_ONE, *USERS)}


def inside(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value


def test_rate_follows_the_time_given_and_outlives_a_restart() -> None:
    source = DataGeneratorSource(str, rate_per_second=10)
    positions = source.enumerator("").initial(START_MS)
    seen = []
    for now_ms in (START_MS, START_MS + 99, START_MS + 100, START_MS + 2500, START_MS + 2500):
        enumerator = source.enumerator("")
        positions = enumerator.advance(positions, Budget(1000, 1000), now_ms, frozenset()).positions
        seen.append(positions["generator"][0])
    assert seen == [0, 0, 1, 25, 25]


def test_rate_is_bound_by_the_budget() -> None:
    enumerator = DataGeneratorSource(str, rate_per_second=1000).enumerator("")
    start = enumerator.initial(START_MS)
    progress = enumerator.advance(start, Budget(30, 1), START_MS + 60_000, frozenset())
    assert progress.positions["generator"][0] == 30


def test_generator_without_count_never_ends() -> None:
    source = DataGeneratorSource(str)
    assert not source.bounded
    enumerator = source.enumerator("")
    progress = enumerator.advance({"generator": 10**12}, Budget(5, 5), START_MS, frozenset())
    assert progress.positions == {"generator": 10**12 + 5}
    assert not progress.ended


@pytest.mark.parametrize(
    "make",
    [
        lambda: NumberSequenceSource(2, 1),
        lambda: DataGeneratorSource(str, -1),
        lambda: DataGeneratorSource(str, 1, 0),
        lambda: DataGeneratorSource({"a": 1}),  # type: ignore[arg-type]
    ],
)
def test_impossible_sources_fail_when_built(make: Any) -> None:
    with pytest.raises(PlanError):
        make()


def test_a_sequence_may_grow_in_a_checkpoint_and_not_begin_elsewhere() -> None:
    """A position counts from the start."""
    first = NumberSequenceSource(5, 9).fingerprint
    assert first == NumberSequenceSource(5, 100).fingerprint
    assert first != NumberSequenceSource(6, 9).fingerprint
