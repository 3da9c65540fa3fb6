"""A script whose records, keys, state and errors are of classes of its own.

And what other users of the machine see of it: it takes a session of its own to look at.
"""

from __future__ import annotations

import os
import re
import stat
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
        "headrace.spark.conf.spark.hadoop.secret": "s3cret é",
        "headrace.spark.conf.spark.driver.extraJavaOptions": "-Dsecret='s3cret of java'",
        "headrace.spark.conf.spark.driver.memory": "900m",
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

PUBLIC = """
from pathlib import Path

from pyspark.sql import SparkSession

spark = SparkSession.getActiveSession()
java = spark._jvm.java.lang
print("driver", spark.conf.get("spark.hadoop.secret"), java.System.getProperty("secret"))
print("memory", java.Runtime.getRuntime().maxMemory() >> 20 < 1000)
for key in ("theirs", "default"):
    print(key, spark.conf.get(f"spark.{key}"))

lines = []
for path in Path("/proc").glob("[0-9]*/cmdline"):
    try:
        lines.append(path.read_bytes())
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        pass
print("lines", any(b"SparkSubmit" in line for line in lines), [x for x in lines if b"s3cret" in x])
"""

SAID = """\
STREAMING Order(number=100, side=<Side.SELL: 2>)
BATCH Order(number=100, side=<Side.SELL: 2>)
STREAMING Order(number=100, side=<Side.SELL: 2>, venue='X')
refused Order(number=0, side=<Side.BUY: 1>)
driver s3cret é s3cret of java
memory True
theirs of the user
default of the file
lines True []
"""


def test_classes_of_the_script(tmp_path: Path) -> None:
    script = tmp_path / "orders.py"
    script.write_text(SCRIPT + PUBLIC)
    (tmp_path / "spark-defaults.conf").write_text("spark.default of the file\nspark.theirs no\n")
    environment = {
        **os.environ,
        "TMPDIR": str(tmp_path),
        "SPARK_CONF_DIR": str(tmp_path),
        "PYSPARK_SUBMIT_ARGS": "--conf 'spark.theirs=of the user' pyspark-shell",
    }
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environment
    )
    assert (done.stdout, done.returncode) == (SAID, 0), done.stderr
    # The job has failed, so the log stays. The error named the record: it need not be there.
    (log,) = tmp_path.glob("headrace-*/*")
    assert [stat.S_IMODE(path.stat().st_mode) for path in (log, log.parent)] == [0o600, 0o700]
    assert set(re.findall("^record: .*", log.read_text(), re.M)) == {"record:   ***"}
