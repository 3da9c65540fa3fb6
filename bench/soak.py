"""A job that runs for long, with restarts: ``python -m bench.soak [--minutes 120]``.

The job (``bench.soak_job``) reads at a fixed rate. Its driver is ended every few minutes, by turns
with kill -9 and with SIGTERM, and started again. Memory, the checkpoint's bytes and files, and the
duration of the last micro-batch are sampled every ten seconds. At the end each record must be
there once with the exact sum, and each window once. The exit code is 1 if anything is not exact,
or grows by more than ``FLAT_SHARE`` of its mean per hour (least squares, after the warm-up). The
samples are written to ``soak.json``, and drawn beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.environments import ROOT
from bench.plots import draw
from bench.soak_job import KEYS, WINDOW_SECONDS
from headrace.common._storage.locations import file_system_of

FLAT_SHARE = 0.10
"""What a measure may grow per hour, as a share of its mean."""

SAMPLE_SECONDS, SETTLE_SECONDS = 10.0, 20.0
_DURATION = re.compile(r"micro-batch (\d+): ([\d.]+) (ms|s) ")


@dataclass(frozen=True)
class Sample:
    """What was there at a moment; ``None``: it was not to be had."""

    seconds: float
    driver_mb: float | None = None
    jvm_mb: float | None = None
    workers_mb: float | None = None
    checkpoint_mb: float | None = None
    files: float | None = None
    micro_batch_seconds: float | None = None


MEASURES = [name for name in Sample.__dataclass_fields__ if name != "seconds"]


def slope_per_hour(points: Sequence[tuple[float, float]]) -> float:
    """The slope of the least-squares line through points of seconds and values.

    Raises:
        ValueError: there are fewer than two moments.
    """
    if len({at for at, _ in points}) < 2:
        raise ValueError("a slope needs samples of two moments")
    middle_at = sum(at for at, _ in points) / len(points)
    middle = sum(value for _, value in points) / len(points)
    over = sum((at - middle_at) * (value - middle) for at, value in points)
    return 3600 * over / sum((at - middle_at) ** 2 for at, _ in points)


@dataclass(frozen=True)
class Verdict:
    """How a measure grows; ``flat``: not by more than ``FLAT_SHARE`` of its mean per hour."""

    mean: float
    per_hour: float

    @property
    def flat(self) -> bool:
        """Falling values are flat: nothing runs out."""
        return self.per_hour <= FLAT_SHARE * self.mean


def verdicts(samples: Sequence[Sample], warm_up_seconds: float) -> dict[str, Verdict]:
    """The verdict of each measure.

    Raises:
        ValueError: a measure has fewer than two samples after the warm-up.
    """
    found = {}
    for name in MEASURES:
        points = [
            (sample.seconds, value)
            for sample in samples
            if sample.seconds >= warm_up_seconds and (value := getattr(sample, name)) is not None
        ]
        slope = slope_per_hour(points)
        found[name] = Verdict(sum(value for _, value in points) / len(points), slope)
    return found


def faults(totals: Iterable[str], sums: Iterable[str], rate: int, least: int) -> list[str]:
    """What is not exact in the output: nothing, if all is. ``least``: so many records are due."""
    found: list[str] = []
    lines = [tuple(map(int, line.split(","))) for line in totals]
    counts = Counter(number for number, _ in lines)
    records = max(counts, default=-1) + 1
    if records < least:
        found.append(f"{records:,} records, and {least:,} were due")
    if missing := records - len(counts):
        found.append(f"{missing:,} records are missing")
    if repeated := sum(count - 1 for count in counts.values()):
        found.append(f"{repeated:,} records came more than once")
    if wrong := sum(total != _sum_up_to(number) for number, total in lines):
        found.append(f"{wrong:,} sums are wrong")
    by_window: defaultdict[tuple[int, int], int] = defaultdict(int)
    for number in range(records):
        by_window[number * 1000 // rate // (WINDOW_SECONDS * 1000), number % KEYS] += number
    last = max((window for window, _ in by_window), default=0)
    given = Counter(sums)
    # The last window is not complete, and the one before may not have fired yet.
    due = Counter(f"{key},{total}" for (at, key), total in by_window.items() if at < last - 1)
    may = Counter(f"{key},{total}" for (at, key), total in by_window.items() if at == last - 1)
    if not due:
        found.append("no window was complete")
    if lost := (due - given).total():
        found.append(f"{lost:,} sums of windows are missing")
    if more := (given - due - may).total():
        found.append(f"{more:,} sums of windows are wrong or came more than once")
    return found


def _sum_up_to(number: int) -> int:
    """The sum of the numbers of a key, up to one: number, number - KEYS, …"""
    steps = number // KEYS
    return (steps + 1) * (number % KEYS) + KEYS * steps * (steps + 1) // 2


def _processes(tag: int) -> Mapping[str, list[int]]:
    """The processes with a tag in their environment: driver, JVM and workers."""
    found: dict[str, list[int]] = {"driver": [], "jvm": [], "workers": []}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            command = (entry / "cmdline").read_bytes()
            tagged = f"HEADRACE_SOAK={tag}\0".encode() in (entry / "environ").read_bytes()
        except OSError:
            continue  # it has ended
        if not tagged or fields[0] == "Z":
            continue
        pid = int(entry.name)
        kind = "jvm" if b"SparkSubmit" in command else "workers"
        found["driver" if b"bench.soak_job" in command and kind != "jvm" else kind].append(pid)
    return found


def _resident_mb(pids: Iterable[int]) -> float | None:
    """Their proportional share of memory, so that pages that forks share count once."""
    total = 0
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue  # it has ended
        total += int(text.partition("\nPss:")[2].split()[0])
    return total / 1e3 if total else None


def _sample(seconds: float, folder: Path, log: Path, tag: int, settled: bool) -> Sample:
    from bench.measure.checkpoint_growth import sizes

    files, size_bytes = sizes(str(folder / "checkpoint"))
    checkpoint = {"checkpoint_mb": size_bytes / 1e6, "files": float(files)}
    if not settled:
        return Sample(seconds, **checkpoint)
    own = _processes(tag)
    memory = {f"{kind}_mb": _resident_mb(pids) for kind, pids in own.items()}
    # The first line after a start is of a micro-batch that starts the workers.
    batches = _DURATION.findall(log.read_text(errors="replace"))[1:]
    took = float(batches[-1][1]) / (1000 if batches[-1][2] == "ms" else 1) if batches else None
    return Sample(seconds, **memory, **checkpoint, micro_batch_seconds=took)


def soak(folder: Path, minutes: float, restart_minutes: float, rate: int) -> list[Sample]:
    """Run the job with its restarts; return the samples.

    Raises:
        RuntimeError: the driver ended by itself, or did not end when it was told to.
    """
    samples: list[Sample] = []
    begin, number = time.monotonic(), 0
    while (passed := time.monotonic() - begin) < 60 * minutes:
        until = min(60 * minutes, passed + 60 * restart_minutes)
        is_last = until >= 60 * minutes
        log, tag = folder / f"log-{number}", os.getpid()
        with log.open("wb") as output:
            job = subprocess.Popen(
                [sys.executable, "-m", "bench.soak_job", str(folder), str(rate)],
                cwd=ROOT,
                env={**os.environ, "HEADRACE_SOAK": str(tag)},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            started = time.monotonic()
            while (left := until - (time.monotonic() - begin)) > 0:
                time.sleep(min(SAMPLE_SECONDS, left))
                if job.poll() is not None:
                    raise RuntimeError(f"the driver ended: {log.read_text()[-2000:]}")
                now = time.monotonic()
                settled = now - started >= SETTLE_SECONDS
                samples.append(_sample(now - begin, folder, log, tag, settled))
            job.send_signal(signal.SIGTERM if is_last or number % 2 else signal.SIGKILL)
            job.wait(90)
        finally:
            job.kill()
            job.wait()
        _wait_for_end(tag)
        print(f"{number}: {samples[-1]}", file=sys.stderr, flush=True)
        number += 1
    return samples


def _wait_for_end(tag: int) -> None:
    deadline = time.monotonic() + 60
    while any(own := _processes(tag).values()):
        if time.monotonic() > deadline:
            raise RuntimeError(f"processes outlive their driver: {list(own)}")
        time.sleep(0.5)


def _lines(folder: Path) -> list[str]:
    """The lines of the published files, as any reader finds them."""
    files = (file.path for file in file_system_of(str(folder)).walk(str(folder)))
    return [line for file in files for line in Path(file).read_text().splitlines()]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--restart-minutes", type=float, default=4)
    parser.add_argument("--warm-up-minutes", type=float, default=10)
    parser.add_argument("--rate", type=int, default=2_000, help="records per second")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "soak", help="a folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headrace-soak-") as path:
        folder = Path(path)
        began = time.monotonic()
        samples = soak(folder, given.minutes, given.restart_minutes, given.rate)
        # A start may take half a minute, of which the last one has caught up.
        least = int(0.8 * given.rate * (time.monotonic() - began - 30))
        wrong = faults(
            _lines(folder / "totals"), _lines(folder / "sums"), given.rate, max(1, least)
        )
    result = {
        "minutes": given.minutes,
        "restart_minutes": given.restart_minutes,
        "rate": given.rate,
        "faults": wrong,
        "samples": [asdict(sample) for sample in samples],
    }
    given.results.mkdir(parents=True, exist_ok=True)
    (given.results / "soak.json").write_text(json.dumps(result, indent=1) + "\n")
    draw(given.results)
    for fault in wrong:
        print(f"not exact: {fault}")
    found = verdicts(samples, 60 * given.warm_up_minutes)
    for name, verdict in found.items():
        said = "flat" if verdict.flat else "NOT FLAT"
        print(f"{name}: mean {verdict.mean:,.2f}, {verdict.per_hour:+,.2f} per hour: {said}")
    return 0 if not wrong and all(verdict.flat for verdict in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
