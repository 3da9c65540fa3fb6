"""Kafka's clients that note when they are opened: a line for each, of process and place."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.datastream.connectors._kafka.client.consumer import (
    Clients,
    Cluster,
    GroupCommits,
    PartitionConsumer,
)
from headrace.datastream.connectors._kafka.sink.producers import LibrdkafkaProducers


def lines(path: str | Path) -> list[str]:
    """What was noted: "process place" each."""
    return Path(path).read_text().splitlines()


def _note(path: str, place: str) -> None:
    with Path(path).open("a") as file:
        file.write(f"{os.getpid()} {place}\n")  # one short write: whole, whoever else writes


@dataclass(frozen=True)
class NotedClients:
    """The source's clients; consumers are noted with topic and partition."""

    inner: Clients
    path: str

    def cluster(self) -> Cluster:
        return self.inner.cluster()

    def log(self, topic: str, partition: int) -> PartitionConsumer:
        _note(self.path, f"{topic}/{partition}")
        return self.inner.log(topic, partition)

    def group_commits(self, group: str) -> GroupCommits:
        return self.inner.group_commits(group)

    def pause(self, seconds: float) -> None:
        self.inner.pause(seconds)

    def clock_ms(self) -> int:
        return self.inner.clock_ms()


@dataclass(frozen=True)
class NotedProducers(LibrdkafkaProducers):
    """The sink's clients; producers are noted with their transactional id."""

    path: str

    def producer(
        self,
        settings: Mapping[str, str],
        on_delivery: Callable[[Any, Any], None],
        on_error: Callable[[Any], None],
    ) -> Any:
        if "transactional.id" in settings:  # the one that reads markers has none
            _note(self.path, settings["transactional.id"])
        return super().producer(settings, on_delivery, on_error)
