"""A job on Spark that fails and begins again: its metrics count each record once."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.functions import MapFunction, RuntimeContext
from headrace.runners.reporters.log import LOGGER
from tests.metrics.jobs import FLINKS

RECORDS = 100


class FailsSixTimes(MapFunction):
    """Counts records, and fails at one of them: Spark itself tries a task four times."""

    def __init__(self, failures: Path) -> None:
        self._failures = failures

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_metrics_group().counter("seen")

    def map(self, value: int) -> int:
        self.seen.inc()
        if value == 57 and len(self._failures.read_text()) < 6:
            with self._failures.open("a") as file:
                file.write("x")
            raise OSError("not now")
        return value


@pytest.mark.spark
def test_each_record_is_counted_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    failures = tmp_path / "failures"
    failures.write_text("")
    configuration = Configuration.from_dict(
        {
            "parallelism.default": "2",
            "execution.checkpointing.dir": str(tmp_path / "checkpoint"),
            "headrace.source.max-records-per-batch": "20",
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "3",
            "restart-strategy.fixed-delay.delay": "10 ms",
            "metrics.reporter.log.factory.class": f"{FLINKS}.slf4j.Slf4jReporterFactory",
            "metrics.reporter.log.interval": "1 h",
            "metrics.scope.operator": "<operator_name>.<task_attempt_num>",
        }
    )
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    numbers = env.from_sequence(0, RECORDS - 1).uid("numbers").map(FailsSixTimes(failures))
    keyed = numbers.uid("checked").key_by(lambda n: n % 3).reduce(lambda a, b: a + b).uid("sums")
    keyed.filter(lambda n: n < 0).print()
    with caplog.at_level(logging.INFO, LOGGER):
        client = env.execute_async("restarts")
        client.get_job_execution_result().result()
    assert failures.read_text() == "xxxxxx"
    found = client.get_metrics().result()
    for operator, name in (
        ("numbers", "numRecordsOut"),
        ("checked", "seen"),
        ("sums", "numRecordsIn"),
    ):
        assert sum(each.get(name, 0) for each in found[operator].values()) == RECORDS, operator
    assert set(found["sums"]) == {0, 1}
    (report,) = [each.getMessage() for each in caplog.records if each.name == LOGGER]
    lines = dict(line.rpartition(": ")[::2] for line in report.splitlines() if ": " in line)
    (restarts,) = [value for name, value in lines.items() if name.endswith("restarts.numRestarts")]
    assert restarts == "1"
    assert any(name.startswith("Map.1.") for name in lines)
    own = {name.rpartition(".")[2]: value for name, value in lines.items()}
    committed = int(own["numberOfCompletedCheckpoints"])
    assert committed >= RECORDS / 20
    assert int(own["totalNumberOfCheckpoints"]) == committed + 1
    assert own["numberOfInProgressCheckpoints"] == "0"
    assert own["numRegisteredTaskManagers"] == "1" and int(own["taskSlotsTotal"]) >= 1
