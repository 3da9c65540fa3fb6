"""Workers and drivers of the Kafka sink, killed at each moment of a transaction.

It is a small part of ``make proof-kafka``, which kills the broker, too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("confluent_kafka", reason="missing: pip install 'headrace[kafka]'")

from tests.connectors.topic import new_topic
from tests.proof.driver import UNNOTED, Strike
from tests.proof.kafka import fault_of, run
from tests.proof.worker import FLUSHED, HALF, MOMENTS, STARTED, STARTING

pytestmark = [
    pytest.mark.spark,
    pytest.mark.fault,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks many processes"),
]

SEED = 17
STRIKES = [
    *(Strike("worker", moment, int(moment not in (STARTING, STARTED))) for moment in MOMENTS),
    Strike("driver", UNNOTED, 1),
    Strike("zombie", HALF, 1),
    Strike("zombie", FLUSHED, 1),
]


@pytest.mark.timeout(120)
def test_killed_at_each_moment_each_record_is_there_once_and_in_order(kafka_servers: str) -> None:
    topics = [new_topic(kafka_servers, 3) for _ in STRIKES]

    def struck(strike: Strike, topic: str) -> tuple[int, str]:
        driver = run(kafka_servers, OfOtherTests(), strike, topic, SEED)
        return driver.struck, fault_of(kafka_servers, topic)

    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(struck, STRIKES, topics)] == [(1, "")] * len(STRIKES)


class OfOtherTests:
    """A broker that nobody may kill."""

    def kill(self, go: Callable[[], None]) -> None:
        raise AssertionError

    def check(self) -> None:
        """It is there."""
