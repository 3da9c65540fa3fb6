"""What joins keep is bounded by time, whatever was read; and it can be drawn."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from bench.measure import joins


def test_what_is_kept_does_not_grow_with_the_input(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("KEYS", 30), ("RATE", 10), ("CHUNK", 50)):
        monkeypatch.setattr(joins, name, value)
    found = joins.measure((1_000, 4_000))
    assert len(found) == 3
    for name, (early, late) in found.items():
        assert late.left + late.right < 1.25 * (early.left + early.right), name
        assert late.state_bytes < 1.5 * early.state_bytes, name
    within, nearest, latest = (rows[-1] for rows in found.values())
    # 10 s and some disorder of 10 records a second; of an as-of join what waits for the watermark
    assert 100 < within.left < 250
    assert 0 < nearest.left == latest.left < 60
    assert latest.right < 100
    drawing = ElementTree.fromstring(joins.svg(found))
    assert sum(line.tag.endswith("polyline") for line in drawing.iter()) == 1 + len(found)
