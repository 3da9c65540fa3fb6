"""librdkafka's messages go to Python's ``logging``, and not to stderr."""

from __future__ import annotations

import logging

_log = logging.getLogger("headrace.datastream.connectors.kafka")


class ClientLog:
    """The ``logger`` of one client; confluent-kafka calls it while the client is polled.

    A lost connection is an error for librdkafka and none for a job, which waits, and tells of it
    itself. So nothing is logged above INFO. A line that comes again and again is logged once.
    """

    def __init__(self) -> None:
        self._before = ""

    def log(self, level: int, message: str, *values: object) -> None:
        """Take a line; its place in librdkafka and the client's name are among the values."""
        text = message % values if values else message
        if text != self._before:
            self._before = text
            _log.log(min(level, logging.INFO), "%s", text)
