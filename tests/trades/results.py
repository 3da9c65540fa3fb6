"""Running the job, and what it wrote beside what the oracle computes."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.demo.trades import job
from tests.oracle import trades_oracle


def run_job(day: Path, output: Path, settings: Mapping[str, str]) -> None:
    """The job over a folder of feeds, to its end."""
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"pipeline.name": "trades", **settings})
    )
    job.write(*job.build(env, day), output)
    env.execute("trades")


def assert_equal_to_the_oracle(
    day: Path, output: Path, pieces: Path | None = None
) -> trades_oracle.Result:
    """Every document of every hierarchy, in order, and every anomaly.

    Where the job read the day's feeds in ``pieces``, the line at a position is looked up there.
    """
    wanted = trades_oracle.run(day)
    assert_documents(read(output / "orders"), wanted.orders)
    found = read(output / "anomalies")
    for anomaly in found:
        if anomaly["kind"] == "MALFORMED":
            text = (pieces or day).joinpath(anomaly["source"]).read_bytes()[anomaly["position"] :]
            assert text.decode(errors="backslashreplace").startswith(anomaly["raw"])
    identity = place if pieces is None else content
    assert Counter(map(identity, found)) == Counter(map(identity, wanted.anomalies))
    return wanted


def assert_documents(found: Iterable[Any], wanted: Iterable[Any]) -> None:
    """The same documents, those of one root in the same order."""
    mine, theirs = by_root(found), by_root(wanted)
    assert mine.keys() == theirs.keys()
    for root, documents in theirs.items():
        assert mine[root] == documents, root


def by_root(documents: Iterable[Any]) -> dict[str, list[Any]]:
    roots: dict[str, list[Any]] = defaultdict(list)
    for document in documents:
        roots[document["root"]].append(document)
    return roots


def read(folder: Path) -> list[Any]:
    """The lines of a sink's files, in the order of the files' names."""
    paths = sorted(folder.glob("*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def place(anomaly: Mapping[str, Any]) -> tuple[Any, ...]:
    """What an anomaly is about, a bad line by its place; the wording of the reason is free."""
    if anomaly["kind"] == "MALFORMED":
        return anomaly["kind"], anomaly["source"], anomaly["position"]
    return anomaly["kind"], anomaly["event_id"]


def content(anomaly: Mapping[str, Any]) -> tuple[Any, ...]:
    """What an anomaly is about, a bad line by its text."""
    bad = anomaly["kind"] == "MALFORMED"
    return anomaly["kind"], anomaly["raw"] if bad else anomaly["event_id"]


def in_pieces(day: Path, target: Path, seed: int) -> Path:
    """The same day, each feed cut into a few files at random lines."""
    rng = random.Random(seed)
    shutil.copytree(day, target)
    for feed in job.FEEDS:
        lines = (target / feed).read_bytes().splitlines(keepends=True)
        cuts = sorted(rng.sample(range(1, len(lines)), 2))
        stem, suffix = feed.split(".")
        (target / feed).unlink()
        for number, (start, end) in enumerate(zip([0, *cuts], [*cuts, len(lines)], strict=True)):
            (target / f"{stem}-{number}.{suffix}").write_bytes(b"".join(lines[start:end]))
    return target
