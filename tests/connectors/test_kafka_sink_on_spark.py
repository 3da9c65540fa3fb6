"""The Kafka sink on Spark, which is killed when a task has committed its transaction."""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.connectors.killed_job import FIRST, KEYS
from tests.connectors.test_sqlite_log import make_log
from tests.faults.processes import log_of, start

pytest.importorskip("confluent_kafka", reason="missing: pip install 'headrace[kafka]'")

from tests.connectors.opened import lines
from tests.connectors.topic import content, new_topic

pytestmark = [
    pytest.mark.spark,
    pytest.mark.fault,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc (Linux)"),
]

RECORDS = 300


@pytest.mark.timeout(300)
def test_every_record_counts_once_and_in_order(kafka_servers: str, tmp_path: Path) -> None:
    make_log(tmp_path / "given.db", range(1, RECORDS + 1))
    topic = new_topic(kafka_servers, 3)
    arguments = [str(tmp_path), kafka_servers, topic]
    runs = [
        start("tests.connectors.killed_kafka_job", *arguments).wait(timeout=140) for _ in range(2)
    ]
    assert runs[0] != 0 and runs[1] == 0, log_of(tmp_path)
    assert (tmp_path / "killed").exists()
    written = [json.loads(message.value()) for message in content(kafka_servers, topic)]
    assert len(written) == RECORDS - FIRST + 1
    for key in range(KEYS):
        totals = [0, *(total for each, total in written if each == key)]
        added = sorted(after - before for before, after in pairwise(totals))
        assert added == [n for n in range(FIRST, RECORDS + 1) if n % KEYS == key]
    producers = [line.split() for line in lines(tmp_path / "producers")]
    for partition in range(2):
        opened_by = [process for process, name in producers if name.endswith(f"-{partition}")]
        # A process opens another one only after somebody else has written the partition.
        assert opened_by and all(one != other for one, other in pairwise(opened_by))
