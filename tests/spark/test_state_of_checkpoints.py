"""The state of checkpoints and restore points as tables, without a savepoint."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Encoder, Types, WatermarkStrategy
from headrace.datastream.connectors.file_system import FileSink
from headrace.errors import CheckpointError, CheckpointLockedError, UnsupportedError
from headrace.runners.spark.checkpoint.layout import CheckpointFolder
from headrace.runners.spark.checkpoint.retained import RestorePoint, restore_points
from headrace.state import Savepoint, SavepointWriter
from tests.spark import test_savepoints as tallies
from tests.spark.test_state_tables import headrace, rows

pytestmark = pytest.mark.spark


def first_restore_point(folder: CheckpointFolder, client: Any) -> RestorePoint:
    deadline = time.monotonic() + 90
    while not (found := restore_points(folder)):
        assert time.monotonic() < deadline and not client.get_job_execution_result().done()
        time.sleep(0.05)
    return found[0]


def check_is_of_one_moment(state: Savepoint) -> None:
    """The state is that of all numbers up to the position of the source."""
    ((position,),) = rows(state.sources(), "position")
    read = range(json.loads(position))
    totals = dict(rows(state.read("tally", "total"), "key", "value"))
    assert totals == {k: sum(read[k :: tallies.KEYS]) for k in range(tallies.KEYS)}
    seen = rows(state.read("tally", "seen", keys=[3]), "key", "position", "value")
    assert seen == [(3, i, n) for i, n in enumerate(read[3 :: tallies.KEYS])]
    timers = {time_ms for (time_ms,) in rows(state.timers("tally"), "time_ms")}
    assert timers == {(read[-1] // 1_000 + 1) * 1_000}


class Refuses(tallies.Tally):
    def process_element(self, value: Any, ctx: Any) -> Any:
        raise ValueError("no more")


@pytest.mark.timeout(300)
def test_checkpoints_and_restore_points_are_read_like_savepoints(tmp_path: Path) -> None:
    keeping = {
        "execution.checkpointing.interval": "200 ms",
        "execution.checkpointing.num-retained": "100",
    }
    base = str(tmp_path / "checkpoints 0")
    folder = CheckpointFolder.of_job(base, "tallies")
    client = tallies.start(tmp_path, 0, **keeping)
    point = first_restore_point(folder, client)
    tallies.wait_for_batches(client, 1)
    with pytest.raises(CheckpointLockedError, match="a job runs on this checkpoint"):
        Savepoint.load(folder.directory)
    stopped = client.stop_with_savepoint(False, str(tmp_path / "saved")).result()
    check_is_of_one_moment(Savepoint.load(point.folder))
    checkpoint, savepoint = Savepoint.load(folder.directory), Savepoint.load(stopped)
    check_is_of_one_moment(checkpoint)
    assert checkpoint.job == "tallies" and checkpoint.states() == savepoint.states()
    assert [*checkpoint.differences(savepoint)] == []
    code, text = headrace("state", "get", folder.directory, "tally", "total", "3", "--json")
    expected = rows(savepoint.read("tally", "total", keys=[3]), "value")
    assert code == 0 and [(row["value"],) for row in json.loads(text)] == expected
    code, text = headrace("state", "diff", point.folder, stopped, "--limit", "1")
    assert code == 1 and text.startswith("tally seen key")
    with pytest.raises(UnsupportedError, match="cannot be changed"):
        SavepointWriter.from_existing_savepoint(folder.directory)
    with pytest.raises(CheckpointError, match="no savepoint in this folder"):
        Savepoint.load(str(tmp_path))

    # A job that began from the savepoint, and whose first micro-batch failed.
    settings = {tallies.RESTORE: stopped, "restart-strategy.type": "none"}
    env = tallies.environment(tmp_path, 1, **settings)
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v: v)
    numbers = env.from_sequence(0, tallies.RECORDS - 1).uid("numbers")
    keyed = numbers.assign_timestamps_and_watermarks(times).key_by(lambda v: v % tallies.KEYS)
    refused = keyed.process(Refuses(), Types.STRING()).uid("tally")
    sink = FileSink.for_row_format(str(tmp_path / "out"), Encoder.simple_string_encoder()).build()
    refused.sink_to(sink).uid("files")
    with pytest.raises(ValueError, match="no more"):
        env.execute("tallies")
    restored = Savepoint.load(
        CheckpointFolder.of_job(str(tmp_path / "checkpoints 1"), "tallies").directory
    )
    check_is_of_one_moment(restored)
    assert rows(restored.read("tally", "total"), "key", "value") == rows(
        savepoint.read("tally", "total"), "key", "value"
    )


BY_NAME = HTTPStatus.OK.__reduce_ex__(5)[0] is getattr
"""Python 3.11 before 3.11.4 pickles members of enums by name."""

SCRIPT = """
import sys
from dataclasses import dataclass
from enum import Enum

from headrace.common import Configuration
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.state import ListStateDescriptor, ValueStateDescriptor


class Side(Enum):
    BUY = 1
    SELL = 2


@dataclass
class Order:
    number: int
    side: Side


class Book(KeyedProcessFunction):
    def open(self, runtime_context):
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))
        self.orders = runtime_context.get_list_state(ListStateDescriptor("orders"))

    def process_element(self, order, ctx):
        self.last.update(order)
        self.orders.add(order)
        ctx.timer_service().register_processing_time_timer(1 << 45)
        yield order.number


settings = {"execution.checkpointing.dir": sys.argv[1], "parallelism.default": "2"}
env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
orders = [Order(number, Side(number % 2 + 1)) for number in range(20)]
env.from_collection(orders).key_by(lambda order: order.side).process(Book()).uid("book").print()
env.execute("orders")
"""


@pytest.mark.timeout(240)
def test_objects_of_the_script_are_shown_where_its_classes_are_not(tmp_path: Path) -> None:
    script = tmp_path / "orders.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    checkpoint = str(tmp_path / "orders")
    code, text = headrace("state", "show", checkpoint, "book", "last", "--json")
    assert code == 0
    shown = {(row["key"], row["value"]) for row in json.loads(text)}
    sides = ("Side('BUY')", "Side('SELL')") if BY_NAME else ("Side(1)", "Side(2)")
    orders = zip((18, 19), sides, strict=True)
    assert shown == {(side, f"Order(number={number}, side={side})") for number, side in orders}
    code, text = headrace("state", "show", checkpoint, "book", "orders", "--json")
    assert code == 0 and len(json.loads(text)) == 20
    code, text = headrace("state", "timers", checkpoint, "book", "--json")
    assert {row["key"] for row in json.loads(text)} == {*sides}
    assert headrace("state", "sources", checkpoint)[0] == 0
    assert headrace("state", "diff", checkpoint, checkpoint) == (0, "both have the same state\n")
