"""Each rule of linking, one test at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headrace.demo.trades.events import Anomaly
from tests.unit.demo.trades.linking import Feed, document, orders, run, statuses, summary


@pytest.fixture
def feed() -> Feed:
    return Feed()


def test_the_document_of_a_new_order(feed: Feed) -> None:
    outputs = run([feed.new(5, "A:1", quantity="1E+2", price="10.50")])
    assert document(outputs) == {
        "root": "A:1",
        "version": 1,
        "as_of_ms": 5,
        "instrument_id": "I1",
        "currency": "EUR",
        "client": "Client",
        "orders": [
            {
                "order_id": "A:1",
                "ids": ["A:1"],
                "parent": None,
                "side": "BUY",
                "quantity": "100",
                "price": "10.5",
                "cum_qty": "0",
                "avg_px": None,
                "leaves_qty": "100",
                "executed_below": "0",
                "status": "NEW",
                "executions": [],
            }
        ],
    }


def test_keys_stand_in_the_order_of_the_rules(feed: Feed) -> None:
    outputs = run([feed.new(1, "A:1"), feed.execution(2, "A:1", "A:x")])
    whole = document(outputs)
    assert list(whole) == [
        *("root", "version", "as_of_ms", "instrument_id", "currency", "client", "orders")
    ]
    assert list(whole["orders"][0]) == [
        *("order_id", "ids", "parent", "side", "quantity", "price", "cum_qty", "avg_px"),
        *("leaves_qty", "executed_below", "status", "executions"),
    ]
    assert list(whole["orders"][0]["executions"][0]) == [
        *("exec_id", "quantity", "price", "time_ms", "busted")
    ]


def test_text_that_json_must_escape(feed: Feed) -> None:
    odd = 'A:"\\\n\u00e9\U0001f600'
    outputs = run([feed.new(1, odd, client=odd), feed.execution(2, odd, odd)])
    whole = document(outputs)
    assert (whole["root"], whole["client"]) == (odd, odd)
    assert whole["orders"][0]["ids"] == [odd]
    assert whole["orders"][0]["executions"][0]["exec_id"] == odd


def test_a_client_that_is_not_known_is_null(feed: Feed) -> None:
    assert document(run([feed.new(1, "A:1", client=None)]))["client"] is None


def test_currency_and_client_are_those_of_the_root(feed: Feed) -> None:
    outputs = run([feed.new(1, "A:1"), feed.new(2, "B:1", parent="A:1", client="Other")])
    assert document(outputs)["client"] == "Client"


def test_a_replace_continues_its_order(feed: Feed) -> None:
    outputs = run(
        [
            feed.new(1, "A:1"),
            feed.replace(2, "A:2", "A:1", quantity="80", price="9.5"),
            feed.replace(3, "A:3", "A:2", quantity="70"),
            # By any id of the chain, an earlier one too.
            feed.replace(4, "A:4", "A:1", quantity="60"),
            feed.execution(5, "A:2", "A:x"),
            feed.new(6, "B:1", parent="A:3"),
        ]
    )
    chain = orders(outputs)["A:1"]
    assert chain["ids"] == ["A:1", "A:2", "A:3", "A:4"]
    assert (chain["quantity"], chain["price"], chain["cum_qty"]) == ("60", "10", "10")
    assert chain["side"] == "BUY"
    assert orders(outputs)["B:1"]["parent"] == "A:1"
    assert document(outputs)["version"] == 6


def test_a_hierarchy_spans_systems_and_lists_orders_as_they_appeared(feed: Feed) -> None:
    outputs = run(
        [
            feed.new(1, "A:1"),
            feed.new(2, "B:2", parent="A:1"),
            feed.new(3, "G:3", parent="B:2"),
            feed.new(4, "B:1", parent="A:1"),
            feed.new(5, "G:9"),
        ]
    )
    assert summary(outputs) == ["A:1 v1", "A:1 v2", "A:1 v3", "A:1 v4", "G:9 v1"]
    assert [(each, order["parent"]) for each, order in orders(outputs, "A:1").items()] == [
        ("A:1", None),
        ("B:2", "A:1"),
        ("G:3", "B:2"),
        ("B:1", "A:1"),
    ]


def test_executions_add_up_exactly(feed: Feed) -> None:
    outputs = run(
        [
            feed.new(1, "A:1", quantity="1"),
            feed.execution(2, "A:1", "A:x1", quantity="0.1", price="0.3"),
            feed.execution(3, "A:1", "A:x2", quantity="0.2", price="0.1"),
        ]
    )
    order = orders(outputs)["A:1"]
    assert (order["cum_qty"], order["leaves_qty"]) == ("0.3", "0.7")
    assert order["avg_px"] == "0.166667"
    assert order["status"] == "PARTIALLY_FILLED"
    assert order["executions"][1] == {
        "exec_id": "A:x2",
        "quantity": "0.2",
        "price": "0.1",
        "time_ms": 3,
        "busted": False,
    }


def test_more_digits_than_a_default_decimal_holds(feed: Feed) -> None:
    large, small = "9" * 45, "0." + "0" * 44 + "1"
    outputs = run(
        [
            feed.new(1, "A:1", quantity=large),
            feed.execution(2, "A:1", "A:x1", quantity="1", price=large),
            feed.execution(3, "A:1", "A:x2", quantity=small, price=large),
        ]
    )
    order = orders(outputs)["A:1"]
    assert order["cum_qty"] == "1" + small[1:]
    assert order["leaves_qty"] == str(int(large) - 2) + "." + "9" * 45
    assert order["avg_px"] == large


def test_a_bust_takes_its_execution_back(feed: Feed) -> None:
    events = [
        feed.new(1, "A:1", quantity="30"),
        feed.execution(2, "A:1", "A:x1", quantity="10", price="7"),
        feed.execution(3, "A:1", "A:x2", quantity="20", price="9"),
        feed.bust(4, "A:x2"),
    ]
    assert statuses(run(events[:3])) == {"A:1": "FILLED"}
    outputs = run(events)
    order = orders(outputs)["A:1"]
    assert (order["cum_qty"], order["avg_px"], order["leaves_qty"]) == ("10", "7", "20")
    assert order["status"] == "PARTIALLY_FILLED"
    assert [each["busted"] for each in order["executions"]] == [False, True]


def test_with_all_busted_there_is_no_average(feed: Feed) -> None:
    outputs = run(
        [feed.new(1, "A:1"), feed.execution(2, "A:1", "A:x", "0.10"), feed.bust(3, "A:x")]
    )
    order = orders(outputs)["A:1"]
    assert (order["cum_qty"], order["avg_px"], order["status"]) == ("0", None, "NEW")


def test_executed_below_is_over_all_descendants_and_not_the_order_itself(feed: Feed) -> None:
    outputs = run(
        [
            feed.new(1, "A:1"),
            feed.new(2, "B:1", parent="A:1"),
            feed.new(3, "G:1", parent="B:1"),
            feed.new(4, "G:2", parent="A:1"),
            feed.execution(5, "A:1", "A:x", "1"),
            feed.execution(6, "B:1", "B:x", "2"),
            feed.execution(7, "G:1", "G:x", "4"),
            feed.execution(8, "G:2", "G:y", "8"),
            feed.execution(9, "G:2", "G:z", "16"),
            feed.bust(10, "G:y"),
        ]
    )
    below = {each: order["executed_below"] for each, order in orders(outputs).items()}
    assert below == {"A:1": "22", "B:1": "4", "G:1": "0", "G:2": "0"}
    assert orders(outputs)["A:1"]["cum_qty"] == "1"


def test_a_cancel_closes_the_order_and_every_open_order_below(feed: Feed) -> None:
    outputs = run(
        [
            feed.new(1, "A:1"),
            feed.new(2, "B:1", parent="A:1"),
            feed.new(3, "B:2", parent="B:1"),
            feed.new(4, "B:3", parent="B:2", quantity="10"),
            feed.new(5, "B:4", parent="B:3"),
            feed.new(6, "B:5", parent="B:1"),
            feed.new(7, "B:6", parent="A:1"),
            feed.execution(8, "B:3", "B:x"),
            feed.execution(9, "B:4", "B:y"),
            feed.reject(10, "B:5"),
            feed.cancel(11, "B:1"),
        ]
    )
    assert statuses(outputs) == {
        "A:1": "NEW",
        "B:1": "CANCELLED",
        "B:2": "CANCELLED_BY_PARENT",
        "B:3": "FILLED",
        "B:4": "CANCELLED_BY_PARENT",
        "B:5": "REJECTED",
        "B:6": "NEW",
    }
    leaves = {each: order["leaves_qty"] for each, order in orders(outputs).items()}
    assert leaves == {
        **dict.fromkeys(("B:1", "B:2", "B:3", "B:4", "B:5"), "0"),
        **{"A:1": "100", "B:6": "100"},
    }
    assert summary(outputs)[-1] == "A:1 v11"


def test_a_reject_closes_its_order_alone(feed: Feed) -> None:
    events = [feed.new(1, "A:1"), feed.new(2, "B:1", parent="A:1"), feed.reject(3, "A:1")]
    assert statuses(run(events)) == {"A:1": "REJECTED", "B:1": "NEW"}


def test_a_closed_order_stays_closed_but_counts_what_comes_later(feed: Feed) -> None:
    outputs = run(
        [
            feed.new(1, "A:1"),
            feed.execution(2, "A:1", "A:x"),
            feed.cancel(3, "A:1"),
            feed.execution(4, "A:1", "A:y", "90"),
            feed.bust(5, "A:x"),
        ]
    )
    order = orders(outputs)["A:1"]
    assert (order["cum_qty"], order["leaves_qty"], order["status"]) == ("90", "0", "CANCELLED")
    assert summary(outputs) == ["A:1 v1", "A:1 v2", "A:1 v3", "A:1 v4", "A:1 v5"]


def test_what_cannot_be_done_to_a_closed_order_changes_nothing(feed: Feed) -> None:
    for close in (feed.cancel, feed.reject):
        outputs = run(
            [
                feed.new(1, "A:1"),
                close(2, "A:1"),
                feed.replace(3, "A:2", "A:1"),
                feed.cancel(4, "A:1"),
                feed.reject(5, "A:1"),
                # The replacement's id did not become known.
                feed.execution(6, "A:2", "A:x"),
            ],
            finish=True,
        )
        assert [line.split()[0] for line in summary(outputs)] == [
            *("A:1", "A:1", "CLOSED_ORDER", "CLOSED_ORDER", "CLOSED_ORDER", "ORPHAN")
        ]


def test_a_filled_order_can_be_replaced_but_not_cancelled_or_rejected(feed: Feed) -> None:
    events = [
        feed.new(1, "A:1", quantity="10"),
        feed.execution(2, "A:1", "A:x"),
        feed.cancel(3, "A:1"),
        feed.reject(4, "A:1"),
        feed.replace(5, "A:2", "A:1", quantity="15"),
        feed.cancel(6, "A:1"),
    ]
    outputs = run(events[:5])
    assert summary(outputs)[2:4] == ["CLOSED_ORDER A:3", "CLOSED_ORDER A:4"]
    assert orders(outputs)["A:1"]["status"] == "PARTIALLY_FILLED"
    assert orders(outputs)["A:1"]["leaves_qty"] == "5"
    assert document(outputs)["version"] == 3
    assert statuses(run(events)) == {"A:1": "CANCELLED"}


def test_a_smaller_replacement_fills_the_order_and_is_no_overfill(feed: Feed) -> None:
    outputs = run(
        [
            feed.new(1, "A:1"),
            feed.execution(2, "A:1", "A:x", "60"),
            feed.replace(3, "A:2", "A:1", quantity="50"),
        ]
    )
    order = orders(outputs)["A:1"]
    assert (order["status"], order["leaves_qty"]) == ("FILLED", "0")
    assert summary(outputs) == ["A:1 v1", "A:1 v2", "A:1 v3"]


def test_a_bust_opens_a_filled_order_again(feed: Feed) -> None:
    outputs = run(
        [
            feed.new(1, "A:1", quantity="10"),
            feed.execution(2, "A:1", "A:x"),
            feed.bust(3, "A:x"),
            feed.cancel(4, "A:1"),
        ]
    )
    assert statuses(outputs) == {"A:1": "CANCELLED"}


def test_an_overfill_is_reported_and_applied(feed: Feed) -> None:
    outputs = run(
        [
            feed.new(1, "A:1", quantity="10"),
            feed.execution(2, "A:1", "A:x1", "10"),
            feed.execution(3, "A:1", "A:x2", "0.5"),
            feed.execution(4, "A:1", "A:x3", "0.5"),
        ]
    )
    order = orders(outputs)["A:1"]
    assert (order["cum_qty"], order["leaves_qty"], order["status"]) == ("11", "0", "FILLED")
    assert summary(outputs) == [
        *("A:1 v1", "A:1 v2", "OVERFILL A:3", "A:1 v3", "OVERFILL A:4", "A:1 v4")
    ]


def test_an_event_id_counts_once(feed: Feed) -> None:
    first, second = feed.new(1, "A:1"), feed.execution(2, "A:1", "A:x")
    outputs = run([first, first, second, second])
    assert summary(outputs) == ["A:1 v1", "DUPLICATE A:1", "A:1 v2", "DUPLICATE A:2"]
    assert orders(outputs)["A:1"]["cum_qty"] == "10"


def test_a_waiting_event_counts_once_too(feed: Feed) -> None:
    early = feed.execution(1, "A:1", "A:x")
    outputs = run([early, early, feed.new(2, "A:1")])
    assert summary(outputs) == ["DUPLICATE A:1", "A:1 v1", "A:1 v2"]


def test_every_reference_may_come_before_what_it_refers_to(feed: Feed) -> None:
    outputs = run(
        [
            feed.bust(1, "B:x"),
            feed.execution(2, "B:2", "B:x"),
            feed.replace(3, "B:2", "B:1"),
            feed.cancel(4, "B:3"),
            feed.reject(5, "B:4"),
            feed.new(6, "B:3", parent="A:1"),
            feed.new(7, "B:1", parent="A:1"),
            feed.new(8, "B:4", parent="A:1"),
            feed.new(9, "A:1"),
        ]
    )
    # Depth first: what waited for A:1 in its own order, each with what waited for it.
    assert statuses(outputs) == {
        "A:1": "NEW",
        "B:3": "CANCELLED",
        "B:1": "NEW",
        "B:4": "REJECTED",
    }
    assert list(orders(outputs)) == ["A:1", "B:3", "B:1", "B:4"]
    by_version = [output.to_json() for output in outputs if not isinstance(output, Anomaly)]
    steps = [
        [(order["order_id"], order["status"], len(order["executions"])) for order in each["orders"]]
        for each in by_version
    ]
    assert steps[1][-1] == ("B:3", "NEW", 0)
    assert steps[2][-1] == ("B:3", "CANCELLED", 0)
    assert steps[3][-1] == ("B:1", "NEW", 0)
    assert [order["ids"] for order in by_version[4]["orders"]][-1] == ["B:1", "B:2"]
    assert steps[5][-1] == ("B:1", "PARTIALLY_FILLED", 1)
    assert by_version[6]["orders"][-1]["executions"][0]["busted"]
    assert steps[7][-1] == ("B:4", "NEW", 0)
    assert steps[8][-1] == ("B:4", "REJECTED", 0)
    assert {each["as_of_ms"] for each in by_version} == {9}


def test_events_that_wait_are_released_in_their_own_order(feed: Feed) -> None:
    cancel, execution = feed.cancel(2, "A:1"), feed.execution(1, "A:1", "A:x")
    same_time = [feed.execution(2, "A:1", "A:y"), feed.execution(2, "A:1", "A:z")]
    outputs = run([execution, cancel, *same_time, feed.new(3, "A:1")])
    executions = orders(outputs)["A:1"]["executions"]
    assert [each["exec_id"] for each in executions] == ["A:x", "A:y", "A:z"]
    assert statuses(outputs) == {"A:1": "CANCELLED"}
    third = [output for output in outputs if not isinstance(output, Anomaly)][2].to_json()
    assert third["orders"][0]["status"] == "CANCELLED"


def test_a_long_chain_of_waiting_events_needs_no_deep_stack(feed: Feed) -> None:
    chain = [feed.replace(1, f"A:{n + 1}", f"A:{n}") for n in range(1_500, 0, -1)]
    outputs = run([*chain, feed.new(2, "A:1")])
    assert len(outputs) == 1_501
    assert len(orders(outputs)["A:1"]["ids"]) == 1_501


def test_what_never_comes_leaves_orphans_at_the_end(feed: Feed) -> None:
    outputs = run(
        [
            feed.new(1, "B:1", parent="A:1"),
            feed.execution(2, "B:1", "B:x"),
            feed.bust(3, "B:y"),
            feed.new(4, "G:1"),
        ],
        finish=True,
    )
    assert summary(outputs) == ["G:1 v1", "ORPHAN B:1", "ORPHAN B:2", "ORPHAN B:3"]
    orphan = outputs[1]
    assert isinstance(orphan, Anomaly)
    assert orphan.reason == "order A:1 did not come in time"


def test_as_of_is_the_greatest_event_time(feed: Feed) -> None:
    outputs = run([feed.execution(3, "A:1", "A:x"), feed.new(7, "A:1")])
    assert [document([output])["as_of_ms"] for output in outputs] == [7, 7]
    assert document(run([feed.new(-5, "A:2")]))["as_of_ms"] == -5


# What the rules are silent about: the choices in the linker's docstring.


def test_an_order_that_is_known_already_is_not_placed_again(feed: Feed) -> None:
    outputs = run(
        [
            feed.new(1, "A:1"),
            feed.new(2, "A:1", quantity="7"),
            feed.new(3, "A:2"),
            feed.replace(4, "A:2", "A:1"),
            feed.replace(5, "A:1", "A:1"),
            feed.new(6, "A:1", parent="A:2"),
        ]
    )
    assert summary(outputs) == [
        *("A:1 v1", "DUPLICATE A:2", "A:2 v1", "DUPLICATE A:4", "DUPLICATE A:5", "DUPLICATE A:6")
    ]


def test_an_execution_that_is_known_already_is_not_counted_again(feed: Feed) -> None:
    outputs = run(
        [
            feed.new(1, "A:1"),
            feed.execution(2, "A:1", "A:x"),
            feed.execution(3, "A:1", "A:x"),
            feed.bust(4, "A:x"),
            feed.bust(5, "A:x"),
            feed.execution(6, "A:1", "A:x"),
        ]
    )
    assert summary(outputs) == [
        *("A:1 v1", "A:1 v2", "DUPLICATE A:3", "A:1 v3", "DUPLICATE A:5", "DUPLICATE A:6")
    ]
    assert orders(outputs)["A:1"]["cum_qty"] == "0"


def test_orders_that_are_their_own_parents_wait_in_vain(feed: Feed) -> None:
    outputs = run(
        [
            feed.new(1, "A:1", parent="A:1"),
            feed.new(2, "A:2", parent="A:3"),
            feed.new(3, "A:3", parent="A:2"),
            feed.replace(4, "A:4", "A:4"),
        ],
        finish=True,
    )
    assert summary(outputs) == ["ORPHAN A:1", "ORPHAN A:2", "ORPHAN A:3", "ORPHAN A:4"]


def test_a_new_below_a_closed_order_is_open(feed: Feed) -> None:
    events = [feed.new(1, "A:1"), feed.cancel(2, "A:1"), feed.new(3, "B:1", parent="A:1")]
    assert statuses(run(events)) == {"A:1": "CANCELLED", "B:1": "NEW"}


def test_an_overfill_of_a_closed_order_is_one(feed: Feed) -> None:
    events = [feed.new(1, "A:1"), feed.cancel(2, "A:1"), feed.execution(3, "A:1", "A:x", "101")]
    assert summary(run(events)) == ["A:1 v1", "A:1 v2", "OVERFILL A:3", "A:1 v3"]


def test_an_event_without_what_its_kind_needs_is_a_programming_error(feed: Feed) -> None:
    with pytest.raises(TypeError, match="lacks a field"):
        run([replace(feed.bust(1, "A:x"), exec_id=None)])
