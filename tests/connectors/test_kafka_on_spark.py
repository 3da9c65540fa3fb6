"""From Kafka to Kafka on Spark, which is killed when a task has committed its transaction."""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("confluent_kafka", reason="missing: pip install 'headrace[kafka]'")

from headrace.datastream.connectors._kafka.client.librdkafka import LibrdkafkaClients
from headrace.datastream.connectors._kafka.client.properties import Properties
from tests.connectors.kafka_job import SECRET
from tests.connectors.opened import lines
from tests.connectors.topic import content, new_topic, transactions
from tests.faults.processes import log_of, start
from tests.faults.sums_job import KEYS

pytestmark = [
    pytest.mark.spark,
    pytest.mark.fault,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc (Linux)"),
]

RECORDS = 200


@pytest.mark.capability("Kafka to Kafka, exactly once", runners="streaming")
@pytest.mark.timeout(300)
def test_every_record_counts_once_and_in_order(kafka_servers: str, tmp_path: Path) -> None:
    """Two partitions, each with the numbers of its own keys, between transactions."""
    topic, output = new_topic(kafka_servers, 2), new_topic(kafka_servers, 3)
    for partition in range(2):
        mine = [n for n in range(RECORDS) if n % KEYS % 2 == partition]
        transactions(kafka_servers, topic, partition, [b"%d" % n for n in mine])
    arguments = [str(tmp_path), kafka_servers, topic, output]
    runs = [start("tests.connectors.kafka_job", *arguments).wait(timeout=140) for _ in range(2)]
    assert runs[0] != 0 and runs[1] == 0, log_of(tmp_path)
    assert (tmp_path / "killed").exists()
    written = [json.loads(message.value()) for message in content(kafka_servers, output)]
    assert len(written) == RECORDS
    for key in range(KEYS):
        wanted = [sum(range(key, n + 1, KEYS)) for n in range(key, RECORDS, KEYS)]
        assert [total for each, total in written if each == key] == wanted
    checkpoint = [path for path in (tmp_path / "checkpoint").rglob("*") if path.is_file()]
    assert checkpoint and not any(SECRET.encode() in path.read_bytes() for path in checkpoint)
    assert SECRET not in log_of(tmp_path)

    clients = LibrdkafkaClients(kafka_servers, None, None, Properties())
    cluster, partitions = clients.cluster(), [(topic, 0), (topic, 1)]
    assert cluster.committed_offsets(topic, partitions) == cluster.latest_offsets(
        partitions
    )  # no lag is left
    cluster.close()

    consumers = lines(tmp_path / "consumers")
    assert len(consumers) == len({*consumers})  # a process opens one for each partition it reads
    producers = [line.split() for line in lines(tmp_path / "producers")]
    for partition in range(2):
        opened_by = [process for process, name in producers if name.endswith(f"-{partition}")]
        # A process opens another one only after somebody else has written the partition.
        assert opened_by and all(one != other for one, other in pairwise(opened_by))
