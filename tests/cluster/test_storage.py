"""A cluster whose executors share nothing with the driver but a storage's URL."""

from __future__ import annotations

from collections import defaultdict
from itertools import accumulate
from pathlib import Path

import pytest

from headrace.common._storage.locations import file_system_of
from tests.cluster.commands import ROOT, by_headrace, spark_defaults, start
from tests.cluster.programs.stored import KEYS
from tests.cluster.standalone import Cluster
from tests.faults.processes import log_of
from tests.storage.servers import Storage

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.proof, pytest.mark.timeout(600)]

NUMBERS = 600


def check(lines: list[str]) -> None:
    """Each number is there once, and each sum is that of the numbers before."""
    by_key: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for line in lines:
        key, count, number, total = map(int, line.split())
        by_key[key].append((count, number, total))
    assert sorted(number for found in by_key.values() for _, number, _ in found) == [
        *range(NUMBERS)
    ]
    for key, found in by_key.items():
        counts, numbers, totals = zip(*sorted(found), strict=True)
        assert {number % KEYS for number in numbers} == {key}
        assert [*counts] == [*range(1, len(found) + 1)]
        assert [*totals] == [*accumulate(numbers)]


def test_input_state_and_output_are_on_a_storage(
    cluster: Cluster, storage: Storage, base: str, tmp_path: Path
) -> None:
    files = file_system_of(base)
    for name in range(3):
        numbers = range(name * NUMBERS // 3, (name + 1) * NUMBERS // 3)
        text = "".join(f"{number}\n" for number in numbers)
        files.replace(f"{base}/in/{name}.txt", text.encode())
    conf = dict(storage.spark)
    if "spark.driver.extraClassPath" in conf:  # the executors need the libraries as well
        conf["spark.executor.extraClassPath"] = conf["spark.driver.extraClassPath"]
    conf |= {f"spark.hadoop.{key}": value for key, value in storage.hadoop.items()}
    spark_defaults(tmp_path / "conf", **conf)
    program = ROOT / "tests" / "cluster" / "programs" / "stored.py"
    job = start(tmp_path, by_headrace("--master", cluster.url, str(program), base))
    assert job.wait(timeout=400) == 0, log_of(tmp_path)
    log = Path(f"{tmp_path}.log").read_text()
    assert f"'stored' runs on {cluster.url} with 2 cores, Spark" in log, log[-3000:]
    assert f"its checkpoint is {base}/checkpoint/stored" in log
    parts = [each.path for each in files.all_files(f"{base}/out") if "/part-" in each.path]
    lines = [line for path in parts for line in (files.read(path) or b"").decode().splitlines()]
    check(lines)
    micro_batches = files.names(f"{base}/checkpoint/stored/spark/commits")
    assert sum(name.isdigit() for name in micro_batches) >= 4
