"""Starts the programs of these tests, and reads what they wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.runners.spark.startup.class_archive import archive_options
from headrace.runners.spark.startup.java import find_java
from tests.cluster.standalone import SPARK_HOME
from tests.trades.results import by_root, place, read

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).parent / "programs" / "jobs.py"
# What the session of the tests may have set must not choose the cluster.
_NOT_INHERITED = ("PYSPARK_SUBMIT_ARGS", "MASTER", "SPARK_REMOTE", "HEADRACE_SETTINGS")


def spark_defaults(folder: Path, **settings: str) -> None:
    """Write a ``spark-defaults.conf`` for quick JVMs and small executors."""
    quick = " ".join(["-XX:TieredStopAtLevel=1", *archive_options(find_java())])
    defaults = {
        "spark.executor.memory": "1g",
        "spark.driver.extraJavaOptions": quick,
        "spark.executor.extraJavaOptions": quick,
        "spark.ui.enabled": "false",
        **{key.replace("_", "."): value for key, value in settings.items()},
    }
    folder.mkdir(exist_ok=True)
    text = "".join(f"{key} {value}\n" for key, value in defaults.items())
    (folder / "spark-defaults.conf").write_text(text)


def start(folder: Path, command: list[str], **variables: str) -> subprocess.Popen[bytes]:
    """Start a command as a user would who has installed Headrace; it logs to ``folder.log``."""
    environ = {key: value for key, value in os.environ.items() if key not in _NOT_INHERITED}
    environ |= {
        "JAVA_HOME": str(find_java().home),
        "SPARK_CONF_DIR": str(folder / "conf"),
        "PYTHONPATH": str(ROOT / "src"),
        **variables,
    }
    with Path(f"{folder}.log").open("wb") as log:
        return subprocess.Popen(
            command, cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )


def by_headrace(*options: str) -> list[str]:
    """The command ``headrace run``."""
    return [sys.executable, "-m", "headrace", "run", *options]


def by_spark_submit(*options: str) -> list[str]:
    """The command ``spark-submit``."""
    return [str(SPARK_HOME / "bin" / "spark-submit"), *options]


@dataclass(frozen=True)
class Trades:
    """What the trades job wrote: documents in the order of each root, and anomalies."""

    documents: dict[str, list[Any]]
    anomalies: Counter[tuple[Any, ...]]

    @classmethod
    def read(cls, folder: Path) -> Trades:
        """Read the files of a run."""
        anomalies = Counter(map(place, read(folder / "anomalies")))
        return cls(dict(by_root(read(folder / "orders"))), anomalies)


def numbers(count: int) -> list[tuple[str, bytes]]:
    """Keys and messages for the windows: out of order by less than the watermarks allow."""
    keys = [f"key-{number % 7}" for number in range(count)]
    times = [20 * number - 30 * (number % 2) + 1_000 for number in range(count)]
    return [
        (key, json.dumps({"key": key, "at": at, "number": number}).encode())
        for number, (key, at) in enumerate(zip(keys, times, strict=True))
    ]
