"""Top sellers against totals by plain dictionaries."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import top_sellers
from headrace.common import Duration, WatermarkStrategy
from headrace.testing import run_pipeline
from tests.examples.printed import run_locally, shown_output

PURCHASES = top_sellers.purchases()


def program(env: Any) -> Any:
    times = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(top_sellers.DISORDER)
    ).with_timestamp_assigner(lambda purchase: purchase.at)
    stream = env.from_collection(PURCHASES, top_sellers.PURCHASE)
    return top_sellers.best_sellers(stream.assign_timestamps_and_watermarks(times))


def expected() -> list[tuple[Any, ...]]:
    """The same lists: sum everything, then sort each hour."""
    pieces: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for purchase in PURCHASES:
        pieces[purchase.at - purchase.at % 3_600_000 + 3_600_000][purchase.product] += (
            purchase.pieces
        )
    lines: list[tuple[Any, ...]] = []
    for end, sold in pieces.items():
        turnover = {product: n * top_sellers.PRODUCTS[product][1] for product, n in sold.items()}
        order = sorted(sold, key=lambda product: (-turnover[product], product))
        for place, product in enumerate(order[:3], start=1):
            lines.append((end, f"{place}.", product, sold[product], turnover[product]))
        for category in ("drinks", "bakery", "lunch"):
            best = next(p for p in order if top_sellers.PRODUCTS[p][0] == category)
            lines.append((end, category, best, sold[best], turnover[best]))
    return sorted(lines)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"cuts": [300, 500], "key_groups": 8, "parallelism": 2, "restarts": "savepoint"},
        {"mode": "batch"},
    ],
    ids=["at once", "cut", "batch"],
)
def test_lists(how: dict[str, Any]) -> None:
    assert sorted(run_pipeline(program, **how).only) == expected()


def test_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_locally("top_sellers", monkeypatch, tmp_path)
    assert capsys.readouterr().out.strip("\n") == shown_output("top_sellers").strip("\n")
