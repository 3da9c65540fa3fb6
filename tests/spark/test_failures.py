"""The messages for a job on Spark that fails."""

from __future__ import annotations

import os
import re
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration
from headrace.common.job_client import JobClient
from headrace.datastream import MapFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.function import FunctionSink
from headrace.errors import JobError

pytestmark = pytest.mark.spark


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"parallelism.default": "2"})
    )


def leaves(value: int) -> int:
    sys.exit(value)


def dies(value: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return value


def imports(value: int) -> int:
    import refdata  # type: ignore[import-not-found]

    return int(refdata.of(value))


@pytest.mark.parametrize(
    ("function", "kind", "message", "text"),
    [
        (leaves, JobError, r"sys\.exit\(1\)", "operator: leaves"),
        (dies, JobError, "a Python worker of Spark died", "because memory is short"),
        (imports, ModuleNotFoundError, "refdata", "spark.submit.pyFiles"),
    ],
)
def test_how_a_function_ends_a_job(
    function: Callable[[int], int], kind: type[Exception], message: str, text: str
) -> None:
    env = environment()
    env.from_collection([1]).map(function).name(function.__name__).print()
    with pytest.raises(kind, match=message) as raised:
        env.execute("ends")
    assert text in "".join(traceback.format_exception_only(raised.value))
    assert "runId" not in str(raised.value)


def test_a_failing_sink_is_named() -> None:
    def write(values: list[int]) -> None:
        raise OSError("full")

    env = environment()
    env.from_collection([1]).sink_to(FunctionSink(write)).name("ledger").uid("out")
    with pytest.raises(OSError, match="full") as raised:
        env.execute("sink")
    assert "sink:     ledger (uid=out), built at " in raised.value.__notes__[0]
    assert "in write" in "".join(traceback.format_tb(raised.value.__traceback__))


class FailsOnce(MapFunction):
    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_metrics_group().counter("seen")

    def map(self, value: int) -> int:
        self.seen.inc()
        if value == 7 and not self._marker.exists():
            self._marker.touch()
            raise OSError("the first attempt")
        return value


def test_a_task_that_spark_tries_again_counts_once_and_is_told_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    env = environment()
    numbers = env.from_sequence(0, 9).map(FailsOnce(tmp_path / "one")).name("one")
    keyed = numbers.key_by(lambda n: n % 2).map(FailsOnce(tmp_path / "two")).name("two")
    keyed.print()
    client: JobClient = env.execute_async("retried")
    counted = client.get_job_execution_result().result().get_all_accumulator_results()
    assert (tmp_path / "one").exists() and (tmp_path / "two").exists()
    assert {name: counted[f"{name}.seen"] for name in ("one", "two")} == {"one": 10, "two": 10}
    told = re.findall(
        r"headrace: (a|\d+) tasks? of Spark's job \d+ failed", capsys.readouterr().err
    )
    assert sum(1 if number == "a" else int(number) for number in told) == 2
