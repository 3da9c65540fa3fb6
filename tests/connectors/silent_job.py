"""Run with the address of a broker, a topic, a group and a number: a source that is planned, and
committed for its group, while a broker takes connections and does not answer, so many times.

A process of its own, since librdkafka may end it. The last line says what the group has in the end.
"""

from __future__ import annotations

import contextlib
import sys
import time

from headrace.common.serialization import SimpleStringSchema
from headrace.connector import Budget
from headrace.datastream.connectors._kafka.client import librdkafka
from headrace.datastream.connectors._kafka.client.consumer import Unreachable
from headrace.datastream.connectors.kafka import KafkaSource
from tests.connectors.silent_proxy import SilentProxy

ASK_S = 0.4
SILENT_S = 0.7


def main(servers: str, topic: str, group: str, times: int) -> None:
    librdkafka.ASK_TIMEOUT_S = ASK_S
    proxy = SilentProxy(servers)
    source = KafkaSource(
        bootstrap_servers=proxy.url,
        topics=topic,
        group_id=group,
        deserializer=SimpleStringSchema(),
        properties={"partition.discovery.interval.ms": 100},
        unreachable_timeout=60_000,
    )
    assert source.clients is not None
    cluster, running = source.clients.cluster(), source.enumerator("")
    (split,) = positions = running.initial(0)
    offset = 0
    for _ in range(times):
        proxy.fall_silent()
        end = time.monotonic() + SILENT_S
        while time.monotonic() < end:
            offset += 1
            running.committed({split: [offset, None]})
            running.advance(positions, Budget(1, 1), _now_ms(), frozenset())
            with contextlib.suppress(Unreachable):
                cluster.committed_offsets(group, [(topic, 0)])
        proxy.speak()
        running.advance(positions, Budget(1, 1), _now_ms(), frozenset())
    running.close()
    print(offset, cluster.committed_offsets(group, [(topic, 0)])[topic, 0])
    cluster.close()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


if __name__ == "__main__":
    main(*sys.argv[1:4], int(sys.argv[4]))
