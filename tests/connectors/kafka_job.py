"""``python -m tests.connectors.kafka_job OUTPUT SERVERS TOPIC REGISTRY``: sums, Kafka to files.

The numbers are in Avro, and come as they were written: by a schema of the registry. The JVM is
killed once: in the commit of micro-batch 2, after the files are published and before Spark knows
of it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from headrace.common import Configuration, Encoder, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from headrace.datastream.formats.avro import AvroDeserializationSchema, AvroSchema
from tests.faults.sums_job import KEYS, KillingSink

SECRET = "correct-horse"

FIELDS = [{"name": "number", "type": "int"}]
FIRST = AvroSchema({"type": "record", "name": "Number", "fields": FIELDS})
LATER = AvroSchema(
    {
        "type": "record",
        "name": "Number",
        "fields": [*FIELDS, {"name": "times", "type": "int", "default": 1000}],
    }
)
"""Numbers of ``FIRST`` would be a thousand times as large if they were read by it."""


def value_of(record: dict[str, int]) -> int:
    """The number that a record stands for, by the schema that it was read with."""
    return record["number"] * record.get("times", 1)


def main() -> None:
    output, (servers, topic, registry) = Path(sys.argv[1]), sys.argv[2:]
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(
            {
                "parallelism.default": "2",
                "headrace.source.max-records-per-batch": "40",
                "execution.checkpointing.dir": f"{output}-checkpoint",
                "headrace.spark.conf.spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
            }
        )
    )
    source = KafkaSource(
        bootstrap_servers=servers,
        topics=topic,
        group_id=topic,
        deserializer=AvroDeserializationSchema(registry=registry),
        stopping_offsets=KafkaOffsetsInitializer.latest(),
        bounded=False,
        properties={"sasl.password": SECRET},  # no broker asks for it: it must not be found later
    )
    files = FileSink.for_row_format(str(output), Encoder.simple_string_encoder()).build()
    numbers = env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "numbers")
    pairs = numbers.map(value_of).map(lambda n: (n % KEYS, n))
    sums = pairs.key_by(lambda pair: pair[0]).sum(1)
    sums.sink_to(KillingSink(files, "after", Path(f"{output}-killed")))
    env.execute("sums")


if __name__ == "__main__":
    main()
