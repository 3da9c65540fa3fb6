"""The trade job on a real broker: a backfill, live from there, and as a batch, beside what the
oracle computes.
"""

from __future__ import annotations

import json
import urllib.request
from collections import Counter
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

pytest.importorskip("confluent_kafka", reason="missing: pip install 'headrace[kafka]'")
pytest.importorskip("fastavro", reason="missing: pip install 'headrace[avro]'")

from headrace.datastream.formats.avro import AvroDeserializationSchema
from headrace.demo.trades import generator
from headrace.demo.trades.kafka import run
from headrace.demo.trades.kafka.job import Brokers
from headrace.demo.trades.kafka.topics import FEED_TOPICS
from tests.connectors.topic import content
from tests.oracle import trades_oracle

pytestmark = pytest.mark.spark


@pytest.mark.capability("Backfill from Kafka that hands over to the stream", runners="streaming")
@pytest.mark.capability("Avro with a schema registry", runners="batch, streaming")
@pytest.mark.capability("Kafka to Kafka, exactly once", runners="batch, streaming")
def test_a_day_sent_live(kafka_servers: str, registry_url: str, tmp_path: Path) -> None:
    day, shown = tmp_path / "day", StringIO()
    generator.generate(day, events=2_000, seed=105)
    brokers = Brokers(kafka_servers, registry_url)
    status = run.compare_runs(
        brokers,
        day,
        tmp_path / "work",
        rate=500,
        console=Console(file=shown),
        display=False,
        backfill=True,
    )
    assert status == 0, shown.getvalue()
    assert "final documents are equal in stream and batch" in shown.getvalue()
    assert "backfill: 1,0" in shown.getvalue()
    assert "p50 -" not in shown.getvalue().partition("from event to document")[2]

    wanted = trades_oracle.run(day)
    read = AvroDeserializationSchema(registry=registry_url).deserialize
    for suffix in ("", ".batch"):
        # The topic is compacted: only the last document of a root is sure to be there.
        messages = content(kafka_servers, f"orders{suffix}")
        assert {m.key().decode(): read(m.value()) for m in messages} == wanted.final
        found = [read(message.value()) for message in content(kafka_servers, f"anomalies{suffix}")]
        assert Counter((each["kind"], each["event_id"]) for each in found) == Counter(
            (each["kind"], each.get("event_id")) for each in wanted.anomalies
        )
        for each in found:
            if each["kind"] == "MALFORMED":
                topic, _, partition = each["source"].rpartition("-")
                assert topic in FEED_TOPICS and int(partition) < 2 and each["raw"]
    with urllib.request.urlopen(f"{registry_url}/subjects", timeout=10) as answer:
        subjects = set(json.load(answer))
    assert {f"{name}-value" for name in ("gamma.avro", *run.STREAM.topics)} <= subjects
