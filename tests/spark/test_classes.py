"""A script whose records, keys, state and errors are of classes of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

SCRIPT = """
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from headrace.common import Configuration
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.state import ValueStateDescriptor


class Side(Enum):
    BUY = 1
    SELL = 2


class Count(NamedTuple):
    orders: int
    shares: int


@dataclass
class Order:
    number: int
    side: Side


class Refused(Exception):
    pass


class Counting(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, order, ctx):
        before = self.count.value() or Count(0, 0)
        assert isinstance(order, Order) and isinstance(before, Count)
        self.count.update(Count(before.orders + 1, before.shares + order.number))
        yield Order(self.count.value().shares, ctx.get_current_key())


def run(mode, orders):
    settings = {
        "execution.runtime-mode": mode,
        "parallelism.default": "2",
        "headrace.source.max-records-per-batch": "10",
    }
    configuration = Configuration.from_dict(settings)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    stream = env.from_collection(orders).key_by(lambda order: order.side).process(Counting())
    with stream.execute_and_collect() as found:
        last = max(found, key=lambda order: order.number)
    assert type(last) is Order
    print(mode, last)


orders = [Order(number, Side(number % 2 + 1)) for number in range(20)]
run("STREAMING", orders)
run("BATCH", orders)


@dataclass
class Order:  # as a notebook's cell run again
    number: int
    side: Side
    venue: str = "X"


run("STREAMING", [Order(number, Side(number % 2 + 1)) for number in range(20)])


def refuse(order):
    raise Refused(order)


env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection(orders[:1]).map(refuse).print()
try:
    env.execute()
except Refused as error:
    print("refused", error)
"""

SAID = """\
STREAMING Order(number=100, side=<Side.SELL: 2>)
BATCH Order(number=100, side=<Side.SELL: 2>)
STREAMING Order(number=100, side=<Side.SELL: 2>, venue='X')
refused Order(number=0, side=<Side.BUY: 1>)
"""


def test_classes_of_the_script(tmp_path: Path) -> None:
    script = tmp_path / "orders.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == (SAID, 0), done.stderr
