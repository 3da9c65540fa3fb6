"""Sends librdkafka's messages to Python's ``logging`` instead of stderr."""

from __future__ import annotations

import logging

_log = logging.getLogger("headrace.datastream.connectors.kafka")


class ClientLog:
    """The ``logger`` of one client; confluent-kafka calls it while the client is polled.

    A lost connection is an error for librdkafka, but not for a job: it waits, and logs that itself.
    So nothing is logged above INFO, and a repeated line is logged once.
    """

    def __init__(self) -> None:
        self._before = ""

    def log(self, level: int, message: str, *values: object) -> None:
        """Log a line; librdkafka's location and the client's name are among the values."""
        text = message % values if values else message
        if text != self._before:
            self._before = text
            _log.log(min(level, logging.INFO), "%s", text)
