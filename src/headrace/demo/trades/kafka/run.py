"""``headrace demo trades --kafka``: live on a broker, then as a batch over the same topics."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from headrace.demo.trades import generator
from headrace.demo.trades.kafka import topics
from headrace.demo.trades.kafka.feeding import Feeder
from headrace.demo.trades.kafka.job import Brokers, Version
from headrace.demo.trades.kafka.messages import Message, day_messages, ends
from headrace.demo.trades.kafka.records import avro_of, documents_of
from headrace.demo.trades.kafka.report import (
    show_backfill,
    show_counts,
    show_latencies,
    show_versions,
    verdict,
)
from headrace.demo.trades.kafka.running import Plan, RunEnvironment, RunResult, run_together
from headrace.demo.trades.kafka.topics import OutputTopics
from headrace.demo.trades.run import DEFAULT_OUTPUT
from headrace.dev import servers
from headrace.dev import topics as kafka_topics

STREAM, OTHER, BATCH = OutputTopics(), OutputTopics(".b"), OutputTopics(".batch")
_SERVERS = ("kafka", "registry")


def main(
    *,
    output_dir: Path | None,
    events: int,
    seed: int,
    rate: float,
    display: bool,
    other_wait_ms: int | None = None,
    backfill: bool = False,
) -> int:
    """Run the demo; returns 0 if stream and batch agree and every message is accounted for.

    With ``other_wait_ms`` a version B runs beside the stream, whose events wait this long for the
    events that they refer to. With ``backfill`` half of the day is history: a first run reads it,
    and hands over to the stream.
    """
    other = None if other_wait_ms is None else Version(wait_ms=other_wait_ms)
    console = Console()
    output = (output_dir or DEFAULT_OUTPUT).resolve()
    folder = output / "kafka"
    with start_servers(folder / "servers", console) as brokers:
        day = folder / "day"
        shutil.rmtree(day, ignore_errors=True)
        generator.generate(day, events=events, seed=seed)
        return compare_runs(brokers, day, folder, rate, console, display, other, backfill)


@contextmanager
def start_servers(folder: Path, console: Console) -> Iterator[Brokers]:
    """Start the servers that do not run yet, yield their addresses, and stop them at the end."""
    ran = {name for name, server in servers.status(folder).items() if server is not None}
    try:
        urls = {}
        for name in _SERVERS:
            started = servers.up(folder, [name], {name: 0})[name]
            assert started is not None
            urls[name] = started.url
            console.print(f"{name}: {started.url}", soft_wrap=True, highlight=False)
        yield Brokers(urls["kafka"], urls["registry"])
    finally:
        for name, server in reversed(servers.status(folder).items()):
            if server is not None and name not in ran:
                server.stop()


def compare_runs(
    brokers: Brokers,
    day: Path,
    folder: Path,
    rate: float,
    console: Console,
    display: bool,
    other: Version | None = None,
    backfill: bool = False,
) -> int:
    """Run stream and batch over a day, and compare them; returns 0 if all is correct.

    An ``other`` version runs beside the stream; its differences are reported, but are no failure.
    ``backfill``: a separate run reads the first half of the messages before.
    """
    plans = [Plan("stream", STREAM, continues=backfill)]
    if other is not None:
        plans.append(Plan("version B", OTHER, version=other))
    make_topics(brokers, STREAM, OTHER, BATCH)
    gamma = avro_of(topics.GAMMA_MESSAGE, brokers.registry, topics.GAMMA)
    messages = day_messages(day, topics.PARTITIONS, gamma)
    environment = RunEnvironment(brokers, day, folder)
    history = len(messages) // 2 if backfill else 0
    streams = live(environment, plans, messages, rate, console, display, history)
    batch = Plan("batch", BATCH, bounded=True)
    runs = [*streams, *run_together(environment, [batch], ends(messages), None, display)]
    show_counts(runs, len(messages), console)
    show_latencies(streams, console)
    if other is not None:
        show_versions(streams[0], streams[1], documents_of(brokers.registry), console)
    return verdict(runs[0], runs[-1], documents_of(brokers.registry), runs, len(messages), console)


def make_topics(brokers: Brokers, *outputs: OutputTopics) -> None:
    """Create the topics of feeds and outputs; topics that exist are deleted first."""
    names = [*topics.FEED_TOPICS, *(name for each in outputs for name in each.topics)]
    there = {topic.name for topic in kafka_topics.list_topics(brokers.kafka)}
    for name in names:
        if name in there:
            kafka_topics.delete(brokers.kafka, name)
    for name in names:
        kafka_topics.create(brokers.kafka, name, topics.PARTITIONS, **topics.topic_settings(name))


def live(
    environment: RunEnvironment,
    plans: Sequence[Plan],
    messages: Sequence[Message],
    rate: float,
    console: Console,
    display: bool,
    history: int = 0,
) -> list[RunResult]:
    """Run the job, or versions of it, as streams while messages arrive.

    ``history``: the number of messages that are sent before, for a run that stops after them.
    """
    lead = history + int(min(rate, len(messages) / 10))
    feeder = Feeder(environment.brokers.kafka, messages, rate, lead)
    feeder.start()
    try:
        if history:
            feeder.wait_for_lead()
            began = ends(messages[:history])
            stop = {partition: began[partition] for partition in ends(messages)}
            plan = Plan("backfill", STREAM, drain=False)
            (ran,) = run_together(environment, [plan], stop, None, display)
            show_backfill(ran, history, console)
        return run_together(environment, plans, ends(messages), feeder, display)
    finally:
        feeder.stop()
