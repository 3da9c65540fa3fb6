"""Produces records of job ``pass`` at a rate: ``python -m bench.kafka.feed BROKERS TOPIC``.

Each has the time when it is handed to the producer, in microseconds; keys are those of job (a).
"""

from __future__ import annotations

import sys
import time

from bench import workload
from bench.kafka.inputs import PARTITIONS
from bench.measure.latency import KEYS, RATE, SECONDS
from bench.ysb.feed import Topic, due

_TICK_S = 0.005


def main() -> None:
    topic, make = Topic(sys.argv[1], sys.argv[2]), workload.record_function(KEYS)
    begun, done, count = time.time(), 0, RATE * SECONDS
    while done < count:
        until = due(time.time() - begun, RATE, count)
        for index in range(done, until):
            key, value, _ = make(index)
            now_us = time.time_ns() // 1000
            record = b'{"key": %d, "value": %d, "time": %d}' % (key, value, now_us)
            topic.append(index % PARTITIONS, record)
        topic.serve()
        done = until
        time.sleep(_TICK_S)
    topic.close()


if __name__ == "__main__":
    main()
