"""Bytes beyond what memory should hold."""

from __future__ import annotations

import pytest

from headrace.runners.spark.query import spill
from headrace.runners.spark.query.packets import (
    MemoryContent,
    envelopes_in,
    make_packet,
    payload_bytes,
    payload_of,
)
from headrace.runners.spark.query.spill import Spill, SpilledEnvelopes, SpilledOverflow
from headrace.runners.spark.query.wire import pack
from headrace.runtime.block import Envelope, Kind
from tests.unit.runtime.programs import block


@pytest.fixture(autouse=True)
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Spill.__init__, "__defaults__", (10,))


def envelope(sender: int, seq: int, payload: object, target: int = 0) -> Envelope:
    return Envelope(1, 0, target, Kind.DATA, sender, seq, payload)


def test_bytes_come_back_from_memory_and_file_in_any_order() -> None:
    pile = Spill()
    texts = [b"four", b"seven77", b"", b"x" * 100, b"abc"]
    places = [pile.put(text) for text in texts]
    assert [isinstance(place, MemoryContent) for place in places] == [
        True,
        False,
        True,
        False,
        True,
    ]
    assert [bytes(place.view()) for place in reversed(places)] == texts[::-1]
    pile.close()
    assert bytes(pile.put(b"again").view()) == b"again"


def test_what_lies_in_the_file_is_read_from_anywhere_in_it() -> None:
    pile = Spill(0)
    texts = [bytes([number]) * (3000 + number) for number in range(20)]
    places = [pile.put(text) for text in texts]
    views = [place.view() for place in places]
    pile.close()  # what was read stays
    assert [bytes(view) for view in views] == texts


def test_what_was_put_aside_comes_in_the_order_it_was_put() -> None:
    aside = SpilledOverflow()
    for seq in range(5):
        aside.put(envelope(1, seq, block(*range(seq))))
    assert aside
    found = [(each.seq, payload_of(each).values) for each in aside.drain()]
    assert found == [(seq, [*range(seq)]) for seq in range(5)]
    assert not aside and not list(aside.drain())
    aside.put(envelope(1, 9, block("forgotten")))
    aside.clear()
    assert not list(aside.drain())


def test_readers_get_theirs_by_sender_and_seq() -> None:
    received = SpilledEnvelopes()
    for sender, seq in [(2, 0), (1, 1), (1, 0)]:
        for reader in (7, 3):
            received.add(reader, envelope(sender, seq, block(reader, sender, seq)))
    assert received.readers() == [3, 7]
    found = [payload_of(e).values for e in received.pop(3)]
    assert found == [[3, 1, 0], [3, 1, 1], [3, 2, 0]]
    assert received.readers() == [7]
    received.close()
    assert not received


def test_envelopes_of_a_packet_are_kept_where_the_packet_is() -> None:
    received: SpilledEnvelopes[int] = SpilledEnvelopes()
    for sender in (2, 1):
        sent = [envelope(sender, seq, block(sender, seq)) for seq in (1, 0)]
        for each in received.open(make_packet(sent), 5):
            assert each.stage == 5
            received.store_opened(7, each)
    found = [payload_of(e).values for e in received.pop(7)]
    assert found == [[1, 0], [1, 1], [2, 0], [2, 1]]


def test_packets_for_many_partitions_wait_for_so_many_bytes_in_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from headrace.runners.spark.query import wire

    monkeypatch.setattr(wire, "_MAX_WAITING_BYTES", 2_000)
    sent = [envelope(1, seq, block(b"x" * 20))._replace(group=seq % 50) for seq in range(100)]
    size = len(payload_bytes(sent[0]))
    taken = 0

    def counting() -> object:
        nonlocal taken
        for each in sent:
            taken += 1
            yield each

    rows = pack(counting(), 50)  # type: ignore[arg-type]
    first = next(rows)
    assert taken == -(-2_000 // size)
    found = [
        e.seq for row in (first, *rows) for e in envelopes_in(MemoryContent(row.payload), row.stage)
    ]
    assert sorted(found) == [*range(100)]
    assert spill.MAX_MEMORY_BYTES >= 1 << 20
