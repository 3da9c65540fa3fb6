"""Flink's CEP, in Java as PyFlink has none: ``java/FlinkCep.java``, with no Python near a record.

Its libraries are those in PyFlink's package, flink-cep among them; the program is compiled with
them when it is first wanted, which takes a JDK.
"""

from __future__ import annotations

import hashlib
import os
import resource
import subprocess
from importlib.util import find_spec
from pathlib import Path

from bench import workload
from bench.peers import flink
from bench.peers.protocol import Outcome, Task, answer
from bench.processes import last_json

SOURCE = Path(__file__).parent / "java" / "FlinkCep.java"


def libraries() -> Path:
    """The folder of Flink's jars in PyFlink's package."""
    found = find_spec("pyflink")
    assert found is not None and found.origin is not None
    return Path(found.origin).parent / "lib"


def compiled(scratch: Path) -> Path:
    """The folder with the program's classes, made on first use."""
    folder = scratch / f"flink-cep-{hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:12]}"
    if not folder.exists():
        making = folder.with_name(f".{folder.name}-{os.getpid()}")
        classes = ["-cp", f"{libraries()}/*", "-d", str(making)]
        subprocess.run(["javac", "--release", "17", *classes, str(SOURCE)], check=True)
        making.rename(folder)
    return folder


def arguments(task: Task) -> list[str]:
    """What the program is told: the workload, then Flink's settings."""
    below, least = workload.pattern_limits(task.job)
    numbers = {
        "records": task.records,
        "keys": task.keys,
        "multiplier": workload.MULTIPLIER,
        "modulus": workload.MODULUS,
        "base_ms": workload.BASE_MS,
        "below": below,
        "from": least,
        "within_ms": workload.within_ms(task.keys),
    }
    told = [f"{name}={value}" for name, value in numbers.items()]
    return told + [f"-{name}={value}" for name, value in flink.settings(task).items()]


def run(task: Task) -> Outcome:
    """Run the program to its end."""
    if not workload.is_pattern(task.job) or task.distribution != "uniform":
        raise SystemExit("Flink's CEP runs jobs p1, p10 and p100 with uniform keys only")
    path = f"{compiled(task.scratch)}{os.pathsep}{libraries()}/*"
    command = ["java", "-cp", path, "FlinkCep", *arguments(task)]
    used = processor_seconds()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    used = processor_seconds() - used
    found = last_json(done.stdout)
    assert found is not None, done.stdout
    facts = {"processor_seconds": {"driver": 0.0, "worker": 0.0, "jvm": round(used, 2)}}
    return Outcome(found["seconds"], found["tally"], facts)


def processor_seconds() -> float:
    """What the processes that this one has started and seen end have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    answer(run)
