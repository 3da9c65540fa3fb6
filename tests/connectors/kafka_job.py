"""``python -m tests.connectors.kafka_job OUTPUT SERVERS TOPIC``: sums on Spark, Kafka to files.

The JVM is killed once: in the commit of micro-batch 2, after the files are published and before
Spark knows of it.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from headrace.common import Configuration, Encoder, SimpleStringSchema, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from tests.connectors.opened import NotedClients
from tests.faults.sums_job import KEYS, KillingSink

SECRET = "correct-horse"


def main() -> None:
    output, servers, topic = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
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
        deserializer=SimpleStringSchema(),
        stopping_offsets=KafkaOffsetsInitializer.latest(),
        bounded=False,
        properties={"sasl.password": SECRET},  # no broker asks for it: it must not be found later
    )
    assert source.clients is not None
    source = replace(source, clients=NotedClients(source.clients, f"{output}-consumers"))
    files = FileSink.for_row_format(str(output), Encoder.simple_string_encoder()).build()
    numbers = env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "numbers")
    pairs = numbers.map(int).map(lambda n: (n % KEYS, n))
    sums = pairs.key_by(lambda pair: pair[0]).sum(1)
    sums.sink_to(KillingSink(files, "after", Path(f"{output}-killed")))
    env.execute("sums")


if __name__ == "__main__":
    main()
