"""``make bench``: one keyed job on each runner, in one run, as ratios to the local runner.

Options: ``--records N`` (default 1,000,000), ``--keys N`` (10,000), ``--runs N`` (3).
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics

from rich.console import Console
from rich.table import Table

from bench.keyed_count import run

RUNNERS = {
    "local": {"execution.target": "local"},
    "batch": {"execution.runtime-mode": "BATCH"},
    "streaming": {"execution.runtime-mode": "STREAMING"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=3)
    chosen = parser.parse_args()
    console = Console()
    console.print(f"Python {platform.python_version()}, {os.cpu_count()} cores")
    console.print(f"{chosen.records:,} records, {chosen.keys:,} keys, median of {chosen.runs}")
    for settings in RUNNERS.values():  # sessions, workers and imports, before the clock starts
        run(settings, 1_000, chosen.keys)
    seconds: dict[str, list[float]] = {name: [] for name in RUNNERS}
    for _ in range(chosen.runs):
        for name, settings in RUNNERS.items():
            seconds[name].append(run(settings, chosen.records, chosen.keys))
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    table = Table("runner", "rate to local", "seconds", "records/s")
    for name, median in medians.items():
        ratio, rate = medians["local"] / median, chosen.records / median
        table.add_row(name, f"{ratio:.2f}", f"{median:.1f}", f"{rate:,.0f}")
    console.print(table)


if __name__ == "__main__":
    main()
