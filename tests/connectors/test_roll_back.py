"""The page on going back to a savepoint: its program and commands, on a real broker."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("confluent_kafka", reason="missing: pip install 'headrace[kafka]'")
pytest.importorskip("fastavro", reason="missing: pip install 'headrace[avro]'")

from headrace.datastream.formats.avro import AvroDeserializationSchema
from headrace.demo.trades import generator
from headrace.demo.trades.kafka import run, topics
from headrace.demo.trades.kafka.feeding import Feeder
from headrace.demo.trades.kafka.job import Brokers
from headrace.demo.trades.kafka.messages import day_messages, ends
from headrace.demo.trades.kafka.records import avro_of
from headrace.demo.trades.kafka.topics import OutputTopics
from headrace.state import Savepoint
from tests.connectors.topic import content
from tests.oracle import trades_oracle

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/roll-back.md").read_text()
SAVEPOINT = "savepoints/trades-20261127T121500Z-1f3a9c"
EVENTS, SEED = 1_200, 105
KEPT = ("events.normalised", "anomalies")
"""The topics that are not compacted."""


def commands() -> Iterator[list[str]]:
    """The page's commands, without ``headrace``."""
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                program, *arguments = shlex.split(line.removeprefix("$ "))
                assert program == "headrace", line
                yield arguments


class Shell:
    """Runs commands in a folder."""

    def __init__(self, folder: Path, brokers: Brokers) -> None:
        self._folder = folder
        quick = "headrace.spark.conf.spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1"
        self._quick = ["-D", quick, "-D", "parallelism.default=2"]
        self._environment = {
            **os.environ,
            "KAFKA": brokers.kafka,
            "REGISTRY": brokers.registry,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
        }

    def start(self, arguments: list[str]) -> subprocess.Popen[str]:
        if arguments[0] == "run":
            arguments = ["run", *self._quick, *arguments[1:]]
        return subprocess.Popen(
            [sys.executable, "-m", "headrace", *arguments],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self, process: subprocess.Popen[str]) -> tuple[int, str, str]:
        out, err = process.communicate(timeout=240)
        return process.returncode, out, err

    def run(self, arguments: list[str]) -> tuple[int, str, str]:
        return self.end(self.start(arguments))


class Walk:
    """The walk-through up to the savepoint; the rest of the messages is sent after it."""

    def __init__(self, brokers: Brokers, folder: Path) -> None:
        self.brokers, self.folder = brokers, folder
        generator.generate(folder / "day", events=EVENTS, seed=SEED)
        (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
        (folder / "trades.py").write_text(program)
        run.make_topics(brokers, *map(OutputTopics, ("", ".a", ".b")))
        gamma = avro_of(topics.GAMMA_MESSAGE, brokers.registry, topics.GAMMA)
        messages = day_messages(folder / "day", topics.PARTITIONS, gamma)
        stop = [[*partition, at] for partition, at in ends(messages).items()]
        (folder / "stop.json").write_text(json.dumps(stop))
        self.shell = Shell(folder, brokers)
        self.wanted = trades_oracle.run(folder / "day")
        first, stopping, *self._later = commands()
        feeder = Feeder(brokers.kafka, messages, 10_000, len(messages) // 2)
        feeder.start()
        try:
            feeder.wait_for_lead()
            running = self.shell.start(first)
            wait_for_documents(brokers, running)
            code, out, err = self.shell.run(stopping)
            assert code == 0, err
            self.savepoint = out.strip()
            assert self.shell.end(running)[0] == 0
            self.half = {name: self.counted(name) for name in KEPT}
            self.half_last = self.last("orders")
            feeder.resume()
            while feeder.sent < len(messages):
                feeder.check()
                time.sleep(0.05)
        finally:
            feeder.stop()

    @property
    def later(self) -> list[list[str]]:
        """The commands after the savepoint, with its name."""
        return [
            [self.savepoint if each == SAVEPOINT else each for each in command]
            for command in self._later
        ]

    def documents(self, topic: str) -> list[dict[str, Any]]:
        """Those of committed transactions; of a root, in order."""
        read = AvroDeserializationSchema(registry=self.brokers.registry).deserialize
        return [read(message.value()) for message in content(self.brokers.kafka, topic)]

    def counted(self, topic: str) -> Counter[str]:
        return Counter(json.dumps(each, default=repr) for each in self.documents(topic))

    def last(self, topic: str) -> dict[str, Any]:
        return {each["root"]: each for each in self.documents(topic)}


def test_an_upgrade_is_rolled_back(kafka_servers: str, registry_url: str, tmp_path: Path) -> None:
    walk = Walk(Brokers(kafka_servers, registry_url), tmp_path)
    upgraded, refused, accepted, *_ = walk.later
    code, _, err = walk.shell.run(upgraded)
    assert code == 0, err
    wrong = {name: walk.counted(name) for name in KEPT}
    assert walk.last("orders") != walk.wanted.final

    code, _, err = walk.shell.run(refused)
    assert code == 1 and {name: walk.counted(name) for name in KEPT} == wrong
    for name in ("orders", "anomalies", "events.normalised"):
        assert f"'{name}'" in err
    assert "headrace.restore.write-again" in err and "java" not in err

    code, _, err = walk.shell.run(accepted)
    assert code == 0, err
    notice = next(line for line in err.splitlines() if "are written a second time" in line)
    for name in ("orders", "anomalies", "events.normalised"):
        assert re.search(rf"'{re.escape(name)}' \(uid=\S+\) has micro-batch \d+", notice), notice
    assert walk.last("orders") == walk.wanted.final
    # Before the savepoint, and what was replayed after it: each record once. Both versions have
    # the same normalised events.
    normalised, anomalies = (walk.half[name] + (walk.counted(name) - wrong[name]) for name in KEPT)
    assert normalised == wrong["events.normalised"]
    assert kinds(map(json.loads, anomalies.elements())) == kinds(walk.wanted.anomalies)


@pytest.mark.proof
def test_two_versions_run_side_by_side(
    kafka_servers: str, registry_url: str, tmp_path: Path
) -> None:
    walk = Walk(Brokers(kafka_servers, registry_url), tmp_path)
    *_, a, b, compare = walk.later
    for process in [walk.shell.start(command) for command in (a, b)]:
        code, _, err = walk.shell.end(process)
        assert code == 0, err
    of_a, of_b = walk.counted("orders.a"), walk.counted("orders.b")
    assert of_a and not of_a - Counter(map(json.dumps, walk.wanted.orders))
    assert of_b and of_b != of_a
    assert {name: walk.counted(name) for name in KEPT} == walk.half  # nobody disturbed it

    code, out, err = walk.shell.run(compare)
    print(out)
    assert code == 1 and out.count("\n") == 1, out + err
    code, out, err = walk.shell.run([*compare[:-1], "100000", "--json"])
    assert code == 1, err
    assert Counter(map(place, json.loads(out))) == Counter(differences(tmp_path))

    # The unchanged program goes on from its checkpoint to the end of event time: its documents of
    # the second half, on top of those of the first, are the oracle's.
    whole = [each for each in a if each not in ("--from-savepoint", walk.savepoint)]
    code, _, err = walk.shell.run(
        ["headrace.stop.drain=true" if "drain" in each else each for each in whole]
    )
    assert code == 0, err
    assert {**walk.half_last, **walk.last("orders.a")} == walk.wanted.final
    anomalies = walk.half["anomalies"] + walk.counted("anomalies.a")
    assert kinds(map(json.loads, anomalies.elements())) == kinds(walk.wanted.anomalies)


def wait_for_documents(brokers: Brokers, running: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while not content(brokers.kafka, "orders"):
        assert time.monotonic() < deadline and running.poll() is None, running.communicate()
        time.sleep(0.5)


def kinds(anomalies: Iterable[Any]) -> Counter[tuple[str, str | None]]:
    return Counter((each["kind"], each.get("event_id")) for each in anomalies)


def place(difference: dict[str, Any]) -> tuple[Any, ...]:
    return difference["state"], difference["key"], difference["place"]


def differences(folder: Path) -> Iterator[tuple[Any, ...]]:
    """What differs, by reading both states row by row."""
    states: dict[tuple[Any, ...], list[Any]] = defaultdict(lambda: [None, None])
    for number, name in enumerate("ab"):
        savepoint = Savepoint.load(str(folder / name / "trades"))
        for state in savepoint.states():
            if state.uid != "link":
                continue
            for row in savepoint.read("link", state.name, as_text=True).collect():
                found = row.asDict()
                at = state.name, row["key"], found.get("item")
                states[at][number] = row["value"]
    for at, (one, other) in states.items():
        if one != other:
            yield at
