"""Columns by key: every group reads what it would read of rows, in the same order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.connector import ColumnChunk
from headrace.metrics.metricbase import MetricGroup
from headrace.planner.columns import with_columns
from headrace.runners.spark.query.packets import (
    MemoryContent,
    MessageRows,
    envelopes_in,
    payload_bytes,
    payload_of,
)
from headrace.runners.spark.query.spill import Spill, SpilledEnvelopes
from headrace.runners.spark.query.wire import Row, pack, pack_singly
from headrace.runtime.block import Block, Envelope, Kind, decode, records_of
from headrace.runtime.chain.chain import Chain
from headrace.runtime.columns.batch import Columns
from headrace.runtime.columns.building import from_chunk
from headrace.runtime.columns.keys import ColumnKeys
from headrace.runtime.columns.selectors import ByColumns
from headrace.runtime.columns.shapes import NAMED_ROWS
from headrace.runtime.context import TaskInfo
from headrace.runtime.exchange import send_context as send_context
from headrace.runtime.keys.key_groups import key_group_of
from headrace.runtime.keys.serialized_key import user_key
from headrace.runtime.program import SourceProgram, VertexProgram
from headrace.runtime.user_function import UserFunction
from tests.effort import examples
from tests.pipelines.columns import WindowSumsSpec
from tests.unit.runtime.programs import (
    chain_of,
    exchange,
    job_of,
    mapping,
    node,
    to_exchange,
)

GROUPS = 5
TIMES = pa.int64()


def columns_of(users: Iterable[int], first: int = 0, timed: bool = True, **more: Any) -> Columns:
    users = [*users]
    numbers = [*range(first, first + len(users))]
    batch = pa.record_batch({"user": pa.array(users, pa.int64()), "n": numbers, **more})
    return Columns(batch, times=pa.array(numbers, TIMES) if timed else None)


def chain_by(selector: Any, takes_columns: bool = True, partitions: int = 1, **other: Any) -> Chain:
    head = WindowSumsSpec() if takes_columns else mapping(lambda value: value)
    by_key = exchange(0, groups=GROUPS, selector=UserFunction(selector), **other)
    program = chain_of(node(1, None, to_exchange(0)), exchanges=[by_key])
    source = SourceProgram("1", "source", None, None, None, program, 1)
    job = job_of((source,), VertexProgram(0, 1, True, GROUPS, 1, chain_of(node(0, head))))
    job = with_columns(replace(job, partitions=partitions))
    chain = Chain(job.sources[0].chain, job, TaskInfo(), MetricGroup(), merged_marks=False)
    chain.begin(sender=3, now_ms=1000)
    chain.begin_channel("first", {})
    return chain


def flat(envelopes: Iterable[Envelope]) -> dict[int, list[Any]]:
    """By group what is read: records with key, time and channel, and marks between them.

    Of marks of one channel that stand together the last counts.
    """
    found: dict[int, list[Any]] = {}
    for envelope in sorted(envelopes, key=lambda each: each.seq):
        assert envelope.sender == 3 and envelope.payload.now_ms == 1000
        read, block = found.setdefault(envelope.group, []), envelope.payload
        channel_starts, marks = dict(block.channel_starts), [*block.marks]
        stamps = [*(block.timestamps or [None] * len(block.values))]
        records = [*zip([*(block.keys or [])], records_of(block), stamps, strict=True)]
        channel = None
        for position in range(len(records) + 1):
            for mark in [mark for mark in marks if mark.position == position]:
                mark_read = ("mark", mark.channel.split, mark.watermark, mark.idle)
                if read and read[-1][:2] == mark_read[:2]:
                    read.pop()
                read.append(mark_read)
            channel = channel_starts.get(position, channel)
            if position < len(records):
                assert channel is not None
                read.append((channel.split, *records[position]))
    return found


actions = st.lists(
    st.one_of(
        st.tuples(st.just("columns"), st.lists(st.integers(-3, 12), min_size=1, max_size=30)),
        st.tuples(st.just("others"), st.lists(st.integers(-3, 12), min_size=1, max_size=3)),
        st.tuples(st.just("rows"), st.lists(st.integers(-3, 12), max_size=4)),
        st.tuples(st.just("mark"), st.integers(0, 99)),
        st.tuples(st.just("idle"), st.integers(0, 99)),
        st.tuples(st.just("split"), st.sampled_from(["second", "third"])),
        st.tuples(st.just("drain"), st.none()),
    ),
    max_size=25,
)


@settings(max_examples=examples(20))
@given(actions)
def test_groups_read_what_they_would_read_of_rows(drawn: list[tuple[str, Any]]) -> None:
    with_columns, with_rows = chain_by(ByColumns("user")), chain_by(ByColumns("user"))
    sent: list[list[Envelope]] = [[], []]
    number = 0
    for what, how in drawn:
        for chain, out in zip((with_columns, with_rows), sent, strict=True):
            if what in ("columns", "others", "rows"):
                more = {"other": ["x"] * len(how)} if what == "others" else {}
                columns = columns_of(how, number, **more)
                if what != "rows" and chain is with_columns:
                    assert chain.push_columns is not None
                    chain.push_columns(columns)
                else:
                    columns.push_rows(chain.push)
            elif what == "split":
                chain.begin_channel(how, {})
            elif what == "drain":
                out += chain.drain()
            else:
                chain.push_watermark(how, what == "idle")
        number += len(how) if isinstance(how, list) else 0
    for chain, out in zip((with_columns, with_rows), sent, strict=True):
        out += chain.drain()
        assert not chain.buffered_records() and not chain.is_full
    assert flat(sent[0]) == flat(sent[1])


def _aside(chain: Chain) -> int:
    held: Any = chain.send_context.overflow
    return sum(len(envelope.payload.values) for envelope in held._envelopes)


def test_columns_leave_as_columns_and_marks_stand_at_row_numbers() -> None:
    chain = chain_by(ByColumns("user"))
    assert chain.push_columns is not None
    chain.push_columns(columns_of([1, 2, 1]))
    chain.push_watermark(40)
    chain.push_columns(columns_of([2, 1], 3))
    envelopes = {envelope.group: envelope.payload for envelope in chain.drain()}
    ours = envelopes[key_group_of(1, GROUPS)]
    assert isinstance(ours.values, Columns) and isinstance(ours.keys, ColumnKeys)
    at = [row["n"] for row in ours.values if row["user"] == 1]
    assert at == [0, 2, 4]
    (mark,) = ours.marks
    assert mark.watermark == 40
    assert {row["n"] for row in records_of(ours)[: mark.position]} <= {0, 1, 2}
    # those without a row hear of the time
    assert {*envelopes} == {*range(GROUPS)}


@pytest.mark.parametrize(
    "selector, other",
    [
        (lambda row: row["user"], {}),
        (ByColumns("user"), {"takes_columns": False}),
    ],
)
def test_rows_are_taken_where_columns_are_of_no_use(selector: Any, other: dict[str, Any]) -> None:
    assert chain_by(selector, **other).push_columns is None


def test_a_key_that_columns_cannot_tell_is_asked_of_the_rows() -> None:
    chain = chain_by(ByColumns("user"))
    assert chain.push_columns is not None
    chain.push_columns(columns_of([7], 0))
    batch = pa.record_batch({"user": [{"a": 1}], "n": [1]})
    chain.push_columns(Columns(batch))
    keys = [user_key(key) for envelope in chain.drain() for key in envelope.payload.keys]
    assert sorted(map(str, keys)) == ["7", "{'a': 1}"]
    with pytest.raises(KeyError, match="user"):
        chain.push_columns(Columns(pa.record_batch({"n": [1]})))


def test_what_waits_is_counted_and_put_aside_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.runtime.columns.exchange.MAX_BUFFERED_BYTES", 4000)
    monkeypatch.setattr(send_context, "MAX_BUFFERED_BYTES", 4000)
    chain = chain_by(ByColumns("user"))
    assert chain.push_columns is not None
    for first in range(0, 400, 100):
        chain.push_columns(columns_of(range(first, first + 100), first))
    assert _aside(chain) == 400 and chain.is_full
    assert sum(len(envelope.payload.values) for envelope in chain.drain()) == 400


def test_what_a_failed_task_gathered_is_forgotten() -> None:
    chain = chain_by(ByColumns("user"))
    assert chain.push_columns is not None
    chain.push_columns(columns_of([1, 2]))
    chain.begin(sender=3, now_ms=1000)
    assert not [*chain.drain()]


# On the wire


def sent_columns(partitions: int = 1) -> list[Envelope]:
    chain = chain_by(ByColumns("user"), partitions=partitions)
    assert chain.push_columns is not None
    chain.push_columns(columns_of([number % 17 for number in range(200)]))
    chain.push_watermark(99)
    return [*chain.drain()]


def opened(row: Row) -> list[Envelope]:
    return [*envelopes_in(MemoryContent(row.payload), row.stage)]


def message_of(envelope: Envelope) -> Any:
    assert isinstance(envelope.payload, MessageRows)
    return envelope.payload.message


def read_again(envelopes: Iterable[Envelope]) -> list[Envelope]:
    return [e._replace(payload=payload_of(e)) for e in envelopes]


@pytest.mark.parametrize("partitions", [1, 2, 5])
def test_groups_of_a_partition_share_a_message(partitions: int) -> None:
    envelopes = sent_columns(partitions)
    rows = [*pack(envelopes, partitions)]
    assert len(rows) == partitions
    received = []
    for row in rows:
        found = opened(row)
        of_columns = [each for each in found if isinstance(each.payload, MessageRows)]
        (message,) = {message_of(each) for each in of_columns}
        assert len(message.columns()) == sum(len(payload_of(each).values) for each in of_columns)
        received += found
    assert flat(read_again(received)) == flat(envelopes)


def test_in_a_batch_each_group_has_a_message_of_its_own() -> None:
    envelopes = sent_columns()
    rows = [*pack_singly(envelopes, 2)]
    received = [e for row in rows for e in opened(row)]
    assert [row.key_group for row in rows] == [each.group for each in received]
    assert len({id(message_of(each)) for each in received}) == len(received)
    assert all(len(message_of(each).columns()) == len(payload_of(each).values) for each in received)
    assert flat(read_again(received)) == flat(envelopes)


@pytest.mark.parametrize("most_bytes", [0, 2000, 1 << 20])
def test_in_memory_or_in_a_file_parts_are_read_again(
    most_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Spill.__init__, "__defaults__", (most_bytes,))
    envelopes = sent_columns()
    received: SpilledEnvelopes[int] = SpilledEnvelopes()
    for row in pack(envelopes, 1):
        for each in received.open(row.payload, row.stage):
            received.store_opened(each.group, each)
    assert received._spill._in_memory_bytes <= most_bytes
    taken = [e for group in received.readers() for e in received.pop(group)]
    assert flat(read_again(taken)) == flat(envelopes)
    received.close()


def test_in_bytes_alone_a_block_holds_its_rows_only() -> None:
    (row,) = pack(sent_columns(), 1)
    found = [each for each in opened(row) if isinstance(each.payload, MessageRows)]
    assert all(len(payload_bytes(each)) < len(row.payload) / 2 for each in found)
    again = [each._replace(payload=decode(payload_bytes(each))) for each in found]
    assert {type(each.payload.values) for each in again} == {Columns}
    assert flat(again) == flat(read_again(found))


def test_rows_beside_columns_stay_rows_on_the_wire() -> None:
    rows = Envelope(1, 0, 0, Kind.DATA, 3, 99, Block(None, [1, 2], None, False, [], None, 1000))
    (row,) = pack([*sent_columns(), rows], 1)
    (last,) = (each for each in opened(row) if each.seq == 99)
    assert payload_of(last).values == [1, 2]


def test_row_kinds_survive_the_exchange() -> None:
    batch = pa.record_batch({"user": [1, 2, 1], "kind": pa.array([0, 3, 2], pa.int8())})
    chain = chain_by(ByColumns("user"))
    assert chain.push_columns is not None
    columns = from_chunk(ColumnChunk(batch, NAMED_ROWS, "kind"))
    chain.push_columns(columns)
    chain.push_columns(columns[:1])  # which has no kinds
    received = [e for row in pack([*chain.drain()], 2) for e in opened(row)]
    rows = [value for e in read_again(received) for value in records_of(e.payload)]
    assert sorted(rows, key=repr) == sorted([*columns, *columns[:1]], key=repr)
