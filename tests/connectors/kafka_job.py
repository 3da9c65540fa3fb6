"""``python -m tests.connectors.kafka_job FOLDER SERVERS TOPIC OUTPUT``: sums, Kafka to Kafka.

Spark's JVM is killed once, in the third micro-batch, when a task has committed its transaction
and Spark does not know of it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headrace.common import Configuration, SimpleStringSchema, WatermarkStrategy
from headrace.connector import DeliveryGuarantee, SinkWriter, WriterContext
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors._kafka.client.properties import Properties
from headrace.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from tests.connectors.opened import NotedClients, NotedProducers
from tests.faults.processes import kill_jvm_once
from tests.faults.sums_job import KEYS

BATCH = 2
SECRET = "correct-horse"
# No broker asks for it: it must not be found later.
PROPERTIES = {"sasl.password": SECRET}


class Json(SimpleStringSchema):
    def serialize(self, value: Any) -> bytes:
        return json.dumps(value).encode()


class Key(SimpleStringSchema):
    def serialize(self, value: Any) -> bytes:
        return str(value[0]).encode()


def main() -> None:
    folder, servers, topic, output = Path(sys.argv[1]), *sys.argv[2:]
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(
            {
                "parallelism.default": "2",
                "headrace.source.max-records-per-batch": "40",
                "execution.checkpointing.dir": str(folder / "checkpoint"),
                "headrace.spark.conf.spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
            }
        )
    )
    source = KafkaSource(
        bootstrap_servers=servers,
        topics=topic,
        group_id=topic,
        deserializer=SimpleStringSchema(),
        stopping_offsets=KafkaOffsetsInitializer.latest(),
        bounded=False,
        properties=PROPERTIES,
    )
    assert source.clients is not None
    source = replace(source, clients=NotedClients(source.clients, str(folder / "consumers")))
    numbers = env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "numbers")
    pairs = numbers.map(int).map(lambda n: [n % KEYS, n])
    sums = pairs.key_by(lambda pair: pair[0]).sum(1)
    serializer = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(output)
        .set_key_serialization_schema(Key())
        .set_value_serialization_schema(Json())
        .build()
    )
    sink = KillingSink(
        bootstrap_servers=servers,
        record_serializer=serializer,
        delivery_guarantee=DeliveryGuarantee.EXACTLY_ONCE,
        transactional_id_prefix=f"sums-{output}",
        producers=NotedProducers(servers, Properties.of(PROPERTIES), str(folder / "producers")),
        flag=str(folder / "killed"),
        driver=os.getpid(),
    )
    sums.sink_to(sink).uid("sums")
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
