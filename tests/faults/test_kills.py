"""kill -9 of the driver, of Python workers and of executors: the same documents in the end."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

import pytest

from headrace.demo.trades import generator
from tests.faults.processes import executors, kill, log_of, python_workers, start
from tests.trades.results import assert_equal_to_the_oracle

pytestmark = [
    pytest.mark.spark,
    pytest.mark.fault,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc (Linux)"),
]

JOB = "tests.faults.trades_job"
LONGEST_SECONDS = 900


@pytest.mark.timeout(LONGEST_SECONDS + 60)
@pytest.mark.parametrize(
    ("kills", "killed_drivers", "events"),
    [(6, 2, 3_600), pytest.param(20, 4, 24_000, marks=pytest.mark.proof)],
)
def test_kills_of_drivers_and_workers(
    kills: int, killed_drivers: int, events: int, tmp_path: Path
) -> None:
    seed = random.SystemRandom().randrange(1_000_000)
    print(f"seed {seed}")  # shown when the test fails
    rng = random.Random(seed)
    day, output = tmp_path / "day", tmp_path / "out"
    generator.generate(day, events=events, seed=seed)
    killed: list[str] = []
    deadline = time.monotonic() + LONGEST_SECONDS
    job = start(JOB, str(output), str(day), "headrace.source.max-records-per-batch=300")
    try:
        while True:
            assert time.monotonic() < deadline, f"{killed}\n{log_of(output)}"
            time.sleep(rng.uniform(0.2, 1.5))
            code = job.poll()
            if code == 0:
                break
            if code is not None:  # killed, or ended by what was killed
                job = start(JOB, *job.args[3:])  # type: ignore[index]
                continue
            workers = python_workers(job.pid)
            if len(killed) >= kills or not workers:
                continue
            drivers = killed.count("driver")
            at_work = len(killed) - drivers
            most = (drivers + 1) * (kills - killed_drivers) // (killed_drivers + 1)
            if drivers < killed_drivers and at_work >= most:
                kill(job.pid)
                job.wait()
                killed.append("driver")
            else:
                worker = rng.choice(workers)
                if kill(worker.pid):
                    killed.append(worker.command.split(" -m ")[1].strip())
    finally:
        if job.poll() is None:
            job.kill()
            job.wait()
    print(killed)
    assert len(killed) >= kills and killed.count("driver") == killed_drivers, killed
    assert_equal_to_the_oracle(day, output)


@pytest.mark.timeout(360)
def test_one_of_two_executors_killed(tmp_path: Path) -> None:
    day, output = tmp_path / "day", tmp_path / "out"
    generator.generate(day, events=2_400, seed=31)
    job = start(
        JOB,
        str(output),
        str(day),
        "headrace.source.max-records-per-batch=600",
        "headrace.spark.conf.spark.master=local-cluster[2,1,1024]",
        "headrace.spark.conf.spark.executor.memory=1g",
    )
    deadline = time.monotonic() + 300
    states = Path(f"{output}-checkpoint") / "trades" / "spark" / "commits"
    killed = 0
    try:
        while job.poll() is None:
            assert time.monotonic() < deadline, log_of(output)
            time.sleep(0.2)
            running = executors(job.pid)
            if not killed and len(running) == 2 and states.exists() and len(list(states.iterdir())):
                killed += kill(random.Random(31).choice(running).pid)
    finally:
        if job.poll() is None:
            job.kill()
            job.wait()
    assert job.returncode == 0, log_of(output)
    assert killed == 1
    assert_equal_to_the_oracle(day, output)
