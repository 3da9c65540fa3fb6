"""Sends the day's messages live, at a steady rate."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

from headrace.datastream.connectors._kafka.client.log import ClientLog
from headrace.demo.trades.kafka.messages import Message
from headrace.errors import JobError

_PAUSE_S = 0.01
_FLUSH_S = 60.0


class Feeder:
    """A thread that sends messages in order.

    The first ``lead`` messages are sent at once. The others wait for ``resume``, and are then sent
    at ``rate`` per second. For these, ``sent_ms`` has the time (ms since the epoch) when an event
    was first sent.
    """

    def __init__(self, servers: str, messages: Sequence[Message], rate: float, lead: int) -> None:
        from confluent_kafka import Producer

        self._producer: Any = Producer(
            {
                "bootstrap.servers": servers,
                "linger.ms": 2,
                "enable.idempotence": True,
                "logger": ClientLog(),
            }
        )
        self._messages, self._rate, self._lead = messages, rate, lead
        self._led, self._ready, self._stopped = (threading.Event() for _ in range(3))
        self._thread = threading.Thread(target=self._run, name="feeder", daemon=True)
        self._failure: Exception | None = None
        self.sent = 0
        self.sent_ms: dict[str, int] = {}

    def start(self) -> None:
        """Start the thread, which sends the lead."""
        self._thread.start()

    def wait_for_lead(self) -> None:
        """Wait until Kafka has the lead.

        Raises:
            JobError: a message was not delivered.
        """
        self._led.wait()
        self.check()

    def resume(self) -> None:
        """Send the other messages; further calls have no effect."""
        self._ready.set()

    def check(self) -> None:
        """Raise the exception of the thread, if it failed."""
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Stop the thread, even if messages are left."""
        self._stopped.set()
        self._ready.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._send_until(min(self._lead, len(self._messages)), timed=False)
            self._flush()
            self._led.set()
            self._ready.wait()
            began, first = time.monotonic(), self.sent
            while self.sent < len(self._messages) and not self._stopped.is_set():
                due = first + int((time.monotonic() - began) * self._rate)
                self._send_until(min(due, len(self._messages)), timed=True)
                self._stopped.wait(_PAUSE_S)
            self._flush()
        except Exception as error:
            self._failure = error
        finally:
            self._led.set()

    def _flush(self) -> None:
        if self._producer.flush(_FLUSH_S):
            raise JobError("Kafka does not take the messages in time")

    def _send_until(self, end: int, *, timed: bool) -> None:
        producer, sent_ms = self._producer, self.sent_ms
        while self.sent < end and not self._stopped.is_set():
            message = self._messages[self.sent]
            try:
                producer.produce(
                    message.topic,
                    message.value,
                    message.key,
                    message.partition,
                    on_delivery=self._on_delivery,
                )
            except BufferError:
                producer.poll(0.05)
                continue
            if timed and message.event_id is not None:
                sent_ms.setdefault(message.event_id, time.time_ns() // 1_000_000)
            self.sent += 1
        producer.poll(0)

    def _on_delivery(self, error: Any, message: Any) -> None:
        if error is not None:
            self._failure = JobError(f"Kafka refuses a message: {error.str()}")
