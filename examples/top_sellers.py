"""Top sellers: from single purchases to the best products of every hour.

    headrace run examples/top_sellers.py            # on Spark
    headrace run examples/top_sellers.py --local    # in this process, without Spark

Purchases of a shop are summed by product and hour. From these totals the job computes two lists:
the three best products of each hour (a function that waits for a timer until the hour is complete),
and the best product of each category (a second window after the first).
"""

import random
import sys
from datetime import UTC, datetime

from headrace.common import Configuration, Duration, Row, Time, Types, WatermarkStrategy
from headrace.datastream import (
    AggregateFunction,
    KeyedProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import ListStateDescriptor
from headrace.datastream.window import TumblingEventTimeWindows

OPENS = int(datetime(2026, 11, 20, 8, tzinfo=UTC).timestamp() * 1000)
HOUR = 3_600_000
DISORDER = 120_000  # a till sends its purchases up to two minutes later

# product: category, price in cents, how well it sells in the four hours from 8 to 12
PRODUCTS = {
    "espresso": ("drinks", 240, (90, 60, 40, 30)),
    "flat white": ("drinks", 390, (70, 65, 45, 30)),
    "orange juice": ("drinks", 450, (20, 25, 35, 45)),
    "croissant": ("bakery", 210, (80, 50, 20, 10)),
    "banana bread": ("bakery", 340, (15, 35, 40, 20)),
    "sourdough loaf": ("bakery", 590, (10, 25, 40, 25)),
    "bagel": ("lunch", 620, (5, 10, 35, 70)),
    "soup of the day": ("lunch", 750, (0, 2, 25, 80)),
    "salad bowl": ("lunch", 890, (0, 3, 20, 65)),
}

PURCHASE = Types.ROW_NAMED(["product", "pieces", "at"], [Types.STRING(), Types.INT(), Types.LONG()])


def purchases():
    """Four hours of purchases, in the order in which they arrive."""
    dice = random.Random(8)
    arriving = []
    for product, (_, _, demand) in PRODUCTS.items():
        for hour, count in enumerate(demand):
            for _ in range(count):
                at = OPENS + hour * HOUR + dice.randrange(HOUR)
                purchase = Row(product=product, pieces=dice.choice((1, 1, 1, 2, 3)), at=at)
                arriving.append((at + dice.randrange(DISORDER), purchase))
    return [purchase for _, purchase in sorted(arriving, key=lambda pair: pair[0])]


class Pieces(AggregateFunction):
    """How many pieces were sold: it keeps one number per product and hour."""

    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value.pieces

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


class Total(ProcessWindowFunction):
    """Adds the product and the hour to the sum."""

    def process(self, key, context, elements):
        category, cents, _ = PRODUCTS[key]
        for pieces in elements:
            yield context.window().end, category, key, pieces, pieces * cents


class TopOfHour(KeyedProcessFunction):
    """The best ``size`` products of an hour. Its key is the end of the hour."""

    def __init__(self, size):
        self.size = size

    def open(self, runtime_context):
        self.totals = runtime_context.get_list_state(
            ListStateDescriptor("totals", Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value, ctx):
        self.totals.add(value)
        # When the watermark has reached the end of the hour, all its totals have arrived.
        ctx.timer_service().register_event_time_timer(ctx.get_current_key())

    def on_timer(self, timestamp, ctx):
        best = sorted(self.totals.get(), key=rank)[: self.size]
        self.totals.clear()
        for place, (end, _, product, pieces, cents) in enumerate(best, start=1):
            yield end, f"{place}.", product, pieces, cents


def rank(total):
    """Sorts by turnover, the greatest first; equal ones by name."""
    return -total[4], total[2]


def best_sellers(purchases):
    """Lines (end of hour, place or category, product, pieces, cents)."""
    totals = (
        purchases.key_by(lambda purchase: purchase.product)
        .window(TumblingEventTimeWindows.of(Time.hours(1)))
        .aggregate(Pieces(), Total())
    )
    top = totals.key_by(lambda total: total[0]).process(TopOfHour(3))
    of_category = (
        totals.key_by(lambda total: total[1])
        .window(TumblingEventTimeWindows.of(Time.hours(1)))
        .reduce(lambda one, other: min(one, other, key=rank))
    )
    return top.union(of_category)


def main():
    target = "local" if "--local" in sys.argv else "spark"
    configuration = Configuration().set_string("execution.target", target)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    times = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(DISORDER)
    ).with_timestamp_assigner(lambda purchase: purchase.at)
    stream = env.from_collection(purchases(), PURCHASE).assign_timestamps_and_watermarks(times)
    hour = None
    with best_sellers(stream).execute_and_collect("top sellers") as lines:
        for end, place, product, pieces, cents in sorted(lines):
            if end != hour:
                hour = end
                print(f"\nfrom {clock(end - HOUR)} to {clock(end)}")
            bar = "█" * (cents // 2_500)
            print(f"  {place:7} {product:16} {pieces:4} pieces  {cents / 100:7.2f} €  {bar}")


def clock(at_ms):
    """The time of the day."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%H:%M")


if __name__ == "__main__":
    main()
