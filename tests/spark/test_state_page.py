"""The programs of docs/how-to/state-as-a-table.md run, one after another."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from headrace.state import Savepoint, spark_session
from tests.spark.test_state_tables import headrace, rows

pytestmark = pytest.mark.spark

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "state-as-a-table.md"


@pytest.mark.timeout(240)
def test_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
    read, query, change, begin = (block.replace("/data", str(tmp_path)) for block in blocks)
    given = [("AAPL", 2.5, 4000, [1, 2]), ("MSFT", 1.5, 10, [3])]
    orders = spark_session().createDataFrame(
        given, "symbol string, price double, quantity long, trades array<long>"
    )
    orders.write.parquet(str(tmp_path / "warehouse" / "orders"))
    names: dict[str, Any] = {}
    exec(begin, names)
    savepoints = tmp_path / "savepoints"
    (savepoints / "from-orders").rename(savepoints / "trades-20261126T134026Z-84beae")
    capsys.readouterr()
    exec(read, names)
    printed = capsys.readouterr().out
    assert "orders open value ROW<price: DOUBLE, quantity: LONG>" in printed
    assert "orders trades list LIST<LONG>" in printed
    assert "AAPL" in printed and "MSFT" not in printed
    exec(query, names)
    shown = re.findall(r"\|(AAPL|MSFT)\| +(\d+)\|", capsys.readouterr().out)
    assert shown == [("AAPL", "4000"), ("MSFT", "10")]
    exec(change, names)
    changed = Savepoint.load(str(savepoints / "trades-halved"))
    found = rows(changed.read("orders", "open"), "key", "value.price", "value.quantity")
    assert found == [("AAPL", 2.5, 2000), ("MSFT", 1.5, 5)]
    assert [state.name for state in changed.states()] == ["open"]
    code, text = headrace("state", "diff", *map(str, sorted(savepoints.iterdir())))
    assert code == 1 and 'orders open key "AAPL"' in text
