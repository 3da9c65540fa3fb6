"""``python -m tests.connectors.killed_kafka_job FOLDER SERVERS TOPIC``: sums from a log to Kafka.

The JVM is killed once, in the third micro-batch, when a task has committed its transaction and
Spark does not know of it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.common import Configuration, SimpleStringSchema, WatermarkStrategy
from headrace.connector import DeliveryGuarantee, SinkWriter, WriterContext
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink
from headrace.datastream.connectors.kafka.properties import Properties
from tests.connectors.killed_job import FIRST, KEYS
from tests.connectors.opened import NotedProducers
from tests.connectors.sqlite_log import SqliteLogSource
from tests.faults.processes import kill_jvm_once

BATCH = 2


class Json(SimpleStringSchema):
    def serialize(self, value: Any) -> bytes:
        return json.dumps(value).encode()


class Key(SimpleStringSchema):
    def serialize(self, value: Any) -> bytes:
        return str(value[0]).encode()


def main() -> None:
    folder, servers, topic = Path(sys.argv[1]), *sys.argv[2:]
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(
            {
                "parallelism.default": "2",
                "headrace.source.max-records-per-batch": "60",
                "execution.checkpointing.dir": str(folder / "checkpoint"),
                "headrace.spark.conf.spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
            }
        )
    )
    source = SqliteLogSource(str(folder / "given.db"), FIRST)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "log")
    sums = numbers.map(lambda n: [n % KEYS, n]).key_by(lambda pair: pair[0])
    summed = sums.reduce(lambda one, other: [one[0], one[1] + other[1]])
    serializer = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(topic)
        .set_key_serialization_schema(Key())
        .set_value_serialization_schema(Json())
        .build()
    )
    sink = KillingSink(
        bootstrap_servers=servers,
        record_serializer=serializer,
        delivery_guarantee=DeliveryGuarantee.EXACTLY_ONCE,
        transactional_id_prefix=f"sums-{topic}",
        producers=NotedProducers(servers, Properties(), str(folder / "producers")),
        flag=str(folder / "killed"),
        driver=os.getpid(),
    )
    summed.sink_to(sink).uid("sums")
    env.execute("sums")


@dataclass(frozen=True, kw_only=True)
class KillingSink(KafkaSink):
    flag: str = ""
    driver: int = 0

    def writer(self, context: WriterContext) -> SinkWriter:
        return KillingWriter(super().writer(context), context.batch_id, self)


@dataclass
class KillingWriter(SinkWriter):
    inner: SinkWriter
    batch: int
    sink: KillingSink

    def write(self, values: Sequence[Any], timestamps: Sequence[int | None]) -> None:
        self.inner.write(values, timestamps)

    def prepare_commit(self) -> None:
        self.inner.prepare_commit()
        if self.batch == BATCH:
            kill_jvm_once(Path(self.sink.flag), self.sink.driver)

    def abort(self) -> None:
        self.inner.abort()


if __name__ == "__main__":
    main()
