"""From a real broker to files on Spark, which is killed and goes on."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

from headrace.datastream.formats.avro import AvroSerializationSchema
from tests.connectors.kafka_job import FIRST, LATER, SECRET
from tests.faults.processes import log_of, start
from tests.faults.sums_job import KEYS

pytest.importorskip("confluent_kafka", reason="missing: pip install 'headrace[kafka]'")

pytestmark = [
    pytest.mark.spark,
    pytest.mark.fault,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc (Linux)"),
]

RECORDS = 200


def test_every_record_counts_once(kafka_servers: str, registry_url: str, tmp_path: Path) -> None:
    """Two partitions, each with the numbers of its own keys, between transactions.

    The micro-batch that is repeated is decoded as before, though the subject has another schema.
    """
    from tests.connectors.topic import new_topic, transactions

    topic, output = new_topic(kafka_servers, 2), tmp_path / "out"
    writes = AvroSerializationSchema(FIRST, registry_url).for_topic(topic)
    for partition in range(2):
        mine = [n for n in range(RECORDS) if n % KEYS % 2 == partition]
        values = [writes.serialize({"number": n}) for n in mine]
        transactions(kafka_servers, topic, partition, values, size=30)
    runs = []
    for _ in range(2):
        job = start("tests.connectors.kafka_job", str(output), kafka_servers, topic, registry_url)
        runs.append(job.wait(timeout=120))
        later = AvroSerializationSchema(LATER, registry_url).for_topic(topic)
        later.serialize({"number": 0})
    assert runs[0] != 0 and runs[1] == 0, log_of(output)
    assert Path(f"{output}-killed").exists()
    written = Counter(
        line
        for path in output.rglob("part-*")
        if path.is_file()
        for line in path.read_text().splitlines()
    )
    assert written == Counter(
        str((n % KEYS, sum(range(n % KEYS, n + 1, KEYS)))) for n in range(RECORDS)
    )
    checkpoint = [path for path in Path(f"{output}-checkpoint").rglob("*") if path.is_file()]
    assert checkpoint and not any(SECRET.encode() in path.read_bytes() for path in checkpoint)
    assert SECRET not in log_of(output)
