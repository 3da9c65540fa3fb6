"""Envelopes as packets: nothing lost, in order, and a bucket for every partition."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.runners.spark.query.packets import (
    MemoryContent,
    PacketWriter,
    envelopes_in,
    payload_bytes,
    payload_of,
)
from headrace.runners.spark.query.wire import (
    Row,
    bucket_keys,
    pack,
    pack_singly,
    rows_of,
    to_arrow,
)
from headrace.runtime.block import ALL_GROUPS, Block, Envelope, Kind

GROUPS = 16


def envelope(group: int, seq: int, payload: Any = None) -> Envelope:
    return Envelope(1, group, 0, Kind.METRICS, 3, seq, {"n": seq} if payload is None else payload)


def opened(row: Row) -> list[Envelope]:
    return [*envelopes_in(MemoryContent(row.payload), row.stage)]


def sent(rows: list[Row]) -> list[Envelope]:
    return [each for row in rows for each in opened(row)]


@given(st.lists(st.integers(0, GROUPS - 1)), st.integers(1, 5))
def test_a_packet_per_bucket_holds_what_is_for_it_in_order(
    groups: list[int], partitions: int
) -> None:
    envelopes = [envelope(group, seq) for seq, group in enumerate(groups)]
    rows = list(pack(envelopes, partitions))
    assert len(rows) == len({group % partitions for group in groups})
    for row in rows:
        bucket, found = row.bucket, opened(row)
        (partition,) = {each.group % partitions for each in found}
        assert bucket == bucket_keys(partitions)[partition]
        assert [each.seq for each in found] == [
            each.seq for each in envelopes if each.group % partitions == partition
        ]
        assert all(payload_of(each) == {"n": each.seq} for each in found)


def test_what_is_large_is_sent_as_soon_as_it_is_there() -> None:
    made: list[int] = []

    def envelopes() -> Any:
        for seq in range(6):
            made.append(seq)
            yield envelope(0, seq, bytes(3 << 20))

    rows = pack(envelopes(), 2)
    next(rows)
    assert made == [0, 1]
    assert len(list(rows)) == 2


def test_rows_for_sorting_hold_one_envelope_each() -> None:
    envelopes = [envelope(5, 2), envelope(3, 1)]
    rows = list(pack_singly(envelopes, 2))
    assert [row[1:4] for row in rows] == [(5, 3, 2), (3, 3, 1)]
    assert [each.group for each in sent(rows)] == [5, 3]


def test_a_packet_for_a_later_stage_is_passed_on_without_a_look_inside() -> None:
    passing = Row(bucket_keys(3)[1], 0, 0, 0, 2, b"no packet")
    for make in (pack, pack_singly):
        assert next(make([passing, envelope(0, 1)], 3, 1)) == passing


def test_stages_have_packets_of_their_own() -> None:
    envelopes = [envelope(0, seq)._replace(stage=1 + seq % 2) for seq in range(6)]
    rows = [*pack(envelopes, 1)]
    assert [(row.stage, [each.seq for each in opened(row)]) for row in rows] == [
        (1, [0, 2, 4]),
        (2, [1, 3, 5]),
    ]
    assert [each.stage for each in sent(rows)] == [1, 1, 1, 2, 2, 2]


def test_a_payload_that_came_over_the_wire_leaves_as_the_same_bytes() -> None:
    (row,) = pack([envelope(0, 1)], 1)
    (again,) = pack(opened(row), 1)
    (first,), (second,) = opened(row), opened(again)
    assert payload_bytes(first) == payload_bytes(second)
    assert payload_of(second) == {"n": 1}


def test_a_block_travels() -> None:
    block = Block([1], ["a"], None, False, [], None, 5)
    (row,) = pack([Envelope(1, 0, 0, Kind.DATA, 3, 0, block)], 1)
    (found,) = opened(row)
    assert payload_of(found) == block


def test_a_record_that_cannot_be_sent_leaves_nothing_of_itself() -> None:
    writer = PacketWriter()
    good = Envelope(1, 0, "v", Kind.DATA, 3, 0, Block([1], ["a"], None, False, [], None, 5))
    bad = good._replace(payload=Block([1], [lambda: None], None, False, [], None, 5))
    writer.add(good)
    with pytest.raises((AttributeError, pickle.PicklingError)):
        writer.add(bad)
    (found,) = envelopes_in(MemoryContent(writer.finish()), 1)
    assert payload_of(found) == good.payload


def test_rows_are_as_they_were_before_arrow() -> None:
    rows = [*pack([envelope(group, group) for group in range(4)], 3)]
    assert [row for batch in to_arrow(rows) for row in rows_of(batch)] == rows


def test_arrow_batches_are_bounded_in_rows_and_bytes() -> None:
    many = list(to_arrow(Row(0, 0, 0, seq, 1, b"") for seq in range(600)))
    assert [batch.num_rows for batch in many] == [256, 256, 88]
    large = list(to_arrow(Row(0, 0, 0, seq, 1, bytes(3 << 20)) for seq in range(3)))
    assert [batch.num_rows for batch in large] == [2, 1]
    assert all(isinstance(batch, pa.RecordBatch) for batch in (*many, *large))


@pytest.mark.parametrize("partitions", [1, 2, 3, 7, 64, 200])
def test_every_partition_has_a_bucket(partitions: int) -> None:
    keys = bucket_keys(partitions)
    assert len(keys) == len(set(keys)) == partitions
    assert min(keys) >= 0


def test_what_is_for_all_tasks_goes_to_every_partition_of_its_stage() -> None:
    to_all = Envelope(2, ALL_GROUPS, "v", Kind.METRICS, 7, 0, {"n": 1})
    for make in (pack, pack_singly):
        there = [*make([to_all, envelope(0, 1)._replace(stage=2)], 3, 2)]
        assert [row.bucket for row in there if to_all.group in {e.group for e in opened(row)}] == [
            *bucket_keys(3)
        ]
        # on its way to a later stage it is sent once, and passed on to all of them
        on_the_way = [*make([to_all], 3, 1)]
        assert [row.bucket for row in on_the_way] == [bucket_keys(3)[7 % 3]]
        arrived = [*make(on_the_way, 3, 2)]
        assert [row.bucket for row in arrived] == [*bucket_keys(3)]
        assert [payload_of(each) for each in sent(arrived)] == [{"n": 1}] * 3
    assert {row.key_group for row in pack_singly([to_all], 3, 2)} == {ALL_GROUPS}


def test_on_the_way_what_is_for_all_tasks_is_apart_from_the_rest() -> None:
    to_all = Envelope(3, ALL_GROUPS, "v", Kind.METRICS, 7, 0, {"n": 1})
    mine = envelope(1, 1)._replace(stage=3)
    rows = [*pack([to_all, mine], 3, 1)]
    assert sorted((row.key_group, [e.group for e in opened(row)]) for row in rows) == [
        (ALL_GROUPS, [ALL_GROUPS]),
        (0, [1]),
    ]
