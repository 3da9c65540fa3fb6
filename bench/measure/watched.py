"""What display, page and metrics cost a job: ``python -m bench.measure.watched``.

Job (a) runs watched and unwatched at the same time, each on a core of its own, and they swap cores
from turn to turn: a machine whose speed varies is as fast for both. The watched one prints its
lines, has its page asked once a second, as a browser does, and its metrics read every two seconds.
It prints the ratio of the rates, watched by unwatched, and its interval of 95 %.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import threading
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from bench.against import interval
from bench.contenders import CASES, Contender, size
from bench.throughput import Row, figures, one
from headrace.dev.ports import free_ports

_PAGE_SECONDS, _SCRAPES_EACH = 1.0, 2
_LIMIT_SECONDS = 600


class Looker:
    """Asks for what the page shows, as a browser does, and for the metrics; counts the answers."""

    def __init__(self, page: int, metrics: int) -> None:
        self.page_port, self.metrics_port = page, metrics
        self._page, self._metrics = f"http://127.0.0.1:{page}", f"http://127.0.0.1:{metrics}"
        self.pages = self.metrics = 0
        self._done = threading.Event()

    def _look(self) -> None:
        number = 0
        while not self._done.wait(_PAGE_SECONDS):
            # Nobody listens before the job runs and after its end: the counts tell.
            with contextlib.suppress(OSError):
                for job in json.loads(_get(f"{self._page}/page/jobs")):
                    _get(f"{self._page}/page/jobs/{job['number']}/state?after=")
                    self.pages += 1
            if number % _SCRAPES_EACH == 0:
                with contextlib.suppress(OSError):
                    _get(self._metrics)
                    self.metrics += 1
            number += 1

    @contextlib.contextmanager
    def looking(self) -> Iterator[None]:
        """Look while the block runs."""
        thread = threading.Thread(target=self._look)
        thread.start()
        try:
            yield
        finally:
            self._done.set()
            thread.join()


def _get(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=5) as answer:
        read: bytes = answer.read()
    return read


def _options(watched: bool, page: int, metrics: int) -> dict[str, str]:
    if not watched:
        return {"runner": "streaming", "conf:headrace.ui.terminal": "off"}
    reporter = "conf:metrics.reporter.prom"
    factory = "org.apache.flink.metrics.prometheus.PrometheusReporterFactory"
    return {
        "runner": "streaming",
        "conf:headrace.ui.terminal": "lines",
        "conf:headrace.ui.port": str(page),
        "conf:metrics.reporters": "prom",
        f"{reporter}.factory.class": factory,
        f"{reporter}.port": str(metrics),
    }


def _run(watched: bool, records: int, core: int) -> Row:
    """The row of one run, on one core."""
    os.sched_setaffinity(0, {core})  # of this thread; its children inherit it
    looker = Looker(*free_ports(2))
    options = _options(watched, looker.page_port, looker.metrics_port)
    contender = Contender(
        "headrace", "headrace_peer", options=options, limit_seconds=_LIMIT_SECONDS
    )
    with looker.looking() if watched else contextlib.nullcontext():
        row = one(CASES["a"], contender, records)
    if "failure" in row:
        raise RuntimeError(row["failure"])
    if watched and not (looker.pages and looker.metrics):
        raise RuntimeError(f"{looker.pages} pages, {looker.metrics} times metrics answered")
    return {**row, "round": 0}


def _turn(number: int, scale: float) -> dict[bool, tuple[float, float]]:
    """By watched or not: records per second, and per second of processor time."""
    case, cores = CASES["a"], sorted(os.sched_getaffinity(0))[:2]
    rows: dict[bool, list[Row]] = {True: [], False: []}
    for records in case.sizes["headrace"]:
        each = size(records, scale, case.step)
        with ThreadPoolExecutor(2) as threads:
            runs = {
                watched: threads.submit(_run, watched, each, cores[(number + watched) % 2])
                for watched in rows
            }
            for watched, run in runs.items():
                rows[watched].append(run.result())
    found = {}
    for watched, own in rows.items():
        figure = figures(own)["headrace"]
        if figure.rate is None:
            raise RuntimeError(figure.failure)
        found[watched] = figure.rate, 1e6 / sum(figure.processor.values())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies every size")
    given = parser.parse_args()
    ratios: dict[str, list[float]] = {"records/s": [], "records/s of processor time": []}
    for turn in range(given.turns):
        found = _turn(turn, given.scale)
        for name, on, off in zip(ratios, found[True], found[False], strict=True):
            ratios[name].append(on / off)
            print(f"{turn} {name}: {on:,.0f} {off:,.0f} {on / off:.3f}", file=sys.stderr)
    print("| watched by unwatched | ratio | interval of 95 % | turns |")
    print("| --- | ---: | ---: | ---: |")
    for name, values in ratios.items():
        low, middle, high = interval(values)
        print(f"| {name} | {middle:.3f} | {low:.3f} to {high:.3f} | {len(values)} |")


if __name__ == "__main__":
    main()
