"""Retail sales of the last hour, by shop and product, every half hour, with later corrections.

    headrace run examples/retail_sales.py            # on Spark
    headrace run examples/retail_sales.py --local    # in this process, without Spark

Most sales arrive within a minute. But a sale may be cancelled much later, and the tills of one shop
are offline for a while, and send their sales afterwards. So the result of an hour may change after
it was emitted: the program then emits the new amount, together with the one before. It prints the
last hour and the corrections, and draws retail_sales.svg: that shop's first results, and the
results after all corrections.
"""

import sys
from collections import Counter
from datetime import UTC, datetime
from random import Random
from typing import NamedTuple

from charts import lines
from headrace.common import Configuration, Time, Types, WatermarkStrategy
from headrace.common.watermark_strategy import Watermark, WatermarkGenerator
from headrace.datastream import (
    AggregateFunction,
    OutputTag,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import SlidingEventTimeWindows

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
OPENS_MS = int(datetime(2026, 3, 14, 9, tzinfo=UTC).timestamp() * 1000)
CLOSES_MS = OPENS_MS + 5 * HOUR_MS
SHOPS = {"Harbour": 900, "Old Town": 1_300, "Station": 1_800}  # and their sales of a day
OFFLINE_SHOP, OFFLINE_MS = "Station", (OPENS_MS + 100 * MINUTE_MS, OPENS_MS + 145 * MINUTE_MS)
PRODUCTS = {"notebook": 450, "pen": 320, "postcard": 150, "poster": 1_900}  # cents
TOO_LATE = OutputTag("too late")


class Sale(NamedTuple):
    shop: str
    product: str
    cents: int  # below 0 where a sale is cancelled
    sold_ms: int


def sales(seed=7):
    """A day's sales in the order of their arrival."""
    random = Random(seed)
    arriving = []
    for shop, count in SHOPS.items():
        for _ in range(count):
            product = random.choice(list(PRODUCTS))
            sold_ms = random.randrange(OPENS_MS, CLOSES_MS)
            sale = Sale(shop, product, PRODUCTS[product] * random.randint(1, 3), sold_ms)
            arrives_ms = sold_ms + random.randrange(MINUTE_MS)
            start, end = OFFLINE_MS
            if shop == OFFLINE_SHOP and start <= sold_ms < end:
                arrives_ms = end + random.randrange(MINUTE_MS)
            arriving.append((arrives_ms, sale))
            if random.random() < 0.01:  # cancelled: the same sale with the amount below 0
                later_ms = arrives_ms + random.randrange(100 * MINUTE_MS)
                arriving.append((later_ms, sale._replace(cents=-sale.cents)))
    return [sale for _, sale in sorted(arriving)]


class EverySale(WatermarkGenerator):
    """Makes a watermark after every sale: the greatest timestamp so far, minus one minute."""

    def __init__(self):
        self.latest_ms = 0

    def on_event(self, event, event_timestamp, output):
        if event_timestamp > self.latest_ms:
            self.latest_ms = event_timestamp
            output.emit_watermark(Watermark(event_timestamp - MINUTE_MS))

    def on_periodic_emit(self, output):
        pass


class Turnover(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value.cents

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


class WithPreviousResult(ProcessWindowFunction):
    """Adds the result that the same window gave before; the window's state keeps it."""

    BEFORE = ValueStateDescriptor("before", Types.LONG())

    def process(self, key, context, elements):
        (cents,) = elements
        before = context.window_state().get_state(self.BEFORE)
        shop, product = key
        yield shop, product, context.window().end, before.value(), cents
        before.update(cents)

    def clear(self, context):
        context.window_state().get_state(self.BEFORE).clear()


def last_hour(sales):
    """(shop, product, end of the hour, cents before or None, cents); late sales go to TOO_LATE."""
    return (
        sales.key_by(lambda sale: (sale.shop, sale.product))
        .window(SlidingEventTimeWindows.of(Time.hours(1), Time.minutes(30)))
        .allowed_lateness(40 * MINUTE_MS)
        .side_output_late_data(TOO_LATE)
        .aggregate(Turnover(), WithPreviousResult())
        .uid("last-hour")
    )


def clock(time_ms):
    return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%H:%M}"


def main():
    target = "local" if "--local" in sys.argv else "spark"
    configuration = Configuration().set_string("execution.target", target)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    strategy = WatermarkStrategy.for_generator(EverySale).with_timestamp_assigner(
        lambda sale: sale.sold_ms
    )
    told = last_hour(env.from_collection(sales()).assign_timestamps_and_watermarks(strategy))
    late = told.get_side_output(TOO_LATE).map(
        lambda sale: f"too late: {sale.shop}, {sale.product}, {clock(sale.sold_ms)}"
    )
    late.print().set_parallelism(1)

    first, final, corrections = {}, {}, Counter()
    with told.execute_and_collect("retail sales") as results:
        for shop, product, end_ms, before, cents in results:
            window = end_ms, shop, product
            first.setdefault(window, cents)
            final[window] = cents
            corrections[window] += before is not None
    report(first, final, corrections)
    draw(first, final)


def report(first, final, corrections):
    print(f"\n{clock(CLOSES_MS - HOUR_MS)}-{clock(CLOSES_MS):8}", *map("{:>10}".format, PRODUCTS))
    for shop in SHOPS:
        amounts = (final[CLOSES_MS, shop, product] / 100 for product in PRODUCTS)
        print(f"{shop:14}", *map("{:10,.2f}".format, amounts))
    print(f"\n{corrections.total()} corrections. The greatest changes:")
    for window in sorted(final, key=lambda window: first[window] - final[window])[:3]:
        end_ms, shop, product = window
        before, after = first[window] / 100, final[window] / 100
        print(
            f"{shop}, {product}, {clock(end_ms - HOUR_MS)}-{clock(end_ms)}: {before:,.2f} at first,"
            f" {after:,.2f} after {corrections[window]} corrections"
        )


def draw(first, final):
    def whole_shop(told):
        total = Counter()
        for (end_ms, shop, _), cents in told.items():
            if shop == OFFLINE_SHOP:
                total[end_ms] += cents / 100
        return sorted(total.items())

    chart = lines(
        f"{OFFLINE_SHOP}: sales of the last hour",
        {"after all corrections": whole_shop(final), "as told at first": whole_shop(first)},
        dashed=["as told at first"],
        y_title="euros",
        x_text=clock,
        x_ticks=range(OPENS_MS, CLOSES_MS + HOUR_MS, HOUR_MS),
    )
    with open("retail_sales.svg", "w") as file:
        file.write(chart)
    print("drawn: retail_sales.svg")


if __name__ == "__main__":
    main()
