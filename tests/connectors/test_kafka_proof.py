"""``make proof-kafka`` ends when its broker does not come up again; it used to wait."""

from __future__ import annotations

import multiprocessing
import random
import sys
from pathlib import Path

import pytest

pytest.importorskip("confluent_kafka", reason="missing: pip install 'headrace[kafka]'")

from headrace.dev.service import Service
from tests.proof import driver
from tests.proof.driver import BrokerLost, Driver, Worker
from tests.proof.kafka import KilledBroker
from tests.proof.worker import Place, Task
from tests.servers import Server


def test_a_broker_that_does_not_come_up_again_ends_all_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "_LOOK_S", 0.01)
    command = [sys.executable, "-c", "raise SystemExit('no such luck')"]
    server = Server(Service("kafka", tmp_path, command, "localhost:1", lambda: False))
    broker = KilledBroker(server, random.Random(1))
    for _ in range(2):  # a later kill is noticed at once
        with pytest.raises(BrokerLost, match="after kill 1 the broker is gone: kafka ended with"):
            broker.kill(lambda: None)
    assert "no such luck" in broker.lost and not broker.restarts_s
    ours, theirs = multiprocessing.Pipe()
    other = Driver(Place("", "t", "s", {}), random.Random(1), None, broker)
    other._open[ours] = Worker(None, ours), Task(0, 0, 0)
    with pytest.raises(BrokerLost):
        other._all_answers()
    theirs.close()
    ours.close()
