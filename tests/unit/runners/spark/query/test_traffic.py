"""Bytes between tasks: what is read counts for the sender and for the reader."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from headrace.metrics import MetricGroup
from headrace.runners.spark.query.packets import (
    MemoryContent,
    MessageRows,
    envelopes_in,
    make_packet,
)
from headrace.runners.spark.query.traffic import FIRST_OF_DATAFRAMES, Traffic
from headrace.runtime.block import Block, Envelope, Kind
from headrace.runtime.columns.batch import Columns
from headrace.runtime.exchange.send_context import SENDERS_PER_VERTEX
from headrace.runtime.tasks.source_task import TICK


def named(id_: str) -> Any:
    return SimpleNamespace(id=id_, name=id_.upper())


def program() -> Any:
    vertex = SimpleNamespace(id="sum", number=0, chain=SimpleNamespace(nodes={"sum": named("sum")}))
    return SimpleNamespace(
        stages=((vertex,),), sinks=(named("sink"),), sources=(named("a"), named("b"))
    )


def sent(sender: int, target: str, values: Any, seq: int = 0) -> Envelope:
    block = Block(None, values, None, False, [], None, 0)
    return Envelope(1, 0, target, Kind.DATA, sender, seq, block)


def read(*envelopes: Envelope) -> dict[str, Any]:
    metrics = MetricGroup()
    traffic = Traffic(program(), metrics)
    for envelope in envelopes_in(MemoryContent(make_packet(envelopes)), 1):
        traffic.count(envelope)
    return metrics.snapshot()


@pytest.mark.parametrize(
    ("sender", "name"),
    [
        (0, "A"),
        (7, "B"),
        (FIRST_OF_DATAFRAMES + 2 * 3, "A"),
        (FIRST_OF_DATAFRAMES + 2 * 3 + 1, "B"),
        (SENDERS_PER_VERTEX + 4, "SUM"),
    ],
)
def test_a_sender_number_names_the_head_of_its_task(sender: int, name: str) -> None:
    found = read(sent(sender, "sink", [1, 2, 3]))
    assert found.keys() == {f"{name}.numBytesOut", "SINK.numBytesIn"}
    assert found[f"{name}.numBytesOut"] == found["SINK.numBytesIn"] > 3


def test_more_records_are_more_bytes_and_the_time_alone_is_none() -> None:
    one = read(sent(0, "sum", ["x" * 100]))["SUM.numBytesIn"]
    two = read(sent(0, "sum", ["x" * 100]), sent(1, "sum", ["y" * 1_000]))
    assert two["SUM.numBytesIn"] == two["A.numBytesOut"] + two["B.numBytesOut"]
    assert two["A.numBytesOut"] == one < two["B.numBytesOut"]
    assert read(sent(0, "sum", [], TICK)) == {}


def test_blocks_of_columns_have_their_shares_of_the_message() -> None:
    whole = Columns(pa.RecordBatch.from_pydict({"n": [*range(1_000)]}))
    packet = make_packet([sent(0, "sum", whole[:250]), sent(0, "sink", whole[250:1_000])])
    few, many = (each.payload for each in envelopes_in(MemoryContent(packet), 1))
    assert isinstance(few, MessageRows) and isinstance(many, MessageRows)
    assert few.size_bytes * 3 == pytest.approx(many.size_bytes, abs=4)
    assert few.size_bytes + many.size_bytes == pytest.approx(few.message.size_bytes, abs=4)
