"""``headrace demo trades --kafka``: live through a broker, then a batch over the same topics."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.demo.trades import generator
from headrace.demo.trades.kafka import job, topics
from headrace.demo.trades.kafka.comparing import Difference, differences
from headrace.demo.trades.kafka.display import Display, shown
from headrace.demo.trades.kafka.feeding import Feeder
from headrace.demo.trades.kafka.job import Brokers, Offsets
from headrace.demo.trades.kafka.messages import Message, day_messages, ends
from headrace.demo.trades.kafka.records import avro_of, documents_of
from headrace.demo.trades.kafka.topics import Outputs
from headrace.demo.trades.kafka.watching import Watcher
from headrace.demo.trades.run import DEFAULT_OUTPUT, TERMINAL
from headrace.dev import servers
from headrace.dev import topics as kafka_topics

STREAM, BATCH = Outputs(), Outputs(".batch")
_SERVERS = ("kafka", "registry")
_POLL_S = 0.1


@dataclass(frozen=True)
class Ran:
    """One run of the job, and what was seen of it."""

    name: str
    watcher: Watcher
    seconds: float
    documents: int
    """As the versions of the last documents say: the topic is compacted, so some may be gone."""

    @property
    def accounted(self) -> int:
        """Messages that became a document or an anomaly."""
        return self.documents + sum(self.watcher.anomalies[kind] for kind in TERMINAL)


def main(*, output_dir: Path | None, events: int, seed: int, rate: float, display: bool) -> int:
    """Run the demo; 0 when stream and batch agree and every message is accounted for."""
    console = Console()
    output = (output_dir or DEFAULT_OUTPUT).resolve()
    folder = output / "kafka"
    with brought_up(folder / "servers", console) as brokers:
        day = folder / "day"
        shutil.rmtree(day, ignore_errors=True)
        generator.generate(day, events=events, seed=seed)
        return compared(brokers, day, folder, rate, console, display)


@contextmanager
def brought_up(folder: Path, console: Console) -> Iterator[Brokers]:
    """Kafka and a registry; those that do not run in the folder are started, and stopped again."""
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


def compared(
    brokers: Brokers, day: Path, folder: Path, rate: float, console: Console, display: bool
) -> int:
    """Stream and batch over a day, and what came of them; 0 when all is as it should be."""
    make_topics(brokers, STREAM, BATCH)
    gamma = avro_of(topics.GAMMA_MESSAGE, brokers.registry, topics.GAMMA)
    messages = day_messages(day, topics.PARTITIONS, gamma)
    stream = live(brokers, day, folder, messages, rate, console, display)
    batch = again(brokers, day, folder, ends(messages), console, display)
    return _verdict(stream, batch, len(messages), brokers, console)


def make_topics(brokers: Brokers, *outputs: Outputs) -> None:
    """New topics for the feeds and the outputs; older ones of these names are removed."""
    names = [*topics.FEED_TOPICS, *(name for each in outputs for name in each.names)]
    there = {topic.name for topic in kafka_topics.listed(brokers.kafka)}
    for name in names:
        if name in there:
            kafka_topics.delete(brokers.kafka, name)
    for name in names:
        kafka_topics.create(brokers.kafka, name, topics.PARTITIONS, **topics.settings(name))


def live(
    brokers: Brokers,
    day: Path,
    folder: Path,
    messages: Sequence[Message],
    rate: float,
    console: Console,
    display: bool,
) -> Ran:
    """The job as a stream, while the messages come."""
    feeder = Feeder(brokers.kafka, messages, rate, lead=int(min(rate, len(messages) / 10)))
    feeder.start()
    try:
        return _run("stream", brokers, day, folder, ends(messages), feeder, console, display)
    finally:
        feeder.stop()


def again(
    brokers: Brokers, day: Path, folder: Path, stop: Offsets, console: Console, display: bool
) -> Ran:
    """The job as a batch, over the messages that are there."""
    return _run("batch", brokers, day, folder, stop, None, console, display)


def _run(
    name: str,
    brokers: Brokers,
    day: Path,
    folder: Path,
    stop: Offsets,
    feeder: Feeder | None,
    console: Console,
    display: bool,
) -> Ran:
    checkpoint = folder / "checkpoint"
    shutil.rmtree(checkpoint, ignore_errors=True)
    outputs = BATCH if feeder is None else STREAM
    env = StreamExecutionEnvironment.get_execution_environment(
        _settings(feeder is None, checkpoint)
    )
    job.write(job.build(env, brokers, day, stop, bounded=feeder is None), brokers, outputs)
    watcher = Watcher(brokers.kafka, outputs, None if feeder is None else feeder.sent_ms)
    try:
        started = time.monotonic()
        result = env.execute_async("trades").get_job_execution_result()
        with Display(f"trades, {name}", console, watcher, feeder, display) as shown_live:
            while not result.done():
                watcher.poll(_POLL_S)
                if feeder is not None:
                    feeder.check()
                    if watcher.has_seen_any:
                        feeder.go_on()
                shown_live.update()
            result.result()
            watcher.finish()
            shown_live.update(last=True)
        seconds = time.monotonic() - started
        read = documents_of(brokers.registry)
        documents = sum(read(last)["version"] for last in watcher.final_documents().values())
        return Ran(name, watcher, seconds, documents)
    finally:
        watcher.close()


def _settings(bounded: bool, checkpoint: Path) -> Configuration:
    settings = Configuration()
    settings.set_string("pipeline.name", "trades")
    settings.set_string("execution.runtime-mode", "BATCH" if bounded else "STREAMING")
    if not bounded:
        settings.set_string("execution.checkpointing.dir", str(checkpoint))
    return settings


def _verdict(stream: Ran, batch: Ran, messages: int, brokers: Brokers, console: Console) -> int:
    runs = (stream, batch)
    table = Table(title="What became of the messages")
    table.add_column("")
    for run in runs:
        table.add_column(run.name, justify="right")
    table.add_row("messages in", *(f"{messages:,}" for _ in runs))
    table.add_row("events normalised", *(f"{run.watcher.normalised:,}" for run in runs))
    table.add_row("documents out", *(f"{run.documents:,}" for run in runs))
    for kind in sorted(stream.watcher.anomalies.keys() | batch.watcher.anomalies.keys()):
        table.add_row(f"anomaly {kind}", *(f"{run.watcher.anomalies[kind]:,}" for run in runs))
    table.add_row("messages accounted for", *(f"{run.accounted:,}" for run in runs))
    table.add_row("seconds", *(f"{run.seconds:.1f}" for run in runs))
    console.print(table)
    latencies = stream.watcher.latencies.all()
    console.print(
        f"from event to document ({len(latencies):,} documents): {shown(latencies)}",
        highlight=False,
    )
    first, second = stream.watcher.final_documents(), batch.watcher.final_documents()
    found = differences(first, second, documents_of(brokers.registry))
    _tell(found, len(first), console)
    complete = all(run.accounted == messages for run in runs)
    if not complete:
        console.print("[red]Not every message is accounted for.[/]")
    return 0 if complete and not found else 1


def _tell(found: Sequence[Difference], roots: int, console: Console) -> None:
    if found:
        console.print(f"[red]{len(found):,} final documents differ[/], {found[0].root} is one")
    else:
        console.print(f"[green]All {roots:,} final documents are equal in stream and batch.[/]")
