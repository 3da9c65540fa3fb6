"""``python -m tests.proof.spark_job FOLDER SERVERS TOPIC``: sums from a log to Kafka, on Spark."""

from __future__ import annotations

import sys
from pathlib import Path

from headrace.common import Configuration, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.base import DeliveryGuarantee
from headrace.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink
from tests.connectors.kafka_job import Json, Key
from tests.connectors.killed_job import FIRST, KEYS
from tests.connectors.sqlite_log import SqliteLogSource

PER_BATCH = 15


def main() -> None:
    folder, servers, topic = Path(sys.argv[1]), *sys.argv[2:]
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(
            {
                "parallelism.default": "2",
                "headrace.source.max-records-per-batch": str(PER_BATCH),
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
    sink = KafkaSink(
        bootstrap_servers=servers,
        record_serializer=serializer,
        delivery_guarantee=DeliveryGuarantee.EXACTLY_ONCE,
        transactional_id_prefix=f"sums-{topic}",
    )
    summed.sink_to(sink).uid("sums")
    env.execute("sums")


if __name__ == "__main__":
    main()
