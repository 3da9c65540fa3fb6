"""What queries of state cost a job, and how long they take: ``python -m bench.measure.queries``.

Job (a) runs with and without queries in turn, on all cores. Queries come over HTTP from a process
of their own, at a fixed rate, each for 100 random keys. Printed are the ratio of the job's rates,
and how long an answer took from the moment at which it was due.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

from bench import jobs, workload
from bench.against import interval
from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.connectors.function import FunctionSink
from headrace.dev.ports import free_ports

_TOKEN = "bench"
_THREADS = 16
_BATCHES_BEFORE = 3
"""The rate is measured after so many micro-batches."""


def run_job(records: int, keys: int, port: int, queryable: bool) -> dict[str, float]:
    """Run the job; return its rate, in records a second."""
    with tempfile.TemporaryDirectory(prefix="headrace-queries-") as folder:
        settings = {
            "execution.checkpointing.dir": folder,
            "parallelism.default": "2",
            "headrace.ui.port": str(port),
            "headrace.ui.token": _TOKEN,
            "headrace.ui.terminal": "off",
        }
        if queryable:
            settings |= {"headrace.state.queryable": "sums"}
        env = StreamExecutionEnvironment(Configuration.from_dict(settings))
        source = DataGeneratorSource(workload.record_function(keys), count=records)
        made = env.from_source(source, None, "records")
        jobs.keyed_job(jobs.Api("headrace"), "a", made, keys).uid("sums").sink_to(
            FunctionSink(lambda values: None)
        )
        client = env.execute_async("queried")
        while client.get_accumulators().result().get("microBatches", 0) < _BATCHES_BEFORE:
            time.sleep(0.01)
        began, before = time.monotonic(), _records(client)
        client.get_job_execution_result().result()
        seconds = time.monotonic() - began
        return {"rate": (records - before) / seconds, "seconds": seconds}


def _records(client: Any) -> int:
    return int(sum(each["numRecordsIn"] for each in client.get_metrics().result()["sums"].values()))


class Askers:
    """Asks at a fixed rate; ``took_ms``: how long each answer took from when it was due."""

    def __init__(self, port: int, rate: float, keys: int, keys_each: int) -> None:
        self._port, self._rate, self._keys, self._keys_each = port, rate, keys, keys_each
        self.took_ms: list[float] = []
        self.codes: dict[int, int] = {}
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Begin when the job answers."""
        job = self._wait_for_answers()
        began = time.monotonic()
        for number in range(_THREADS):
            thread = threading.Thread(target=self._ask, args=(job, began, number))
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """End after the current queries."""
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _wait_for_answers(self) -> str:
        while True:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
                connection.request("GET", "/jobs")
                found = json.load(connection.getresponse())["jobs"]
                if found and _post(connection, found[0]["id"], [1])[0] == 200:
                    return str(found[0]["id"])
            except OSError:
                pass  # the server is not there yet
            time.sleep(0.05)

    def _ask(self, job: str, began: float, number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        chosen = random.Random(number)
        at = number
        while not self._over.is_set():
            due = began + at / self._rate
            time.sleep(max(due - time.monotonic(), 0))
            wanted = [chosen.randrange(self._keys) for _ in range(self._keys_each)]
            try:
                code, found = _post(connection, job, wanted)
            except (OSError, http.client.HTTPException):
                if not self._over.wait(0.5):  # the job has ended
                    raise
                return
            at += _THREADS
            if not self.took_ms and found.get("microBatch", 0) < _BATCHES_BEFORE:
                continue  # the job is still starting
            if code == 200 and None in found["values"]:
                code = 0
            with self._lock:
                self.codes[code] = self.codes.get(code, 0) + 1
                self.took_ms.append((time.monotonic() - due) * 1000)


def _post(connection: http.client.HTTPConnection, job: str, keys: list[int]) -> tuple[int, Any]:
    body = json.dumps({"uid": "sums", "name": "count and sum", "keys": keys})
    headers = {"Authorization": f"Bearer {_TOKEN}"}
    connection.request("POST", f"/jobs/{job}/state", body, headers)
    answer = connection.getresponse()
    return answer.status, json.load(answer)


def measure(records: int, keys: int, rate: float, keys_each: int, queried: bool) -> float:
    """Run the job in a process of its own; return its rate."""
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "bench.measure.queries", "--job", str(records)]
    command += ["--keys", str(keys), "--port", str(port)]
    command += ["--queryable"] if queried else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as job:
        askers = Askers(port, rate, keys, keys_each)
        if queried:
            askers.start()
        assert job.stdout is not None
        line = job.stdout.readline()
        askers.stop()
    found = json.loads(line)
    if queried:
        took = sorted(askers.took_ms)
        print(
            f"{len(took):,} queries in {found['seconds']:.0f} s,"
            f" median {statistics.median(took):.1f} ms, 99th percentile"
            f" {took[int(len(took) * 0.99)]:.0f} ms; by status {askers.codes}"
        )
    return float(found["rate"])


def main() -> None:
    """Measure in turn."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--records", type=int, default=30_000_000)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=200, help="queries a second")
    parser.add_argument("--keys-each", type=int, default=100)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--job", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--queryable", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        print(json.dumps(run_job(given.job, given.keys, given.port, given.queryable)), flush=True)
        return
    ratios = []
    for turn in range(given.turns):
        rates = {
            queried: measure(given.records, given.keys, given.rate, given.keys_each, queried)
            for queried in ((True, False) if turn % 2 else (False, True))
        }
        ratios.append(rates[True] / rates[False])
        print(f"{rates[True]:,.0f} and {rates[False]:,.0f} records/s, {ratios[-1]:.3f}")
    low, middle, high = interval(ratios)
    print(f"with queries by without: {middle:.3f} ({low:.3f} to {high:.3f})")


if __name__ == "__main__":
    main()
