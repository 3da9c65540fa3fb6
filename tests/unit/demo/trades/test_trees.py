from __future__ import annotations

from typing import Any

from rich.console import Console

from headrace.demo.trades.trees import hierarchy_tree


def order(order_id: str, parent: str | None, **changes: Any) -> dict[str, Any]:
    return {
        "order_id": order_id,
        "ids": [order_id],
        "parent": parent,
        "side": "BUY",
        "quantity": "10",
        "price": "2.5",
        "cum_qty": "0",
        "avg_px": None,
        "leaves_qty": "10",
        "executed_below": "0",
        "status": "NEW",
        "executions": [],
        **changes,
    }


def test_a_tree_shows_each_order_below_its_parent() -> None:
    executions = [{"busted": False}, {"busted": True}]
    document = {
        "root": "ALPHA:1",
        "version": 4,
        "instrument_id": "I1",
        "currency": "EUR",
        "client": None,
        "orders": [
            order("ALPHA:1", None, executed_below="4"),
            order("BETA:1", "ALPHA:1", ids=["BETA:1", "BETA:2"]),
            order(
                "GAMMA:1",
                "BETA:1",
                cum_qty="4",
                avg_px="2.25",
                status="PARTIALLY_FILLED",
                executions=executions,
            ),
        ],
    }
    console = Console(width=120, color_system=None)
    with console.capture() as capture:
        console.print(hierarchy_tree(document))
    assert capture.get().splitlines() == [
        "ALPHA:1 v4  I1 EUR  client unknown",
        "└── ALPHA:1  BUY 10 @ 2.5  cum 0  below 4  NEW",
        "    └── BETA:1 → BETA:2  BUY 10 @ 2.5  cum 0  NEW",
        "        └── GAMMA:1  BUY 10 @ 2.5  cum 4 at 2.25"
        "  PARTIALLY_FILLED  2 executions, 1 busted",
    ]
