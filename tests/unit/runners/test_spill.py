"""Bytes beyond what memory should hold."""

from __future__ import annotations

import pytest

from headrace.runners.spark.query import spill
from headrace.runners.spark.query.spill import Spill, SpilledEnvelopes, SpilledOverflow
from headrace.runners.spark.query.wire import packed, unpacked
from headrace.runtime.block import Envelope, Kind, decode
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
    assert [isinstance(place, bytes) for place in places] == [True, False, True, False, True]
    assert [pile.get(place) for place in reversed(places)] == texts[::-1]
    pile.close()
    assert pile.put(b"again") == b"again"


def test_what_was_put_aside_comes_in_the_order_it_was_put() -> None:
    aside = SpilledOverflow()
    for seq in range(5):
        aside.put(envelope(1, seq, block(*range(seq))))
    assert aside
    found = list(aside.take())
    assert [e.seq for e in found] == [0, 1, 2, 3, 4]
    assert [decode(e.payload).values for e in found] == [[*range(seq)] for seq in range(5)]
    assert not aside and not list(aside.take())
    aside.put(envelope(1, 9, block("forgotten")))
    aside.clear()
    assert not list(aside.take())


def test_readers_get_theirs_by_sender_and_seq() -> None:
    received = SpilledEnvelopes()
    for sender, seq in [(2, 0), (1, 1), (1, 0)]:
        for reader in (7, 3):
            received.add(reader, envelope(sender, seq, b"%d %d %d" % (reader, sender, seq)))
    assert received.readers() == [3, 7]
    assert [e.payload for e in received.take(3)] == [b"3 1 0", b"3 1 1", b"3 2 0"]
    assert received.readers() == [7]
    received.close()
    assert not received


def test_packets_for_many_partitions_wait_for_so_many_bytes_in_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from headrace.runners.spark.query import wire

    monkeypatch.setattr(wire, "_BYTES_WAITING", 2_000)
    sent = [envelope(1, seq, b"x" * 100)._replace(group=seq % 50) for seq in range(100)]
    taken = 0

    def counting() -> object:
        nonlocal taken
        for each in sent:
            taken += 1
            yield each

    rows = packed(counting(), 50)  # type: ignore[arg-type]
    first = next(rows)
    assert taken == 20
    found = [e.seq for row in (first, *rows) for e in unpacked(row[4])]
    assert sorted(found) == [*range(100)]
    assert spill.MOST_BYTES >= 1 << 20
