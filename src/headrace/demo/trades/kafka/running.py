"""Runs of the job: one, or several versions side by side over the same topics."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.demo.trades.kafka import job
from headrace.demo.trades.kafka.display import Display
from headrace.demo.trades.kafka.feeding import Feeder
from headrace.demo.trades.kafka.job import Brokers, Offsets, Version
from headrace.demo.trades.kafka.records import documents_of
from headrace.demo.trades.kafka.topics import OutputTopics
from headrace.demo.trades.kafka.watching import Watcher
from headrace.demo.trades.run import TERMINAL

_POLL_S = 0.05


@dataclass(frozen=True)
class Plan:
    """A run: a version of the job, as a stream or (``bounded``) as a batch.

    ``drain``: whether windows and timers fire where the stream stops. ``continues``: it continues
    from the checkpoint of the previous run, and writes to that run's outputs.
    """

    name: str
    outputs: OutputTopics
    bounded: bool = False
    version: Version = field(default_factory=Version)
    drain: bool = True
    continues: bool = False


@dataclass(frozen=True)
class RunResult:
    """The results of one run of the job."""

    name: str
    watcher: Watcher
    seconds: float
    documents: int
    """As the versions of the last documents say: the topic is compacted, so some may be gone."""

    @property
    def accounted(self) -> int:
        """The number of messages that became a document or an anomaly."""
        return self.documents + sum(self.watcher.anomalies[kind] for kind in TERMINAL)


@dataclass(frozen=True)
class RunEnvironment:
    """The servers, reference data and checkpoint folder of runs."""

    brokers: Brokers
    day: Path
    folder: Path


def run_together(
    environment: RunEnvironment,
    plans: Sequence[Plan],
    stop: Offsets,
    feeder: Feeder | None,
    display: bool,
) -> list[RunResult]:
    """Run all plans at the same time, up to the offsets ``stop``; the feeder waits for all."""
    started = time.monotonic()
    watchers: list[Watcher] = []
    clients: list[Any] = []
    try:
        for plan in plans:
            sent_ms = None if feeder is None else feeder.sent_ms
            watchers.append(Watcher(environment.brokers.kafka, plan.outputs, sent_ms))
            if plan.continues:
                watchers[-1].catch_up()
            clients.append(_start_job(environment, plan, stop))
        results = [client.get_job_execution_result() for client in clients]
        names = [f"trades, {plan.name}" for plan in plans]
        with Display(names, watchers, feeder, display) as shown:
            while not all(result.done() for result in results):
                for watcher in watchers:
                    watcher.poll(_POLL_S)
                if feeder is not None:
                    feeder.check()
                    if all(watcher.has_seen_any for watcher in watchers):
                        feeder.resume()
                for result in results:
                    if result.done():
                        result.result()
                shown.update()
            for result, watcher in zip(results, watchers, strict=True):
                result.result()
                watcher.finish()
            shown.update(last=True)
    except BaseException:
        for client in clients:
            client.cancel()
        raise
    finally:
        for watcher in watchers:
            watcher.close()
    seconds = time.monotonic() - started
    return [
        RunResult(plan.name, watcher, seconds, _count_documents(watcher, environment.brokers))
        for plan, watcher in zip(plans, watchers, strict=True)
    ]


def _start_job(environment: RunEnvironment, plan: Plan, stop: Offsets) -> Any:
    """Return the client of a job that was started now."""
    name = f"trades{plan.outputs.suffix}"
    checkpoint = environment.folder / "checkpoints" / name
    if not plan.continues:
        shutil.rmtree(checkpoint, ignore_errors=True)
    settings = Configuration()
    settings.set_string("pipeline.name", name)
    settings.set_string("execution.runtime-mode", "BATCH" if plan.bounded else "STREAMING")
    settings.set_string("headrace.ui.terminal", "off")  # the display of the demo compares the runs
    if not plan.bounded:
        settings.set_string("execution.checkpointing.dir", str(checkpoint))
        settings.set_string("headrace.stop.drain", str(plan.drain).lower())
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    streams = job.build(
        env, environment.brokers, environment.day, stop, bounded=plan.bounded, version=plan.version
    )
    job.write(streams, environment.brokers, plan.outputs)
    return env.execute_async(name)


def _count_documents(watcher: Watcher, brokers: Brokers) -> int:
    read = documents_of(brokers.registry)
    return sum(read(last)["version"] for last in watcher.final_documents().values())
