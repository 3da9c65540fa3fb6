"""``python -m tests.connectors.killed_writer SERVERS TOPIC FIRST``: micro-batches from FIRST on.

It prints the number of each one that is through, and waits to be killed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from headrace.common import SimpleStringSchema
from headrace.connector import DeliveryGuarantee, WorkerResources, WriterContext
from headrace.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink
from headrace.testing._writers import writer_of

BATCHES = 60
RECORDS = 60


class FirstLetter(SimpleStringSchema):
    def serialize(self, value: Any) -> bytes:
        return bytes(value[0], "ascii")


def sink_to(servers: str, topic: str, **given: Any) -> KafkaSink:
    """A sink for strings, whose first letters are the keys."""
    serializer = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(topic)
        .set_key_serialization_schema(FirstLetter())
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    settings = {"delivery_guarantee": DeliveryGuarantee.EXACTLY_ONCE, **given}
    return KafkaSink(bootstrap_servers=servers, record_serializer=serializer, **settings)


def expected_of(batches: Iterable[int]) -> list[str]:
    """The records of micro-batches."""
    numbers = (batch * RECORDS + index for batch in batches for index in range(RECORDS))
    return [f"{'abc'[number % 3]}{number}" for number in numbers]


def main() -> None:
    servers, topic, first = sys.argv[1:]
    made, worker = sink_to(servers, topic), WorkerResources()
    for batch in range(int(first), BATCHES):
        task = writer_of(made, WriterContext(f"sink-{topic}", "job", batch, 0, "a", 1, worker))
        values = expected_of([batch])
        for at in range(0, RECORDS, 20):
            task.write(values[at : at + 20], [None] * 20)
        task.prepare_commit()
        print(batch, flush=True)


if __name__ == "__main__":
    main()
