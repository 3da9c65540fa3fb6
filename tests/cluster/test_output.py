"""What functions print and log on a cluster reaches the log of the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.commands import by_headrace, spark_defaults, start
from tests.cluster.standalone import Cluster

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = Path(__file__).parent / "programs" / "printing.py"


@pytest.mark.timeout(300)
def test_output_comes_with_operator_and_task(cluster: Cluster, tmp_path: Path) -> None:
    spark_defaults(tmp_path / "conf", spark_cores_max="1")
    command = by_headrace("--master", cluster.url, str(PROGRAM), str(tmp_path / "checkpoint"))
    program = start(tmp_path, command)
    assert program.wait(timeout=250) == 1
    log = Path(f"{tmp_path}.log").read_text()
    lines = log.splitlines()
    looked = [line for line in lines if "looking at" in line]
    assert looked == [f"[look, task 0] looking at {number}" for number in (1, 2, 3)], log[-3000:]
    compared = [line for line in lines if "comparing" in line]
    assert compared == [
        f"INFO shop.prices: [largest, task 0] comparing {number}" for number in (2, 3)
    ]
    # A task that fails brings its last lines, each once, though Spark tries it again. Task 0 reads
    # nothing: it announces the splits.
    checked = [line for line in lines if "checking" in line]
    assert checked == [f"[check, task 1] checking {number}" for number in (1, 2, 3)]
    assert log.rstrip().splitlines().index("ValueError: 3 is refused") > lines.index(checked[-1])
