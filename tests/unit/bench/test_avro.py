"""The experiment of Avro: what is measured is what the targets ask for."""

from __future__ import annotations

import pytest

from bench.measure import avro
from bench.targets import TARGETS, Measured

pytest.importorskip("fastavro", reason="missing: pip install 'headrace[avro]'")


def test_the_targets_find_the_slowest_way() -> None:
    found = avro.rows_of(20, 1)
    own = {row["point"] for row in found if row["contender"] == "fastavro"}
    assert own == {"write", "read", "read another schema"}
    rows = [
        {**row, "round": 0, "values": {"to_wanted": 3.0 if "with header" in row["point"] else 2.0}}
        for row in found
    ]
    asked = [target for target in TARGETS if target.text.startswith("Avro of 12 fields")]
    answers = [target.ask(Measured({"avro": {"rows": rows}})) for target in asked]
    assert [rounds and rounds.median for rounds in answers] == [2.0, 2.0]
