"""A call that failed in a worker of Spark is made again without Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.state import ListStateDescriptor

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
REPLAY = """
import sys
from headrace.cli import main
try:
    main()
finally:
    print("Spark:", "pyspark" in sys.modules)
"""


class Rising(KeyedProcessFunction):
    """Fails at a value below the one before it, which it finds in its state."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        before = [reading["value"] for reading in self.seen.get()]
        if before and value["value"] < before[-1]:
            raise ValueError(f"{value['value']} comes after {before}")
        self.seen.add(value)
        yield value["value"]


def test_a_stream_that_fails_in_its_third_micro_batch(tmp_path: Path) -> None:
    settings = {
        "parallelism.default": "2",
        "headrace.source.max-records-per-batch": "2",
        "headrace.failure.capture-dir": str(tmp_path / "failed"),
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    sent = [("a", 1), ("b", 11), ("a", 2), ("b", 12), ("a", 0), ("b", 13)]
    readings = env.from_collection([{"sensor": name, "value": value} for name, value in sent])
    stream = readings.key_by(lambda reading: reading["sensor"])
    stream.process(Rising()).name("rising").uid("rising").print()
    with pytest.raises(ValueError, match="0 comes after") as raised:
        env.execute("sensors")
    (file,) = (tmp_path / "failed").glob("*.headrace-call")
    of_operator, of_file, *_ = raised.value.__notes__
    assert f"replay:   headrace replay {file}" in of_file

    done = subprocess.run(
        [sys.executable, "-c", REPLAY, "replay", str(file)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stderr
    assert "operator: rising" in done.stdout
    assert "Spark: False" in done.stdout
    assert "ValueError: 0 comes after [1, 2]" in done.stderr
    assert of_operator in done.stderr
    assert "key:      'a'" in of_operator
    assert "record:   {'sensor': 'a', 'value': 0}" in of_operator
    assert "in process_element" in done.stderr
