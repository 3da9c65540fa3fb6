"""A loop over confluent-kafka, without a state: two processes, each with half of the partitions."""

from __future__ import annotations

import multiprocessing

import confluent_kafka
import orjson

from bench import workload
from bench.kafka.inputs import PARTITIONS, summary
from bench.peers.protocol import options

PROCESSES = 2
_AT_ONCE = 10_000


def run(job_options: dict[str, str], number: int) -> None:
    """One of the processes: to the end of its partitions."""
    common = {"bootstrap.servers": job_options["brokers"]}
    consumer = confluent_kafka.Consumer(
        {
            **common,
            "group.id": "plain",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "fetch.queue.backoff.ms": 5,
        }
    )
    producer = confluent_kafka.Producer({**common, "compression.type": "lz4"})
    own = range(number, PARTITIONS, PROCESSES)
    consumer.assign([confluent_kafka.TopicPartition(job_options["topic"], each, 0) for each in own])
    output, left = job_options["output"], len(own)
    while left:
        for message in consumer.consume(_AT_ONCE, 0.1):
            if message.error() is not None:
                left -= 1
                continue
            order = orjson.loads(message.value())
            if workload.wanted(order):
                value = orjson.dumps(summary(order))
                while True:
                    try:
                        producer.produce(output, value)
                        break
                    except BufferError:
                        producer.poll(0.005)
        producer.poll(0)
    producer.flush()
    consumer.commit(offsets=consumer.position(consumer.assignment()), asynchronous=False)
    consumer.close()


def main() -> None:
    job_options = options()
    started = [
        multiprocessing.Process(target=run, args=(job_options, number))
        for number in range(PROCESSES)
    ]
    for process in started:
        process.start()
    for process in started:
        process.join()


if __name__ == "__main__":
    main()
