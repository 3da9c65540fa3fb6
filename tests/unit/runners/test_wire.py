"""Envelopes as packets: nothing lost, in order, and a bucket for every partition."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.runners.spark.query.wire import (
    Row,
    bucket_keys,
    one_by_one,
    packed,
    payload_of,
    to_arrow,
    unpacked,
)
from headrace.runtime.block import ALL_GROUPS, Block, Envelope, Kind

GROUPS = 16


def envelope(group: int, seq: int, payload: Any = None) -> Envelope:
    return Envelope(1, group, 0, Kind.METRICS, 3, seq, {"n": seq} if payload is None else payload)


def sent(rows: list[Row]) -> list[Envelope]:
    return [each for row in rows for each in unpacked(row[4])]


@given(st.lists(st.integers(0, GROUPS - 1)), st.integers(1, 5))
def test_a_packet_per_bucket_holds_what_is_for_it_in_order(
    groups: list[int], partitions: int
) -> None:
    envelopes = [envelope(group, seq) for seq, group in enumerate(groups)]
    rows = list(packed(envelopes, partitions))
    assert len(rows) == len({group % partitions for group in groups})
    for bucket, *_, payload in rows:
        found = unpacked(payload)
        (partition,) = {each.group % partitions for each in found}
        assert bucket == bucket_keys(partitions)[partition]
        assert [each.seq for each in found] == [
            each.seq for each in envelopes if each.group % partitions == partition
        ]
        assert all(payload_of(each.kind, each.payload) == {"n": each.seq} for each in found)


def test_what_is_large_is_sent_as_soon_as_it_is_there() -> None:
    made: list[int] = []

    def envelopes() -> Any:
        for seq in range(6):
            made.append(seq)
            yield envelope(0, seq, bytes(3 << 20))

    rows = packed(envelopes(), 2)
    next(rows)
    assert made == [0, 1]
    assert len(list(rows)) == 2


def test_rows_for_sorting_hold_one_envelope_each() -> None:
    envelopes = [envelope(5, 2), envelope(3, 1)]
    rows = list(one_by_one(envelopes, 2))
    assert [row[1:4] for row in rows] == [(5, 3, 2), (3, 3, 1)]
    assert [each.group for each in sent(rows)] == [5, 3]


def test_envelopes_that_pass_through_are_not_decoded() -> None:
    (row,) = packed([envelope(0, 1, b"not a pickle")], 1)
    assert unpacked(row[4])[0].payload == b"not a pickle"


def test_a_block_travels() -> None:
    block = Block([1], ["a"], None, False, [], None, 5)
    (row,) = packed([Envelope(1, 0, 0, Kind.DATA, 3, 0, block)], 1)
    (found,) = unpacked(row[4])
    assert payload_of(found.kind, found.payload) == block


def test_arrow_batches_are_bounded_in_rows_and_bytes() -> None:
    many = list(to_arrow((0, 0, 0, seq, b"") for seq in range(600)))
    assert [batch.num_rows for batch in many] == [256, 256, 88]
    large = list(to_arrow((0, 0, 0, seq, bytes(3 << 20)) for seq in range(3)))
    assert [batch.num_rows for batch in large] == [2, 1]
    assert all(isinstance(batch, pa.RecordBatch) for batch in (*many, *large))


@pytest.mark.parametrize("partitions", [1, 2, 3, 7, 64, 200])
def test_every_partition_has_a_bucket(partitions: int) -> None:
    keys = bucket_keys(partitions)
    assert len(keys) == len(set(keys)) == partitions
    assert min(keys) >= 0


def test_what_is_for_all_tasks_goes_to_every_partition_of_its_stage() -> None:
    to_all = Envelope(2, ALL_GROUPS, "v", Kind.METRICS, 7, 0, {"n": 1})
    for make in (packed, one_by_one):
        there = list(make([to_all, envelope(0, 1)], 3, 2))
        assert [row[0] for row in there if to_all.group in {e.group for e in unpacked(row[4])}] == [
            *bucket_keys(3)
        ]
        # on its way to a later stage it is sent once
        on_the_way = list(make([to_all], 3, 1))
        assert [row[0] for row in on_the_way] == [bucket_keys(3)[7 % 3]]
    assert {row[1] for row in one_by_one([to_all], 3, 2)} == {ALL_GROUPS}
