"""What Spark's own page and listeners show of a job, in a process whose Spark has a page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = """
import json, sys, time
from urllib.request import urlopen
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQueryListener
from headrace.common import Configuration, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource

class Progress(StreamingQueryListener):
    def __init__(self):
        self.seen = []
    def onQueryStarted(self, event):
        pass
    def onQueryProgress(self, event):
        self.seen.append(json.loads(event.progress.json))
    def onQueryTerminated(self, event):
        pass

settings = {
    "parallelism.default": "1",
    "headrace.source.max-records-per-batch": "20",
    "headrace.spark.conf.spark.ui.enabled": "true",
    "headrace.spark.conf.spark.ui.port": "0",
}
env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
with env.from_sequence(1, 1).execute_and_collect() as first:
    assert [*first] == [1]
spark = SparkSession.getActiveSession()
progress = Progress()
spark.streams.addListener(progress)

def source(name, count):
    numbers = DataGeneratorSource(lambda n: n, count)
    return env.from_source(numbers, WatermarkStrategy.no_watermarks(), name)

orders = source("orders", 30).map(lambda n: n).name("parse")
totals = orders.union(source("prices", 50)).key_by(lambda n: n % 2).reduce(max).name("totals")
with totals.filter(lambda n: True).name("large").execute_and_collect("shop") as found:
    assert len([*found]) == 80
end = time.monotonic() + 30
while sum(each["numInputRows"] > 0 for each in progress.seen) < 4:
    assert time.monotonic() < end, progress.seen
    time.sleep(0.1)
page = f"{spark.sparkContext.uiWebUrl}/api/v1/applications/{spark.sparkContext.applicationId}"

def shown(path):
    with urlopen(f"{page}/{path}") as answer:
        return json.load(answer)

plans = shown("sql?details=true&planDescription=true&length=1000")
print(json.dumps({
    "plans": [(each["description"], each["planDescription"]) for each in plans],
    "jobs": [each["description"] for each in shown("jobs")],
    "progress": progress.seen,
}))
"""


SOURCES = (
    "Source: orders -> Timestamps/Watermarks(orders) -> parse,"
    " Source: prices -> Timestamps/Watermarks(prices)"
)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Run the program, and return what it has seen."""
    folder = tmp_path_factory.mktemp("shown")
    (folder / "job.py").write_text(PROGRAM)
    ours = [path for path in sys.path if path and "python3" not in path]
    done = subprocess.run(
        [sys.executable, "job.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(ours)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_plans_name_the_chains(shown: Any) -> None:
    plan = next(text for name, text in shown["plans"][::-1] if name.startswith("shop-"))
    assert f"{SOURCES}, [" in plan, plan
    assert "totals -> large(bucket" in plan, plan


def test_jobs_name_the_query_and_the_micro_batch(shown: Any) -> None:
    (last,) = [name for name in shown["jobs"] if name.startswith("shop-") and "batch = 2" in name]
    assert len(last.splitlines()) == 4


def test_a_listener_sees_the_records_of_each_source(shown: Any) -> None:
    batches = [each for each in shown["progress"] if each["observedMetrics"]]
    assert len(batches) >= 4
    for batch in batches:
        assert [*batch["observedMetrics"]] == [SOURCES]
    counts = [counts for batch in batches for counts in batch["observedMetrics"].values()]
    assert sum(count["orders"] for count in counts) == 30
    assert sum(count["prices"] for count in counts) == 50
    (source,) = batches[0]["sources"]
    available = source["latestOffset"]
    assert {name: each["splits"] for name, each in available.items()} == {"orders": 1, "prices": 1}
    left = sum(each["pendingRecords"] for each in available.values())
    assert left == 80 - sum(counts[0].values())
